import { expect, test } from "vitest";
import { describeLoss, describeSymbol, distancesFrom, lossFigures } from "../../src/core/client/explain";
import { quoted } from "../../src/core/errors";
import { NOTHING_SPENT } from "../../src/core/limits/charge";

test("an answer is named as a participant would", () => {
  const names = ["hit", "other", "outside", "cell 22", "cell 22, grade 2", "grade 1", "place 22", "blue", "constructor"];
  expect(names.map((name) => describeSymbol(name))).toEqual([
    "near a target",
    "not near a target",
    "not in this area",
    "in part 22 of the map",
    "occasionally in part 22 of the map",
    "a regular visitor, not near a target",
    "near the target in part 22 of the map",
    "blue",
    "constructor",
  ]);
  expect(describeSymbol("place 22", new Map([[22, "the library"]]))).toBe("near the library");
});

test("what can be learnt is told for any belief before, rounded up, and never as 100 %", () => {
  expect(describeLoss(1, NOTHING_SPENT, 0.5, 0.29)).toContain("a 29 % chance that this is your part of the map");
  expect(describeLoss(1, NOTHING_SPENT, 0.5, 0.29)).toContain("at most 41 % sure");
  expect(describeLoss(20, NOTHING_SPENT, 0.5)).toContain("can be almost sure after your answer");
});

test("no bound is given for less than the distance of neighbouring cells", () => {
  expect(distancesFrom(1, [0.5, 1, 2])).toEqual([1, 2]);
  expect(distancesFrom(1.0004, [0.5, 1, 2])).toEqual([1.0004, 2]);
  expect(distancesFrom(0.9996, [0.5, 1, 2])).toEqual([0.9996, 2]);
  expect(distancesFrom(0.25, [0.5, 1, 2])).toEqual([0.25, 0.5, 1, 2]);
  expect(lossFigures(Math.log(4), NOTHING_SPENT, 1)).not.toContain("0.5 km");
});

test("names stand in quotation marks as Python's do", () => {
  expect(["air", "winter's air", `a "b" c's`, "a\\b"].map(quoted)).toEqual(["'air'", `"winter's air"`, `'a "b" c\\'s'`, "'a\\\\b'"]);
});

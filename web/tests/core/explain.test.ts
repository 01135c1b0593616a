import { expect, test } from "vitest";
import { answerText, describeLoss } from "../../src/core/client/explain";
import { quoted } from "../../src/core/errors";

test("an answer is named as a participant would", () => {
  expect(["hit", "other", "cell 22", "blue"].map(answerText)).toEqual([
    "near a target",
    "not near a target",
    "in part 22 of the map",
    "blue",
  ]);
});

test("what can be learnt is told for any belief before, rounded up, and never as 100 %", () => {
  expect(describeLoss(1, 0, 0.29)).toContain("a 29 % chance that this is your place");
  expect(describeLoss(1, 0, 0.29)).toContain("at most 41 % sure");
  expect(describeLoss(20, 0)).toContain("can be almost sure after your answer");
});

test("names stand in quotation marks as Python's do", () => {
  expect(["air", "winter's air", `a "b" c's`, "a\\b"].map(quoted)).toEqual(["'air'", `"winter's air"`, `'a "b" c\\'s'`, "'a\\\\b'"]);
});

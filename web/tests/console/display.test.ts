import { expect, test } from "vitest";
import {
  bestBet,
  count,
  counted,
  distance,
  duration,
  factor,
  idFrom,
  likelier,
  percent,
  reason,
  shortPercent,
  within,
} from "../../src/shared/display";

test("ε per km is said as what it means between two places", () => {
  expect(within(Math.log(4))).toBe("within 1 km: at most 4 times as likely");
  expect(within(Math.log(4), 0.5)).toBe("within 500 m: at most 2 times as likely");
  expect(within(Math.log(4), 5)).toBe("within 5 km: at most 1,024 times as likely");
});

test("distances are in metres below a kilometre", () => {
  expect([0.25, 0.8660254, 0.9999, 1, 1.41421, 5].map(distance)).toEqual(["250 m", "866 m", "1 km", "1 km", "1.41 km", "5 km"]);
});

test("a factor is never rounded down", () => {
  for (const epsilon of [0.1, 0.5, 1, 1.3862943, 2, 3.3, 7]) {
    const shown = Number(factor(epsilon).replaceAll(",", ""));
    expect(shown).toBeGreaterThanOrEqual(Number(Math.exp(epsilon).toPrecision(12)));
    expect(shown).toBeLessThan(Math.exp(epsilon) * 1.02);
  }
  expect(factor(Math.log(3))).toBe("3");
  expect(factor(Math.log(1e6))).toBe("1,000,000");
  expect(factor(20)).toBe("more than a million");
  expect(factor(1e6)).toBe("any number of");
});

test("nothing is at most more than something", () => {
  expect(likelier(Math.log(16))).toBe("at most 16 times as likely");
  expect(within(20)).toBe("within 1 km: more than a million times as likely");
  expect(likelier(1e6)).toBe("any number of times as likely");
});

test("an even bet becomes at best a bet of 4 to 1, 80 %", () => {
  expect(bestBet(Math.log(4))).toBe("80 %");
  expect(bestBet(Math.log(2))).toBe("67 %");
});

test("shares get as many digits as they deserve", () => {
  expect([0, 0.00001, 0.0042, 0.042, 0.5, 1].map(percent)).toEqual(["0\u00a0%", "< 0.01\u00a0%", "0.42\u00a0%", "4.2\u00a0%", "50.0\u00a0%", "100\u00a0%"]);
  expect(shortPercent(0.0625)).toBe("6.3\u00a0%");
});

test("counts and times are for people", () => {
  expect(count(1234567)).toBe("1,234,567");
  expect(counted(1, "report")).toBe("1 report");
  expect(counted(2, "person", "people")).toBe("2 people");
  expect([30, 600, 7200, 9000, 172800].map(duration)).toEqual(["30 s", "10 min", "2\u00a0h", "2\u00a0h 30\u00a0min", "2 days"]);
});

test("a campaign's id is made from its name", () => {
  expect(idFrom("Café & cake, 2026!")).toBe("cafe-cake-2026");
  expect(idFrom("---")).toBe("");
  expect(idFrom("x".repeat(80))).toHaveLength(63);
});

test("every refusal of a report has words, known or not", () => {
  expect(reason("round-closed")).toBe("the round was already closed");
  expect(reason("something-new")).toBe("something new");
});

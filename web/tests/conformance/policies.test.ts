import { describe, expect, test } from "vitest";
import { certify } from "../../src/core/certify/checker";
import { exponentBelow, powerBelow } from "../../src/core/certify/exponential";
import { policyFromBytes, policyFromJson } from "../../src/core/policy/files";
import { base64, cases, double } from "./vectors";

interface PolicyCase {
  readonly json?: string;
  readonly compact?: string;
  readonly hash: string;
  readonly ok: boolean;
  readonly cells_ok: boolean;
  readonly smallest: string;
  readonly null_ok: boolean | null;
  readonly null_smallest: string | null;
  readonly grades_ok: boolean | null;
  readonly grades_smallest: string | null;
  readonly boundary: boolean;
}

const near = (one: number, two: number): boolean => one === two || Math.abs(one - two) <= 1e-11 * two;

describe("the checker in TypeScript and the one in Python", () => {
  test("give every policy the same verdict, and find the same smallest ε", { timeout: 300_000 }, async () => {
    const all = cases<PolicyCase>("policies");
    const differing: string[] = [];
    const seen = { ok: 0, broken: 0, boundary: 0, null: 0, nullBroken: 0, grades: 0, gradesBroken: 0 };
    for (const [number, one] of all.entries()) {
      const policy =
        one.compact === undefined ? await policyFromJson(one.json ?? "") : await policyFromBytes(base64(one.compact));
      const found = certify(policy);
      const same =
        policy.hash === one.hash &&
        found.ok === one.ok &&
        found.cellsOk === one.cells_ok &&
        (found.null?.ok ?? null) === one.null_ok &&
        near(found.smallestEpsilonPerKm, double(one.smallest)) &&
        (found.grades?.ok ?? null) === one.grades_ok &&
        (one.null_smallest === null || near(found.null?.smallestEpsilon ?? NaN, double(one.null_smallest))) &&
        (one.grades_smallest === null || near(found.grades?.smallestEpsilon ?? NaN, double(one.grades_smallest)));
      if (!same) differing.push(`${number}: ${JSON.stringify(one).slice(-300)} but ${JSON.stringify(found)}`);
      seen[one.ok ? "ok" : "broken"] += 1;
      if (one.boundary) seen.boundary += 1;
      if (one.null_ok !== null) seen.null += 1;
      if (one.null_ok === false) seen.nullBroken += 1;
      if (one.grades_ok !== null) seen.grades += 1;
      if (one.grades_ok === false) seen.gradesBroken += 1;
    }
    console.info(`${all.length} policies`, seen);
    expect(differing).toEqual([]);
    // The vectors have to be able to tell a wrong checker from a right one.
    expect(Math.min(seen.ok, seen.broken, seen.boundary)).toBeGreaterThan(all.length / 5);
    expect(Math.min(seen.nullBroken, seen.null - seen.nullBroken)).toBeGreaterThanOrEqual(seen.null / 5);
    expect(Math.min(seen.gradesBroken, seen.grades - seen.gradesBroken)).toBeGreaterThanOrEqual(seen.grades / 5);
  });

  test("round e^x down to the same whole number", () => {
    for (const one of cases<{ epsilon: string; squared_m: number; exponent: string; power: string }>("exponentials")) {
      const exponent = exponentBelow(double(one.epsilon), one.squared_m);
      expect(exponent.toString()).toBe(one.exponent);
      expect(powerBelow(exponent).toString()).toBe(one.power);
    }
  });
});

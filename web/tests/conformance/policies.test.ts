import { describe, expect, test } from "vitest";
import { certify } from "../../src/core/certify/checker";
import { exponentBelow, powerBelow } from "../../src/core/certify/exponential";
import { sha256Hex } from "../../src/core/platform/sha256";
import { policyFromBytes, policyFromJson } from "../../src/core/policy/files";
import type { Policy } from "../../src/core/policy/policy";
import { base64, cases, double, refusal } from "./vectors";

/** A policy in one of both forms. */
interface PolicyText {
  readonly json?: string;
  readonly compact?: string;
}
interface PolicyCase extends PolicyText {
  readonly hash: string;
  readonly weights: string;
  readonly has_peaks: boolean;
  readonly ok_at_99: boolean;
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

const read = ({ json, compact }: PolicyText): Promise<Policy> =>
  compact === undefined ? policyFromJson(json ?? "") : policyFromBytes(base64(compact));

/** SHA-256 of all weights, 8 bytes each. */
function weightsHash(policy: Policy): string {
  const { values } = policy.fields.weights;
  const view = new DataView(new ArrayBuffer(8 * values.length));
  values.forEach((weight, number) => view.setBigUint64(8 * number, weight));
  return sha256Hex(new Uint8Array(view.buffer));
}

/** What differs between both sides; null if nothing does. */
function difference(policy: Policy, one: PolicyCase): string | null {
  const found = certify(policy);
  const same =
    policy.hash === one.hash &&
    weightsHash(policy) === one.weights &&
    found.ok === one.ok &&
    found.cellsOk === one.cells_ok &&
    certify(policy, 0.99 * policy.epsilonPerKm).cellsOk === one.ok_at_99 &&
    (found.null?.ok ?? null) === one.null_ok &&
    near(found.smallestEpsilonPerKm, double(one.smallest)) &&
    (found.grades?.ok ?? null) === one.grades_ok &&
    (one.null_smallest === null || near(found.null?.smallestEpsilon ?? NaN, double(one.null_smallest))) &&
    (one.grades_smallest === null || near(found.grades?.smallestEpsilon ?? NaN, double(one.grades_smallest)));
  return same ? null : `${JSON.stringify(one).slice(-300)} but ${JSON.stringify(found)}`;
}

describe("the checker in TypeScript and the one in Python", () => {
  test("give every policy the same verdict, and find the same smallest ε", { timeout: 300_000 }, async () => {
    const all = cases<PolicyCase>("policies");
    const differing: string[] = [];
    const seen = { ok: 0, broken: 0, boundary: 0, null: 0, nullBroken: 0, grades: 0, gradesBroken: 0, peaks: 0, peaksBroken: 0 };
    for (const [number, one] of all.entries()) {
      const differs = difference(await read(one), one);
      if (differs !== null) differing.push(`${number}: ${differs}`);
      seen[one.ok ? "ok" : "broken"] += 1;
      if (one.boundary) seen.boundary += 1;
      if (one.null_ok !== null) seen.null += 1;
      if (one.null_ok === false) seen.nullBroken += 1;
      if (one.grades_ok !== null) seen.grades += 1;
      if (one.grades_ok === false) seen.gradesBroken += 1;
      if (one.has_peaks) seen.peaks += 1;
      if (one.has_peaks && !one.ok) seen.peaksBroken += 1;
    }
    console.info(`${all.length} policies`, seen);
    expect(differing).toEqual([]);
    // The vectors have to be able to tell a wrong checker from a right one.
    expect(Math.min(seen.ok, seen.broken, seen.boundary)).toBeGreaterThan(all.length / 5);
    expect(Math.min(seen.nullBroken, seen.null - seen.nullBroken)).toBeGreaterThanOrEqual(seen.null / 5);
    expect(Math.min(seen.gradesBroken, seen.grades - seen.gradesBroken)).toBeGreaterThanOrEqual(seen.grades / 5);
    expect(Math.min(seen.peaksBroken, seen.peaks - seen.peaksBroken)).toBeGreaterThanOrEqual(seen.peaks / 5);
  });

  test("agree on a symbol for each of 400 cells, and how long that takes is printed", { timeout: 300_000 }, async () => {
    for (const one of cases<PolicyCase & { readonly name: string }>("large_policies")) {
      const start = performance.now();
      const policy = await read(one);
      const middle = performance.now();
      certify(policy);
      const [reading, certifying] = [middle - start, performance.now() - middle];
      console.info(`400 cells x 400 places ${one.name}: read and computed in ${reading.toFixed(0)} ms, certified in ${certifying.toFixed(0)} ms`);
      expect(difference(policy, one)).toBeNull();
      expect(one.ok && !one.ok_at_99).toBe(true);
    }
  });

  test("refuse the same descriptions of peaks and targets, and find the same hash in the others", async () => {
    const verdicts = { refused: 0, accepted: 0 };
    for (const one of cases<PolicyText & { readonly hash: string | null; readonly said?: string }>("descriptions")) {
      let hash: string | null = null;
      const said = await refusal(async () => (hash = (await read(one)).hash));
      expect(hash, `${(one.json ?? one.compact ?? "").slice(-600)}: ${String(said)}`).toBe(one.hash);
      if (one.said !== undefined) expect(said).toContain(one.said);
      verdicts[said === null ? "accepted" : "refused"] += 1;
    }
    expect(Math.min(verdicts.refused, verdicts.accepted)).toBeGreaterThan(40);
  });

  test("round e^x down to the same whole number", () => {
    for (const one of cases<{ epsilon: string; squared_m: number; exponent: string; power: string }>("exponentials")) {
      const exponent = exponentBelow(double(one.epsilon), one.squared_m);
      expect(exponent.toString()).toBe(one.exponent);
      expect(powerBelow(exponent).toString()).toBe(one.power);
    }
  });
});

import { describe, expect, test } from "vitest";
import { readArea } from "../../src/core/area/area";
import { certify } from "../../src/core/certify/checker";
import { draw } from "../../src/core/draw";
import { countVisits } from "../../src/core/profile/counts";
import { logistic } from "../../src/core/profile/logistic";
import { periodsFrom } from "../../src/core/profile/periods";
import { chooseGradedPlace, choosePlace, placesToChooseFrom } from "../../src/core/profile/place";
import { Visits } from "../../src/core/traces/visits";
import { NULL, type Rule } from "../../src/core/vocabulary";
import { cases, double, json, policyOf, refusal } from "./vectors";

interface AreaCase {
  readonly area: string;
  readonly digest: string | null;
  readonly distances?: readonly [number, number, string][];
  readonly neighbour_km?: number | null;
  readonly centres?: readonly [number, number][];
  readonly located?: readonly [number, number, number][];
}

describe("areas", () => {
  test("have the same digests and, to the last bit, the same distances; points lie in the same cells", async () => {
    let located = 0;
    for (const one of cases<AreaCase>("areas").filter((found) => found.distances !== undefined)) {
      const area = await readArea(json(one.area));
      expect(area.digest).toBe(one.digest);
      for (const [i, j, km] of one.distances ?? []) expect(area.distanceKm(i, j)).toBe(double(km));
      const apart = Array.from({ length: area.cells }, (_, cell) => area.neighbourKm(cell));
      expect(Math.min(...apart)).toBe(one.neighbour_km);
      one.centres?.forEach(([latitude, longitude], cell) => {
        expect(area.centre(cell).latitude).toBeCloseTo(latitude, 10);
        expect(area.centre(cell).longitude).toBeCloseTo(longitude, 10);
      });
      for (const [latitude, longitude, cell] of one.located ?? []) {
        expect(area.locate(latitude, longitude)).toBe(cell);
        located += 1;
      }
    }
    expect(located).toBeGreaterThan(2000);
  });

  test("are refused alike when a field is missing, wrong, or claims another place", async () => {
    const verdicts = { refused: 0, accepted: 0 };
    for (const one of cases<AreaCase>("areas").filter((found) => found.distances === undefined)) {
      const said = await refusal(() => readArea(json(one.area)));
      expect(said === null, `${one.area.slice(0, 300)}: ${String(said)}`).toBe(one.digest !== null);
      verdicts[said === null ? "accepted" : "refused"] += 1;
    }
    expect(verdicts.refused).toBeGreaterThan(300);
  });
});

interface DrawCase {
  readonly policy: string;
  readonly draws: readonly { place: number; grade: number; tape: readonly string[]; bits: readonly number[]; symbol: number }[];
}

test("the same random bits draw the same symbol, and every place uses as many", async () => {
  for (const one of cases<DrawCase>("draws")) {
    const policy = await policyOf(one.policy);
    const certificate = certify(policy);
    for (const { place, grade, tape, bits, symbol } of one.draws) {
      const asked: number[] = [];
      const next = (count: number): bigint => {
        asked.push(count);
        return BigInt(tape[asked.length - 1] ?? "-1");
      };
      const found = draw(policy, place, certificate, next, grade);
      expect(found).toBe(symbol);
      expect(asked).toEqual(bits);
    }
  }
});

interface ProfileCase {
  readonly area: string;
  readonly start_day: number;
  readonly count: number;
  readonly days: 1 | 7;
  readonly constants: readonly number[] | null;
  readonly visits: readonly [number, number, number, number][];
  readonly left_out: Readonly<Record<string, number>>;
  readonly profile: readonly [number, number][];
  readonly delta: number;
  readonly thresholds: readonly number[];
  readonly rule: Rule;
  readonly targets: readonly number[];
  readonly rng: number;
  readonly place: number | null;
  readonly graded: readonly [cell: number, grade: number];
  readonly least: number;
  readonly refined: readonly [cell: number, grade: number];
}

test("the same visits make the same profile to 1e-12, and the same place to report", async () => {
  const places = new Set<number | null>();
  const grades = new Set<number>();
  let differing = 0;
  for (const one of cases<ProfileCase>("profiles")) {
    const visits = new Visits();
    one.visits.forEach((row) => visits.push(...row));
    const periods = periodsFrom(one.start_day, one.count, one.days);
    const counts = countVisits(visits, await readArea(json(one.area)), periods);
    expect(counts.outsideArea).toBe(one.left_out["outside of the area"] ?? 0);
    expect(counts.outsidePeriods).toBe(one.left_out["outside of the periods"] ?? 0);
    const profile = logistic(counts, periods, one.constants);
    expect([...profile.keys()]).toEqual(one.profile.map(([cell]) => cell));
    for (const [cell, probability] of one.profile) {
      expect(Math.abs((profile.get(cell) ?? NaN) - probability)).toBeLessThanOrEqual(1e-12 * probability);
    }
    const place = choosePlace(profile, one.delta, one.rule, one.targets, (below) => one.rng % below);
    expect(place).toBe(one.place ?? NULL);
    const { cell, grade } = chooseGradedPlace(profile, one.thresholds, one.rule, one.targets, (below) => one.rng % below);
    expect([cell, grade]).toEqual(one.graded);
    const refined = placesToChooseFrom(logistic(counts, periods), profile, one.least);
    const kept = chooseGradedPlace(refined, one.thresholds, one.rule, one.targets, (below) => one.rng % below);
    expect([kept.cell, kept.grade]).toEqual(one.refined);
    if (one.refined.join() !== one.graded.join()) differing += 1;
    grades.add(grade);
    places.add(one.place);
  }
  expect(places.size).toBeGreaterThan(10);
  expect(places).toContain(null);
  expect([...grades].sort()).toEqual([0, 1, 2, 3]);
  expect(differing).toBeGreaterThan(5);
});

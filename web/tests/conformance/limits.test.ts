import { describe, expect, test } from "vitest";
import { readArea } from "../../src/core/area/area";
import { CrowdveilError } from "../../src/core/errors";
import { chargeOf, checkTotals, describeUse, moreReports, spentPlus, type Charge, type Spent } from "../../src/core/limits/charge";
import { checkLattice, compatible, latticeFields, latticeOf, readLattice } from "../../src/core/limits/lattices";
import { DEFAULT_LIMITS, readLimits } from "../../src/core/limits/privacy_limits";
import { checkTerms } from "../../src/core/limits/terms_checks";
import { utf8 } from "../../src/core/platform/bytes";
import { readAnnouncement } from "../../src/core/wire/participant";
import { cases, double, json, thrownBy } from "./vectors";

type Fields = Readonly<Record<string, unknown>>;

interface Refusal {
  readonly error: string | null;
  readonly refused: string | null;
  readonly figures: string | null;
}
interface TermsCase extends Refusal {
  readonly kind: "terms";
  readonly announcement: string;
  readonly limits: Fields;
}
interface UseCase {
  readonly kind: "use";
  readonly limits: Fields;
  readonly spent: SpentFields;
  readonly text: string;
}
interface TotalsCase extends Refusal {
  readonly kind: "totals";
  readonly limits: Fields;
  readonly spent: SpentFields;
  readonly terms: readonly [string, string | null, string | null, ...string[]];
  readonly charge: { readonly epsilon_per_km: string; readonly null_epsilon: string; readonly clear: boolean };
  readonly after: SpentFields;
  readonly more: number;
}
interface LatticeCase {
  readonly kind: "lattice";
  readonly area: string;
  readonly lattice: Readonly<Record<string, string | number | readonly number[]>>;
}
interface CompatibleCase {
  readonly kind: "compatible";
  readonly lattices: string;
  readonly compatible: boolean;
}
interface LimitsCase {
  readonly kind: "limits";
  readonly limits: Fields;
  readonly ok: boolean;
  readonly default?: true;
}
interface SpentFields {
  readonly epsilon_per_km: string;
  readonly null_epsilon: string;
  readonly clear_reports: number;
  readonly reports: number;
}
interface TogetherCase extends Refusal {
  readonly kind: "together";
  readonly areas: string;
}
type LimitCase = TermsCase | UseCase | TotalsCase | LatticeCase | CompatibleCase | TogetherCase | LimitsCase;

const all = cases<LimitCase>("limits");

function spentOf(fields: SpentFields): Spent {
  const [epsilonPerKm, nullEpsilon] = [double(fields.epsilon_per_km), double(fields.null_epsilon)];
  return { epsilonPerKm, nullEpsilon, clearReports: fields.clear_reports, reports: fields.reports };
}

async function expectRefusal(action: () => unknown, { error, refused, figures }: Refusal): Promise<void> {
  const NOT_VALID = "The campaign's announcement is not valid";
  const found = await thrownBy(action);
  expect(found?.name ?? null, found?.message).toBe(error);
  if (refused?.startsWith(NOT_VALID) === true) expect(found?.message).toContain(NOT_VALID);
  else expect(found?.message ?? null).toBe(refused);
  expect(found instanceof CrowdveilError ? found.figures : null).toBe(figures);
}

describe("limits", () => {
  test("accept and refuse the same terms and maps, in the same words and with the same figures", async () => {
    const found = all.filter((one) => one.kind === "terms");
    for (const one of found) {
      const { terms } = readAnnouncement(utf8(one.announcement));
      await expectRefusal(() => checkTerms(terms, readLimits(one.limits)), one);
    }
    const said = new Set(found.map(({ refused }) => refused));
    expect(said).toContain(null);
    expect(said.size).toBeGreaterThan(10);
  });

  test("charge the same for a report, add up alike, and stop at the same total", async () => {
    let refused = 0;
    for (const one of all.filter((found) => found.kind === "totals")) {
      const limits = readLimits(one.limits);
      const spent = spentOf(one.spent);
      const [epsilon, nullEpsilon, gradeEpsilon, ...lowerDeltas] = one.terms;
      const charge = chargeOf(
        {
          epsilonPerKm: double(epsilon),
          nullEpsilon: nullEpsilon === null ? null : double(nullEpsilon),
          gradeEpsilon: gradeEpsilon === null ? null : double(gradeEpsilon),
          lowerDeltas: lowerDeltas.map(double),
        },
        limits,
      );
      const { epsilon_per_km, null_epsilon, clear } = one.charge;
      expect(charge).toEqual({ epsilonPerKm: double(epsilon_per_km), nullEpsilon: double(null_epsilon), clear } satisfies Charge);
      expect(spentPlus(spent, [charge, charge])).toEqual(spentOf(one.after));
      expect(moreReports(spent, charge, limits)).toBe(one.more);
      await expectRefusal(() => checkTotals(spent, charge, limits), one);
      if (one.refused !== null) refused += 1;
    }
    expect(refused).toBeGreaterThan(30);
  });

  test("say the same about how much is used", () => {
    for (const one of all.filter((found) => found.kind === "use")) {
      expect(describeUse(spentOf(one.spent), readLimits(one.limits))).toBe(one.text);
    }
  });

  test("are the same by default, and refused alike", async () => {
    for (const one of all.filter((found) => found.kind === "limits")) {
      if (one.default === true) expect(readLimits(one.limits)).toEqual(DEFAULT_LIMITS);
      expect((await thrownBy(() => readLimits(one.limits))) === null, JSON.stringify(one.limits)).toBe(one.ok);
    }
  });
});

test("maps have the same lattices, and fit together alike", async () => {
  for (const one of all.filter((found) => found.kind === "lattice")) {
    const fields = latticeFields(await latticeOf(await readArea(json(one.area))));
    const { box_e7: box, ...others } = fields as { box_e7: readonly number[] };
    const { box_e7: expected, ...expectedOthers } = one.lattice as { box_e7: readonly number[] };
    expect(others).toEqual(expectedOthers);
    // Degrees come from sines and cosines, whose last digits differ between machines.
    box.forEach((side, k) => expect(Math.abs(side - (expected[k] as number))).toBeLessThanOrEqual(1));
  }
  const verdicts = { true: 0, false: 0 };
  for (const one of all.filter((found) => found.kind === "compatible")) {
    const both = json(one.lattices);
    if (!Array.isArray(both)) throw new Error("two lattices are expected");
    expect(compatible(readLattice(both[0]), readLattice(both[1])), one.lattices).toBe(one.compatible);
    verdicts[`${one.compatible}`] += 1;
  }
  expect(Math.min(verdicts.true, verdicts.false)).toBeGreaterThan(20);
});

test("maps laid over each other are refused alike where they mark off too small a part", async () => {
  let [accepted, refused] = [0, 0];
  for (const one of all.filter((found) => found.kind === "together")) {
    const areas = json(one.areas);
    if (!Array.isArray(areas)) throw new Error("a list of areas is expected");
    const lattices = await Promise.all(areas.map(async (area) => latticeOf(await readArea(area))));
    const [earlier, lattice] = [lattices.slice(0, -1), lattices.at(-1)];
    if (lattice === undefined) throw new Error("an area is expected");
    await expectRefusal(() => checkLattice(lattice, earlier, DEFAULT_LIMITS), one);
    if (one.refused === null) accepted += 1;
    else refused += 1;
  }
  expect(Math.min(accepted, refused)).toBeGreaterThan(4);
});

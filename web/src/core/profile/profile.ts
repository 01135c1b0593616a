// Visits → how likely the person is to be in each cell at least once in the next period.
//
// With v_a the visits to a cell in the period of age a (the latest has age 0) and a half-life of h periods,
//
//     p = 1 - e^{-λ},        λ = Σ_a w_a v_a / Σ_a w_a,        w_a = 2^{-a/h}.
//
// Periods without any data count as periods without a visit.

import { OUTSIDE, type Area } from "../area/area";
import { InputError } from "../errors";
import { OUTSIDE_PERIODS, periodOf, type Periods } from "./periods";
import type { Visits } from "./visits";

/** Cell → probability; cells that are not in it have the probability 0. */
export type Profile = ReadonlyMap<number, number>;

export interface Counts {
  /** Cell → visits of each period. */
  readonly visits: ReadonlyMap<number, Float64Array>;
  readonly outsideArea: number;
  readonly outsidePeriods: number;
}

/** Count the visits of each cell and period; a visit that is left out goes by its first reason. */
export function countVisits(visits: Visits, area: Area, periods: Periods): Counts {
  const found = new Map<number, Float64Array>();
  let outsideArea = 0;
  let outsidePeriods = 0;
  for (let i = 0; i < visits.length; i++) {
    const cell = area.locate(visits.latitude(i), visits.longitude(i));
    if (cell === OUTSIDE) {
      outsideArea += 1;
      continue;
    }
    const period = periodOf(periods, visits.utcS(i) + visits.offsetS(i));
    if (period === OUTSIDE_PERIODS) {
      outsidePeriods += 1;
      continue;
    }
    let counts = found.get(cell);
    if (counts === undefined) {
      counts = new Float64Array(periods.count);
      found.set(cell, counts);
    }
    counts[period] = (counts[period] as number) + 1;
  }
  return { visits: found, outsideArea, outsidePeriods };
}

/** The profile of all periods, in the order of the cells. */
export function recencyProfile(counts: Counts, periods: Periods, halfLifePeriods: number): Profile {
  if (!(halfLifePeriods > 0)) {
    throw new InputError("halfLifePeriods", halfLifePeriods, "should be a number of periods above 0, or infinity");
  }
  const weights = Float64Array.from({ length: periods.count }, (_, age) => 2 ** -(age / halfLifePeriods));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const cells = [...counts.visits.keys()].sort((a, b) => a - b);
  return new Map(
    cells.map((cell) => {
      const visits = counts.visits.get(cell) as Float64Array;
      const weighted = visits.reduce((sum, v, k) => sum + v * (weights[periods.count - 1 - k] as number), 0);
      return [cell, -Math.expm1(-(weighted / total))];
    }),
  );
}

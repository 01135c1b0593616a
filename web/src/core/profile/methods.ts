// Visits → how likely the person is to be in each cell at least once in the next period.
//
// With v_a the visits to a cell in the period of age a (the latest has age 0) and a half-life of h periods,
//
//     p = 1 - e^{-λ},        λ = Σ_a w_a v_a / Σ_a w_a,        w_a = 2^{-a/h}.
//
// Periods without any data count as periods without a visit.

import { InputError } from "../errors";
import type { Counts } from "./counts";
import type { Periods } from "./periods";
import type { Profile } from "./profile";

/** The profile of all periods, in the order of the cells. */
export function recency(counts: Counts, periods: Periods, halfLifePeriods: number): Profile {
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

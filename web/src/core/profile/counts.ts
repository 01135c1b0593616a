// Counts the visits of each cell and period.

import { OUTSIDE, type Area } from "../area/area";
import type { Visits } from "../traces/visits";
import { OUTSIDE_PERIODS, periodOf, type Periods } from "./periods";

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

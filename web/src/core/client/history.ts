// What a device knows of its owner's places, without those that are excluded, and the one place that it reports.

import type { Area } from "../area/area";
import type { RandomBelow } from "../platform/random";
import { countVisits, type Counts } from "../profile/counts";
import { logistic } from "../profile/logistic";
import type { Periods } from "../profile/periods";
import { chooseGradedPlace, choosePlace, placesToChooseFrom, REGULAR, type Place } from "../profile/place";
import type { Profile } from "../profile/profile";
import { Visits } from "../traces/visits";
import type { TermsFields } from "../wire/terms";
import { excludedCells, isInside, type ExcludedPlace } from "./excluded";

/** Drop visits to excluded places. */
export function withoutExcluded(visits: Visits, excluded: readonly ExcludedPlace[]): Visits {
  if (excluded.length === 0) return visits;
  const kept = new Visits();
  for (let i = 0; i < visits.length; i++) {
    const [latitude, longitude] = [visits.latitude(i), visits.longitude(i)];
    if (excluded.some((place) => isInside(place, latitude, longitude))) continue;
    kept.push(visits.utcS(i), visits.offsetS(i), latitude, longitude);
  }
  return kept;
}

/** A person's profile in a campaign's cells; excluded places are not in it. */
export interface History {
  /** What the device's own constants predict, for every cell with a visit. */
  readonly shipped: Profile;
  /** What the place and its grade follow from: the same, unless the campaign published constants. */
  readonly profile: Profile;
  readonly counts: Counts;
  /** How many visits are left without those to excluded places. */
  readonly visits: number;
}

/**
 * `constants` are those that the campaign published, if any. They are asked only about places whose shipped prediction reaches
 * `leastDelta`, the owner's limit: they can refine what this device thinks likely, and nothing else.
 */
export function historyOf(
  visits: Visits,
  area: Area,
  periods: Periods,
  constants: readonly number[] | null,
  excluded: readonly ExcludedPlace[],
  leastDelta: number,
): History {
  const allowed = withoutExcluded(visits, excluded);
  const counts = countVisits(allowed, area, periods);
  const never = excludedCells(area, excluded);
  const shipped = new Map([...logistic(counts, periods)].filter(([cell]) => !never.has(cell)));
  const profile =
    constants === null ? shipped : placesToChooseFrom(shipped, logistic(counts, periods, constants), leastDelta);
  return { shipped, profile, counts, visits: allowed.length };
}

/**
 * The cell to draw from and its grade, or `NULL`. Where the terms protect grades, everyone who was seen in the area has a place;
 * otherwise only those with a frequent place do, as in the paper.
 */
export function placeToReport(profile: Profile, terms: TermsFields, randomBelow: RandomBelow): Place {
  const { delta, lowerDeltas, rule, targets, gradeEpsilon } = terms;
  if (gradeEpsilon !== null) return chooseGradedPlace(profile, [delta, ...lowerDeltas], rule, targets, randomBelow);
  return { cell: choosePlace(profile, delta, rule, targets, randomBelow), grade: REGULAR };
}

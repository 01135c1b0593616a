// Predicts visits by logistic regression on six facts of a person's own history, as src/crowdveil/profile/logistic.py does, where
// the formula and its reasons are.
//
// With ages a = 0 for the latest period and w_h = 2^{-a/h}: W_h sums w_h over the periods in which the person was in this cell,
// V_h weighs the visits, A_h sums over the periods in which the person was anywhere in the area, D_h over all periods since the
// person was first seen, and u is how many periods ago the person was last seen.

import { InputError } from "../errors";
import type { Period } from "../vocabulary";
import type { Counts } from "./counts";
import type { Periods } from "./periods";
import type { Profile } from "./profile";

/** How far back the facts look, in periods. */
export interface TimeScale {
  /** The three half-lives. */
  readonly lately: number;
  readonly recent: number;
  readonly long: number;
  /** Someone not seen for longer counts as not seen for so long. */
  readonly maxAbsence: number;
  /** How many periods a profile is made from. */
  readonly history: number;
}

export const TIME_SCALES: Readonly<Record<Period, TimeScale>> = {
  week: { lately: 1, recent: 4, long: 16, maxAbsence: 26, history: 52 },
  day: { lately: 3, recent: 12, long: 48, maxAbsence: 78, history: 364 },
};

/** c_0, ..., c_6; a test compares them with the Python side. */
export const SHIPPED_CONSTANTS: Readonly<Record<Period, readonly number[]>> = {
  week: [-3.0192, 0.837, -0.956, 0.2899, 0.5192, 0.1562, 0.534],
  day: [-3.2248, 0.6525, -0.4699, 0.1933, 0.249, 0.2876, 0.2457],
};
export const PROFILE_CONSTANTS = 7;
export const MAX_PROFILE_CONSTANT = 50;
/** Keeps every chance above 0: e^-700 is still an ordinary double, and someone who was seen is never predicted as 0. */
const MAX_LOG_ODDS = 700;

/** The probability of a visit in the period after all of these, in the order of the cells. */
export function logistic(counts: Counts, periods: Periods, constants?: readonly number[] | null): Profile {
  const period: Period = periods.days === 1 ? "day" : "week";
  const scale = TIME_SCALES[period];
  const c = constants ?? SHIPPED_CONSTANTS[period];
  if (c.length !== PROFILE_CONSTANTS) throw new InputError("constants", c.length, `should be ${PROFILE_CONSTANTS} numbers`);
  const weights = (halfLife: number): Float64Array =>
    Float64Array.from({ length: Math.min(periods.count, scale.history) }, (_, age) => 2 ** -(age / halfLife));
  const [lately, recently, long] = [weights(scale.lately), weights(scale.recent), weights(scale.long)];
  /** Sum over the ages at which something holds. */
  const sum = (weight: Float64Array, at: (age: number) => number): number =>
    weight.reduce((total, one, age) => total + one * at(age), 0);
  const visitsAt = (visits: Float64Array, age: number): number => visits[periods.count - 1 - age] as number;
  const seen = (visits: Float64Array, age: number): number => (visitsAt(visits, age) > 0 ? 1 : 0);
  const cells = [...counts.visits.keys()].filter((cell) =>
    long.some((_, age) => seen(counts.visits.get(cell) as Float64Array, age) > 0),
  );
  const active = Float64Array.from(long, (_, age) =>
    cells.some((cell) => seen(counts.visits.get(cell) as Float64Array, age) > 0) ? 1 : 0,
  );
  const anywhere = (age: number): number => active[age] as number;
  const since = lately.slice(0, active.lastIndexOf(1) + 1).reduce((total, one) => total + one, 0);
  const [activeRecently, activeLong] = [sum(recently, anywhere), sum(long, anywhere)];
  const absence = Math.min(active.indexOf(1), scale.maxAbsence);
  const odds = (part: number, whole: number): number => Math.log((part + 0.3) / (Math.max(whole - part, 0) + 0.3));
  return new Map(
    cells
      .sort((a, b) => a - b)
      .map((cell) => {
        const visits = counts.visits.get(cell) as Float64Array;
        const here = (weight: Float64Array): number => sum(weight, (age) => seen(visits, age));
        const facts = [
          Math.log(here(long) + 0.1),
          Math.log1p(absence),
          odds(here(lately), since),
          Math.log((sum(recently, (age) => visitsAt(visits, age)) + 0.3) / (here(recently) + 0.3)),
          odds(here(long), activeLong),
          Math.log(activeRecently + 0.1),
        ];
        const z = facts.reduce((total, fact, number) => total + fact * (c[number + 1] as number), c[0] as number);
        return [cell, 1 / (1 + Math.exp(-Math.min(Math.max(z, -MAX_LOG_ODDS), MAX_LOG_ODDS)))];
      }),
  );
}

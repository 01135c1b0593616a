// The one place to report, with its grade, or none.
//
// Frequent places are the cells with probability above δ. Without any, the answer is NULL. Else a rule picks one:
//
//     random         each with the same chance
//     target-aware   the likeliest frequent place that is a target, of equally likely ones the first; else as random
//
// That is the clear form. In the protected form everyone who was seen in the area has a place, with a grade: the number of
// falling thresholds, δ first, that its probability does not exceed. The rules extend to everyone:
//
//     random         a frequent place as above; without one, the likeliest place
//     target-aware   the likeliest target above the last threshold; else as random
//
// Only who was never seen in the area is outside (NULL).
//
// One number is drawn under either rule. Privacy does not depend on the rule: Definition 1 bounds what a report tells about
// the place that was picked, whichever rule picked it.

import { InputError } from "../errors";
import { checkedBelow, secureBelow, type RandomBelow } from "../platform/random";
import { NULL, type Rule } from "../vocabulary";
import { checkDelta, type Profile } from "./profile";

/** The grade of a place above δ; each threshold that a place does not exceed adds one. */
export const REGULAR = 0;

/** For grade 0, 1, ...; the last word is that of all further grades. */
const HOW_OFTEN = ["regularly", "occasionally", "now and then", "rarely"] as const;

/** Say how regularly a place of some grade is visited. */
export function howOften(grade: number): string {
  return HOW_OFTEN[Math.min(grade, HOW_OFTEN.length - 1)] as string;
}

/** What a device reports from: a cell with a grade, or `NULL`, whose grade means nothing and is 0. */
export interface Place {
  readonly cell: number;
  readonly grade: number;
}

export function frequentPlaces(profile: Profile, delta: number): number[] {
  checkDelta(delta);
  const frequent: number[] = [];
  for (const [cell, probability] of profile) {
    if (!(cell >= 0 && probability >= 0 && probability <= 1)) {
      throw new InputError(`profile[${cell}]`, probability, "cells are 0 or more, probabilities between 0 and 1");
    }
    if (probability > delta) frequent.push(cell);
  }
  return frequent.sort((a, b) => a - b);
}

export function choosePlace(
  profile: Profile,
  delta: number,
  rule: Rule,
  targets: readonly number[],
  randomBelow: RandomBelow = secureBelow,
): number {
  if (rule === "target-aware" && targets.length === 0) {
    throw new InputError("targets", targets, "the rule 'target-aware' needs one or more target cells");
  }
  const frequent = frequentPlaces(profile, delta);
  if (frequent.length === 0) return NULL;
  const number = checkedBelow(randomBelow, frequent.length);
  if (rule === "target-aware") {
    const wanted = new Set(targets);
    const hits = frequent.filter((cell) => wanted.has(cell));
    const likeliest = Math.max(...hits.map((cell) => profile.get(cell) as number));
    const best = hits.find((cell) => profile.get(cell) === likeliest);
    if (best !== undefined) return best;
  }
  return frequent[number] as number;
}

/**
 * The predictions from which a device's place and its grade follow where a campaign published constants. Published constants could
 * call any place regular. So they are asked only about the places whose `shipped` prediction reaches the `least` threshold that the
 * device's owner allows; if it reaches it nowhere, they are not asked at all.
 */
export function placesToChooseFrom(shipped: Profile, published: Profile, least: number): Profile {
  const likely = [...shipped].filter(([, probability]) => probability >= least);
  return likely.length === 0 ? shipped : new Map(likely.map(([cell]) => [cell, published.get(cell) as number]));
}

/** The cell that a device reports, or `NULL`, and its grade, in the protected form. */
export function chooseGradedPlace(
  profile: Profile,
  thresholds: readonly number[],
  rule: Rule,
  targets: readonly number[],
  randomBelow: RandomBelow = secureBelow,
): Place {
  const [delta, least] = [thresholds[0] as number, thresholds.at(-1) as number];
  let cell = choosePlace(profile, delta, rule, targets, randomBelow);
  if (rule === "target-aware") {
    const target = likeliestOf(profile, new Set(targets), least);
    if (target !== NULL) cell = target;
  }
  if (cell === NULL) cell = likeliestOf(profile, null, 0);
  if (cell === NULL) return { cell, grade: REGULAR };
  const probability = profile.get(cell) as number;
  return { cell, grade: thresholds.filter((threshold) => probability <= threshold).length };
}

/** The likeliest cell above a threshold, of equally likely ones the first, among some or all; or `NULL`. */
function likeliestOf(profile: Profile, among: ReadonlySet<number> | null, above: number): number {
  let [best, highest] = [NULL as number, above];
  for (const cell of [...profile.keys()].sort((a, b) => a - b)) {
    const probability = profile.get(cell) as number;
    if (probability > highest && (among === null || among.has(cell))) [best, highest] = [cell, probability];
  }
  return best;
}

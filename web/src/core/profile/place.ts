// The one place to report, with its grade, or none.
//
// Frequent places are the cells with probability above δ. Without any, the answer is NULL. Else a rule picks one:
//
//     random         each with the same chance
//     target-aware   the likeliest frequent place that is a target, of equally likely ones the first; else as random
//
// That is the clear form. In the protected form everyone who was seen in the area has a place, with a grade:
//
//     regular      (grade 0) there is a frequent place; the rule chooses one, as above
//     occasional   (grade 1) there is none; the likeliest place, of equally likely ones the first cell, under either rule
//     outside      (NULL)    never seen in the area
//
// One number is drawn under either rule. Privacy does not depend on the rule: Definition 1 bounds what a report tells about
// the place that was picked, whichever rule picked it.

import { InputError } from "../errors";
import { checkedBelow, secureBelow, type RandomBelow } from "../platform/random";
import { NULL, type Rule } from "../vocabulary";
import { checkDelta, type Profile } from "./profile";

/** The grades of a place. */
export const REGULAR = 0;
export const OCCASIONAL = 1;

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

/** The cell that a device reports, or `NULL`, and its grade, in the protected form. */
export function chooseGradedPlace(
  profile: Profile,
  delta: number,
  rule: Rule,
  targets: readonly number[],
  randomBelow: RandomBelow = secureBelow,
): Place {
  const regular = choosePlace(profile, delta, rule, targets, randomBelow);
  if (regular !== NULL) return { cell: regular, grade: REGULAR };
  let likeliest: Place = { cell: NULL, grade: REGULAR };
  for (const cell of [...profile.keys()].sort((a, b) => a - b)) {
    if ((profile.get(cell) as number) > (profile.get(likeliest.cell) ?? 0)) likeliest = { cell, grade: OCCASIONAL };
  }
  return likeliest;
}

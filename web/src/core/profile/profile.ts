// How likely a person is to be in each cell at least once in the next period.

import { InputError } from "../errors";

/** Cell → probability; cells that are not in it have the probability 0. */
export type Profile = ReadonlyMap<number, number>;

/** A threshold δ of probabilities: from 0, and below 1, which no probability exceeds. */
export function checkDelta(delta: number): number {
  if (!(delta >= 0 && delta < 1)) throw new InputError("delta", delta, "should be at least 0 and below 1");
  return delta;
}

// Which answers of a panel its selections use: those of the last closed round in which anyone answered, and only those.

import type { RoundView } from "../../core/wire/operator";
import { count } from "../../shared/display";

/** The round whose answers are used; undefined before there is one. */
export function roundInUse(rounds: readonly RoundView[]): RoundView | undefined {
  return rounds.findLast((one) => one.state === "closed" && one.accepted > 0);
}

/** Say which earlier answers are no longer used, and which will not be once the open round is closed; empty if there are none. */
export function describeUnused(rounds: readonly RoundView[]): string {
  const used = roundInUse(rounds);
  if (used === undefined) return "";
  const before = rounds.filter((one) => one.number < used.number && one.accepted > 0);
  const open = rounds.find((one) => one.state === "open");
  const dropped = before.map((one) => `the ${count(one.accepted)} of round ${one.number + 1}`).join(" and ");
  const sentences = [
    ...(dropped === "" ? [] : [`Selections use the answers of round ${used.number + 1} only. They no longer use ${dropped}, because people who renewed are among both, and nobody can tell which they are.`]),
    ...(open === undefined ? [] : [`Once round ${open.number + 1} is closed, selections use only its answers.`]),
  ];
  return sentences.join(" ");
}

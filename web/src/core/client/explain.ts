// What will leave the device, in words, before it does; the same words as the Python side's.
//
// With odds π/(1-π) that a person is at one place rather than at others within d km, Definition 1 gives after the reply
//
//     odds' ≤ e^{εd} · odds,        so      π' ≤ π e^{εd} / (1 - π + π e^{εd}).
//
// Replies about the same place multiply, so after several the sum of their ε stands for ε.

import { general, inPlainWords, percentFixed, percentUp } from "../formatting";
import type { Policy } from "../policy/policy";
import { NULL } from "../vocabulary";
import type { LedgerEntry } from "./events";

/** What a watcher may hold likely before: 1 in 10. */
const SUSPICION = 0.1;
const DISTANCES_KM = [0.5, 1, 2] as const;
const MAX_SYMBOLS = 5;
/** Beyond, e^x is no double; the answer is 100% long before. */
const MAX_EXPONENT = 700;

/** The most that anyone can believe after a reply. */
export function largestBelief(before: number, epsilonPerKm: number, distanceKm: number): number {
  const factor = Math.exp(Math.min(epsilonPerKm * distanceKm, MAX_EXPONENT));
  return (before * factor) / (1 - before + before * factor);
}

/** P(symbol | place) for every symbol; of NULL where the policy has a row for it. */
export function symbolOdds(policy: Policy, place: number): number[] {
  const { first, second } = policy.rowsOf(place);
  const total = 2 ** policy.fields.bits;
  const odds = Array.from(first, (weight) => Number(weight) / total);
  if (second === null) return odds;
  const last = odds.pop() as number;
  return [...odds, ...Array.from(second, (weight) => last * (Number(weight) / total))];
}

/** The symbols this place is likeliest to send, with their odds. */
export function describeReply(policy: Policy, place: number): string {
  if (place === NULL && !policy.protectsNull) {
    return (
      "You have no frequent place in this area, so the reply is NULL. This campaign takes NULL in the clear: " +
      "the server learns for certain that you have none."
    );
  }
  const odds = symbolOdds(policy, place);
  const likeliest = odds
    .map((_, symbol) => symbol)
    .sort((a, b) => (odds[b] as number) - (odds[a] as number) || a - b)
    .slice(0, MAX_SYMBOLS);
  const named = likeliest.map((symbol) => `'${policy.symbolName(symbol)}' ${percentFixed(odds[symbol] as number, 2)}`);
  const rest = odds.length > likeliest.length ? `, or one of ${odds.length - likeliest.length} others` : "";
  const whose =
    place === NULL
      ? "You have no frequent place in this area. One symbol, drawn by dice like anyone's"
      : "One symbol, drawn by dice that your place weights";
  return `${whose}: ${named.join(", ")}${rest}.`;
}

/** What the reply can tell about having a frequent place at all. */
export function describeNull(nullEpsilon: number | null): string {
  if (nullEpsilon === null) {
    return "Any reply but NULL says for certain that you have a frequent place in this area; NULL, that you have none.";
  }
  const most = percentUp(largestBelief(SUSPICION, nullEpsilon, 1), 1);
  return (
    `ε₀ = ${general(nullEpsilon, 6)} about having a frequent place in this area at all: who held it ` +
    `${percentFixed(SUSPICION, 0)} likely that you have one, or that you have none, holds it at most ${most} likely after ` +
    "this reply."
  );
}

/** What the server, or anyone who sees the reply, can infer at most, now and with all replies before. */
export function describeLoss(epsilonPerKm: number, spentEpsilonPerKm: number): string {
  const lines = [`ε = ${general(epsilonPerKm, 6)} per km: ${inPlainWords(epsilonPerKm)}.`];
  const losses: [string, number][] = [["this reply", epsilonPerKm]];
  if (spentEpsilonPerKm > 0) losses.push(["all your replies together", spentEpsilonPerKm + epsilonPerKm]);
  for (const [name, epsilon] of losses) {
    const most = DISTANCES_KM.map(
      (km) => `at most ${percentUp(largestBelief(SUSPICION, epsilon, km), 1)} against places within ${general(km, 6)} km`,
    );
    lines.push(`Who held one place ${percentFixed(SUSPICION, 0)} likely holds it, after ${name}, ${most.join(", ")}.`);
  }
  return lines.join("\n");
}

/** What was said so far, and how much is left. */
export function describeLedger(entries: readonly LedgerEntry[], spentEpsilonPerKm: number, limitEpsilonPerKm: number): string {
  const left = Math.max(0, limitEpsilonPerKm - spentEpsilonPerKm);
  const lines = [
    `ε = ${general(spentEpsilonPerKm, 6)} of ${general(limitEpsilonPerKm, 6)} per km is spent for good; ` +
      `${general(left, 6)} is left.`,
  ];
  for (const entry of entries) {
    const why = entry.reason === "" ? "" : ` (${entry.reason})`;
    lines.push(`${entry.at}  ${entry.campaign}: ${entry.state}${why}, ε = ${general(entry.epsilonPerKm, 6)} per km`);
  }
  return lines.join("\n");
}

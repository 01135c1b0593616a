// Tell the participant, before anything is sent, what will leave the device and what others can learn from it; in the same
// words as the Python side.
//
// Every `describe` function gives a sentence or two for a participant, who knows nothing of ε, symbols or NULL. Its twin ending
// in `Figures` gives the exact numbers for those who ask. What others can learn is always rounded up.
//
// With odds π/(1-π) that a person is at one place rather than at others within d km, Definition 1 gives after the report
//
//     odds' ≤ e^{εd} · odds,        so      π' ≤ π e^{εd} / (1 - π + π e^{εd}).
//
// Reports about the same place multiply, so after several of them the sum of their ε takes the place of ε.

import { general, grouped, inPlainWords, percentFixed, percentUp } from "../formatting";
import type { Policy } from "../policy/policy";
import { NULL } from "../vocabulary";
import type { EntryState, LedgerEntry } from "./events";

/** The example in every explanation: an observer who believes something with a probability of 1 in 10. */
const BELIEF_BEFORE = 0.1;
/** Distances for which the figures are given; the first one is used in the short text. */
const DISTANCES_KM = [0.5, 1, 2] as const;
/** A belief above this is called "almost sure", because "at most 100 % sure" would say nothing. */
const ALMOST_SURE = 0.99;
/** How many symbols the figures list. */
const MAX_SYMBOLS = 5;
/** Above this, the number of further campaigns is not spelt out. */
const MAX_CAMPAIGNS = 1000;
/** e^x overflows a double soon after this; the belief is 100 % long before. */
const MAX_EXPONENT = 700;
const ANSWERS: Readonly<Record<string, string>> = { hit: "near a target", other: "not near a target" };
export const ENTRY_STATES: Readonly<Record<EntryState, string>> = {
  joining: "not answered yet",
  drawn: "answered, not confirmed by the server yet",
  acknowledged: "answered",
  refused: "answered, but not counted",
};

/** What the device tells its owner before a report is sent. */
export interface Explanation {
  /** Short sentences for the participant. */
  readonly text: string;
  /** The exact bounds, the certificate and the hash of the policy. */
  readonly figures: string;
}

/** The most that anyone can believe after a report: π' ≤ π e^{εd} / (1 - π + π e^{εd}). */
export function largestBelief(before: number, epsilonPerKm: number, distanceKm: number): number {
  const factor = Math.exp(Math.min(epsilonPerKm * distanceKm, MAX_EXPONENT));
  return (before * factor) / (1 - before + before * factor);
}

/** P(symbol | cell) for every symbol; `NULL` is a cell too where the policy has a row for it. */
export function symbolProbabilities(policy: Policy, cell: number): number[] {
  const { first, second } = policy.rowsOf(cell);
  const total = 2 ** policy.fields.bits;
  const probabilities = Array.from(first, (weight) => Number(weight) / total);
  if (second === null) return probabilities;
  const last = probabilities.pop() as number;
  return [...probabilities, ...Array.from(second, (weight) => last * (Number(weight) / total))];
}

// --- the report -------------------------------------------------------------------------------------------------

/** Say how the phone will answer, and the answer that is most likely from this place. */
export function describeReport(policy: Policy, cell: number): string {
  if (cell === NULL && !policy.protectsNull) {
    return "You do not regularly visit anywhere in this area, and your phone will say so.";
  }
  const probabilities = symbolProbabilities(policy, cell);
  const [likeliest = 0] = byProbability(probabilities);
  const answer = `"${answerText(policy.symbolName(likeliest))}" (${percentUpText(probabilities[likeliest] as number)})`;
  if (cell === NULL) {
    return (
      "You do not regularly visit anywhere in this area. Your phone will answer at random all the same. " +
      `The most likely answer is ${answer}.`
    );
  }
  return `Your phone will answer at random. From your place the most likely answer is ${answer}.`;
}

/** List the symbols that this place is most likely to send, with their probabilities. */
export function reportFigures(policy: Policy, cell: number): string {
  if (cell === NULL && !policy.protectsNull) return "Symbol to send: NULL, in the clear.";
  const probabilities = symbolProbabilities(policy, cell);
  const likeliest = byProbability(probabilities).slice(0, MAX_SYMBOLS);
  const named = likeliest.map((symbol) => `'${policy.symbolName(symbol)}' ${percentFixed(probabilities[symbol] as number, 2)}`);
  const others = probabilities.length - likeliest.length;
  return `Symbols to draw from: ${named.join(", ")}${others > 0 ? `, and ${others} others` : ""}.`;
}

// --- having a frequent place at all -----------------------------------------------------------------------------

/** Say what others can learn about whether the participant has a frequent place in the area at all. */
export function describeNull(nullEpsilon: number | null): string {
  if (nullEpsilon === null) return "The organiser will learn whether you regularly visit anywhere in this area.";
  return (
    `Someone who thinks there is a ${percentUpText(BELIEF_BEFORE)} chance that you regularly visit somewhere in this ` +
    `area, or that you do not, can be ${sureText(largestBelief(BELIEF_BEFORE, nullEpsilon, 1))} after your answer.`
  );
}

/** Give ε₀ and the bound that it means. */
export function nullFigures(nullEpsilon: number | null): string {
  if (nullEpsilon === null) {
    return "NULL is sent in the clear: every other symbol proves that there is a frequent place in this area.";
  }
  const most = percentUp(largestBelief(BELIEF_BEFORE, nullEpsilon, 1), 1);
  return (
    `ε₀ = ${general(nullEpsilon, 6)} for having a frequent place in this area at all: a belief of ` +
    `${percentFixed(BELIEF_BEFORE, 0)} becomes at most ${most}.`
  );
}

// --- the place --------------------------------------------------------------------------------------------------

/** Say what anyone who sees the report can infer about the place at most, now and with all reports before. */
export function describeLoss(epsilonPerKm: number, spentEpsilonPerKm: number, before = BELIEF_BEFORE): string {
  const [nearKm] = DISTANCES_KM;
  const sure = (epsilon: number): string => sureText(largestBelief(before, epsilon, nearKm));
  const together =
    spentEpsilonPerKm > 0 ? `, and ${sure(spentEpsilonPerKm + epsilonPerKm)} after all your answers together` : "";
  return (
    `Someone who thinks there is a ${percentUpText(before)} chance that this is your place, compared with places ` +
    `within ${1000 * nearKm} m, can be ${sure(epsilonPerKm)} after your answer${together}.`
  );
}

/** Give ε and the bounds that it means at several distances, now and with all reports before. */
export function lossFigures(epsilonPerKm: number, spentEpsilonPerKm: number): string {
  const lines = [`ε = ${general(epsilonPerKm, 6)} per km: ${inPlainWords(epsilonPerKm)}.`];
  const losses: [string, number][] = [["this answer", epsilonPerKm]];
  if (spentEpsilonPerKm > 0) losses.push(["all your answers together", spentEpsilonPerKm + epsilonPerKm]);
  for (const [name, epsilon] of losses) {
    const bounds = DISTANCES_KM.map(
      (km) => `at most ${percentUp(largestBelief(BELIEF_BEFORE, epsilon, km), 1)} within ${general(km, 6)} km`,
    );
    lines.push(`A belief of ${percentFixed(BELIEF_BEFORE, 0)} becomes, after ${name}, ${bounds.join(", ")}.`);
  }
  return lines.join("\n");
}

// --- the limit for all campaigns together -----------------------------------------------------------------------

/** Say how many more campaigns like this one the owner's limit allows after the report. */
export function describeCost(epsilonPerKm: number, spentEpsilonPerKm: number, limitEpsilonPerKm: number): string {
  // The small term keeps 3 ln 4 - 2 ln 4 from counting as less than one ln 4.
  const more = Math.floor((limitEpsilonPerKm - spentEpsilonPerKm) / epsilonPerKm + 1e-9) - 1;
  if (more < 1) return "After this answer your limit allows no other campaign like this one.";
  const number = more > MAX_CAMPAIGNS ? `more than ${grouped(MAX_CAMPAIGNS)}` : grouped(more);
  return `After this answer your limit allows ${number} more ${more === 1 ? "campaign" : "campaigns"} like this one.`;
}

/** Say how many campaigns were answered, how much of the owner's limit is used, and what was done in each. */
export function describeLedger(entries: readonly LedgerEntry[], spentEpsilonPerKm: number, limitEpsilonPerKm: number): string {
  const answered = entries.filter(({ symbol }) => symbol !== null).length;
  const lines = entries.map(({ at, campaign, state, reason }) => {
    const why = reason === "" ? "" : ` (${reason})`;
    return `${at}  ${campaign}: ${ENTRY_STATES[state]}${why}`;
  });
  return [describeUse(answered, spentEpsilonPerKm, limitEpsilonPerKm), ...lines].join("\n");
}

/** Give the ε of every campaign, their sum, and what is left. */
export function ledgerFigures(
  entries: readonly Pick<LedgerEntry, "campaign" | "epsilonPerKm">[],
  spentEpsilonPerKm: number,
  limitEpsilonPerKm: number,
): string {
  const left = Math.max(0, limitEpsilonPerKm - spentEpsilonPerKm);
  const sum =
    `ε = ${general(spentEpsilonPerKm, 6)} of ${general(limitEpsilonPerKm, 6)} per km is permanently used; ` +
    `${general(left, 6)} is left.`;
  return [sum, ...entries.map(({ campaign, epsilonPerKm }) => `${campaign}: ε = ${general(epsilonPerKm, 6)} per km`)].join("\n");
}

/** Say how many campaigns were answered, and how much of the owner's limit is used. */
export function describeUse(answered: number, spentEpsilonPerKm: number, limitEpsilonPerKm: number): string {
  const campaigns = `${answered === 0 ? "no" : grouped(answered)} ${answered < 2 ? "campaign" : "campaigns"}`;
  if (spentEpsilonPerKm >= limitEpsilonPerKm) {
    const stop = "This phone will not answer more unless you raise the limit.";
    if (answered === 0) return `Your limit was used up before this ledger began. ${stop}`;
    return `You have answered ${campaigns}, the most your limit allows. ${stop}`;
  }
  if (spentEpsilonPerKm === 0) return `You have answered ${campaigns}.`;
  return `You have answered ${campaigns} and used ${percentUpText(spentEpsilonPerKm / limitEpsilonPerKm)} of your limit.`;
}

/** Name a symbol as a participant would. */
export function answerText(symbolName: string): string {
  if (symbolName.startsWith("cell ")) return `in part ${symbolName.slice("cell ".length)} of the map`;
  return ANSWERS[symbolName] ?? symbolName;
}

/** Symbols, the likeliest first; equally likely ones in their order. */
function byProbability(probabilities: readonly number[]): number[] {
  return probabilities
    .map((_, symbol) => symbol)
    .sort((a, b) => (probabilities[b] as number) - (probabilities[a] as number) || a - b);
}

function sureText(belief: number): string {
  return belief > ALMOST_SURE ? "almost sure" : `at most ${percentUpText(belief)} sure`;
}

/** Round up to a whole percentage; what is not certain is not called 100 %. */
function percentUpText(share: number): string {
  if (share > ALMOST_SURE && share < 1) return "more than 99 %";
  return percentUp(share, 0).replace("%", " %");
}

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
// The same holds with ε₁ for one grade of visitors or the next, and with ε₀ for being in the area at all.
// Losses of several reports add up, so after several of them their sum takes the place of each.

import type { Area } from "../area/area";
import { quoted } from "../errors";
import { fixed, general, grouped, inPlainWords, percentFixed, percentUp } from "../formatting";
import { describeUse, moreReports, type Charge, type Spent } from "../limits/charge";
import type { PrivacyLimits } from "../limits/privacy_limits";
import { exactSum } from "../platform/exact_sum";
import type { Policy } from "../policy/policy";
import { howOften, type Place } from "../profile/place";
import { NULL, type Rule } from "../vocabulary";
import { gradesOf, gradeSpread } from "../policy/grades";
import type { TermsFields } from "../wire/terms";
import type { EntryState, LedgerEntry } from "./events";
import { information } from "./information";

/** The example in every explanation: an observer who believes something with a probability of 1 in 10. */
const BELIEF_BEFORE = 0.1;
/** Distances for which the figures are given, where they are larger than that of neighbouring cells. */
const DISTANCES_KM = [0.5, 1, 2] as const;
/** A belief above this is called "almost sure", because "at most 100 % sure" would say nothing. */
const ALMOST_SURE = 0.99;
/** How many symbols the figures list. */
const MAX_SYMBOLS = 5;
/** Above this, the number of further campaigns is not spelt out. */
const MAX_CAMPAIGNS = 1000;
/** e^x overflows a double soon after this; the belief is 100 % long before. */
const MAX_EXPONENT = 700;
const ANSWERS: ReadonlyMap<string, string> = new Map([
  ["hit", "near a target"],
  ["other", "not near a target"],
  ["outside", "not in this area"],
  ["grade 1", "a regular visitor, not near a target"],
]);
const GRADE = /^grade ([1-9][0-9]*)$/;
/** Symbols that name a part of the map: `place 17` selects for the target there, `cell 17` for none. */
const NAMES_A_CELL = /^(place|cell) ([0-9]+)(?:, grade ([1-9][0-9]*))?$/;

/** Names of target cells, where the campaign gives any. */
export type TargetNames = ReadonlyMap<number, string>;
const NO_NAMES: TargetNames = new Map();

export const ENTRY_STATES: Readonly<Record<EntryState, string>> = {
  joining: "not answered yet",
  drawn: "answered, not confirmed by the server yet",
  acknowledged: "answered",
  refused: "answered, but not counted",
  withdrawn: "left; the server has deleted the answer",
};
export const TOLD_BY_TAKING_PART = "The organiser can see that you take part, when, and from which network address.";
export const RECORD =
  "The organiser's record keeps your answer with the round, a random participant number, and a code that only your " +
  "phone can match.";
export const BORDER = "Two places on either side of a border count as a whole cell apart.";
export const EDGE = "A place outside the map's edge counts as not being in the area, however near it is.";
export const BEING_CHOSEN = "Being chosen, or not, tells nobody more about you than your answer did.";
export const ONCE = "You answer once. Being chosen later tells nobody more.";
export const RULES: Readonly<Record<Rule, string>> = {
  random: "If you regularly visit several places, your phone picked one of them at random, once.",
  "target-aware":
    "If you are likely to visit a place that the organiser asks about, your phone reports from it rather " +
    "than from your other places.",
};

/** What the device tells its owner before a report is sent. */
export interface Explanation {
  /** Short sentences for the participant. */
  readonly text: string;
  /** The exact bounds, the certificate and the hash of the policy. */
  readonly figures: string;
}

/** Whether there are grades. */
export type GradedTerms = Pick<TermsFields, "gradeEpsilon">;

/** The terms as far as explanations need them. */
export type ExplainedTerms = Pick<TermsFields, "nullEpsilon" | "gradeEpsilon" | "lowerDeltas">;

/** The terms as far as it takes to say who asks, and how often. */
export type RequestTerms = Pick<TermsFields, "name" | "rounds" | "panel" | "renewalS">;

/** The largest loss between two grades at one place: never more than by way of being outside. */
function betweenGrades(terms: ExplainedTerms, nullEpsilon: number): number {
  return Math.min(gradeSpread(terms), 2 * nullEpsilon);
}

/** The most that anyone can believe after a report: π' ≤ π e^{εd} / (1 - π + π e^{εd}). */
export function largestBelief(before: number, epsilonPerKm: number, distanceKm: number): number {
  const factor = Math.exp(Math.min(epsilonPerKm * distanceKm, MAX_EXPONENT));
  return (before * factor) / (1 - before + before * factor);
}

// --- the place and the report -----------------------------------------------------------------------------------

/**
 * Say which place the answer is about, so that the owner sees it before agreeing. `excludedHere` says whether the owner excluded
 * places in this area, which may be why there is none.
 */
export function describePlace(area: Area, { cell, grade }: Place, terms: GradedTerms, excludedHere = false): string {
  if (cell === NULL && excludedHere) {
    return terms.gradeEpsilon === null
      ? "You excluded places in this area and regularly visit no other. Your phone answers as if you regularly visited nowhere here."
      : "You excluded all your places in this area. Your phone answers as if you were never here.";
  }
  if (cell === NULL) {
    return `You do not ${terms.gradeEpsilon === null ? "regularly visit anywhere in" : "appear to have been in"} this area.`;
  }
  const { latitude, longitude } = area.centre(cell);
  return (
    `The answer is about the part of the map around ${fixed(latitude, 4)}, ${fixed(longitude, 4)}, which you visit ` +
    `${howOften(grade)}. The place itself stays on your phone.`
  );
}

/** Say who asks, for how many answers, and what they are used for. */
export function describeRequest({ name, rounds, panel, renewalS }: RequestTerms, round: number): string {
  if (!panel) return `Campaign ${quoted(name)}, round ${round + 1} of ${rounds}, asks for one answer.`;
  const text = `Panel ${quoted(name)} asks for one answer, which the organiser uses for any number of selections.`;
  if (renewalS === null || round + 1 === rounds) return text;
  const left = rounds - round - 1;
  const again = left === 1 ? "once more" : `${left} more times`;
  return (
    `${text} You will be asked ${again}, every ${duration(renewalS)}; each time is a new answer, costs as ` +
    "much as this one, and is yours to give or not."
  );
}

/** Say for how many selections an answer was used, and which of them chose its sender; `whose` names the answer. */
export function describeAnswerUse(whose: string, selections: number, chosen: readonly number[]): string {
  const times = selections === 1 ? "once" : `${grouped(selections)} times`;
  if (selections === 0) return `${whose} was not used for a selection yet.`;
  if (chosen.length === 0) return `${whose} was used ${times}; you were not chosen.`;
  const word = chosen.length === 1 ? "selection" : "selections";
  const numbers = chosen.map((number) => number + 1).join(", ");
  return `${whose} was used ${times}; you were chosen by ${word} ${numbers}.`;
}

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

function duration(seconds: number): string {
  for (const [unit, length] of UNITS) {
    if (seconds < 2 * length && seconds !== length) continue;
    const number = fixed(seconds / length, 0);
    return number === "1" ? unit : `${number} ${unit}s`;
  }
  return `${seconds} seconds`;
}

/** Say how the phone will answer, how often with another place, and the answer that is most likely from this place. */
export function describeReport(policy: Policy, { cell, grade }: Place, targetNames = NO_NAMES): string {
  if (cell === NULL && !policy.protectsNull) return "Your phone will say so openly.";
  const probabilities = policy.probabilities(cell, grade);
  const [likeliest = 0] = byProbability(probabilities);
  const name = describeSymbol(policy.symbolName(likeliest), targetNames);
  const answer = `"${name}" (${percentText(probabilities[likeliest] as number)})`;
  const cells = namedCells(policy);
  let elsewhere = "";
  if (cells.some((named) => named !== null)) {
    const others = exactSum(probabilities.filter((_, symbol) => cells[symbol] !== null && cells[symbol] !== cell));
    elsewhere = ` In ${aboutText(others)} of cases it names a place${cell === NULL ? "" : " other than yours"}.`;
  }
  if (cell === NULL) return `Your phone will answer at random all the same.${elsewhere} The most likely answer is ${answer}.`;
  return `Your phone will answer at random.${elsewhere} From your place the most likely answer is ${answer}.`;
}

/** List the symbols that this place is most likely to send, with their probabilities. */
export function reportFigures(policy: Policy, { cell, grade }: Place): string {
  if (cell === NULL && !policy.protectsNull) return "Symbol to send: NULL, in the clear.";
  const probabilities = policy.probabilities(cell, grade);
  const likeliest = byProbability(probabilities).slice(0, MAX_SYMBOLS);
  const named = likeliest.map((symbol) => `'${policy.symbolName(symbol)}' ${percentFixed(probabilities[symbol] as number, 2)}`);
  const others = probabilities.length - likeliest.length;
  return `Symbols to draw from: ${named.join(", ")}${others > 0 ? `, and ${others} others` : ""}.`;
}

/** Name a symbol as a participant would. */
export function describeSymbol(symbolName: string, targetNames = NO_NAMES): string {
  const [, kind, cell = "", often] = NAMES_A_CELL.exec(symbolName) ?? [];
  if (kind === "place") return `near ${targetNames.get(Number(cell)) ?? `the target in part ${cell} of the map`}`;
  if (kind === "cell") return `${often === undefined ? "" : `${howOften(Number(often) - 1)} `}in part ${cell} of the map`;
  const grade = GRADE.exec(symbolName)?.[1];
  return ANSWERS.get(symbolName) ?? (grade === undefined ? symbolName : `a visitor who comes ${howOften(Number(grade) - 1)}`);
}

/** The cell that each symbol names, if any. */
export function namedCells(policy: Policy): (number | null)[] {
  return Array.from({ length: policy.symbolCount }, (_, symbol) => {
    const cell = NAMES_A_CELL.exec(policy.symbolName(symbol))?.[2];
    return cell === undefined ? null : Number(cell);
  });
}

// --- how much it tells ------------------------------------------------------------------------------------------

/** Say how much the answer tells on average, whoever gives it. */
export function describeInformation(policy: Policy): string {
  const tenths = Math.ceil(10 * information(policy).atMostBits - 1e-9);
  return `On average the answer tells no more than ${fixed(Math.max(0.1, tenths / 10), 1)} yes-or-no questions would.`;
}

/** Give the information of a report in bits: for any prior, and for the uniform one. */
export function informationFigures(policy: Policy): string {
  const { atMostBits, uniformBits } = information(policy);
  const uniform = uniformBits === null ? "" : `; ${fixed(uniformBits, 2)} bits if all inputs are equally likely`;
  const clear = policy.protectsNull ? "" : " (besides NULL, which is sent in the clear)";
  return `Information in expectation: at most ${fixed(atMostBits, 2)} bits${clear}, whatever the prior${uniform}.`;
}

/**
 * Say what anyone who sees the report can infer about the place at most, now and with all reports before. Distances are between
 * the middles of the map's parts, so the nearest that anything is compared with is a neighbour.
 */
export function describeLoss(
  epsilonPerKm: number,
  spent: Pick<Spent, "epsilonPerKm">,
  neighbourKm: number,
  before = BELIEF_BEFORE,
): string {
  const added = together(spent.epsilonPerKm, epsilonPerKm, neighbourKm, " on maps like this one", before);
  return (
    `Someone who thinks there is a ${percentText(before)} chance that this is your part of the map, rather ` +
    `than a neighbouring one ${general(neighbourKm, 2)} km away, can be ${sureText(epsilonPerKm, neighbourKm, before)} after your ` +
    `answer${added}.`
  );
}

/**
 * Give ε and the bounds that it means at several distances, now and with all reports before. No bound is given for less than the
 * distance of neighbouring cells: it would not hold across their border.
 */
export function lossFigures(epsilonPerKm: number, spent: Spent, neighbourKm: number): string {
  const lines = [`ε = ${general(epsilonPerKm, 6)} per km: ${inPlainWords(epsilonPerKm)}.`];
  const losses: [string, number][] = [["this answer", epsilonPerKm]];
  if (spent.epsilonPerKm > 0) losses.push(["all your answers together", spent.epsilonPerKm + epsilonPerKm]);
  for (const [name, epsilon] of losses) {
    const bounds = distancesFrom(neighbourKm, DISTANCES_KM).map(
      (km) => `at most ${percentUp(largestBelief(BELIEF_BEFORE, epsilon, km), 1)} within ${general(km, 3)} km`,
    );
    lines.push(`A belief of ${percentFixed(BELIEF_BEFORE, 0)} becomes, after ${name}, ${bounds.join(", ")}.`);
  }
  lines.push(`Distances are between the middles of cells. ${BORDER}`);
  return lines.join("\n");
}

/** Say what others can learn about being in the area at all, and about how regularly the place, if any, is visited. */
export function describePresence(terms: ExplainedTerms, spent: Spent, hasPlace = true): string {
  const { nullEpsilon, gradeEpsilon } = terms;
  if (nullEpsilon === null) return "The organiser will learn whether you regularly visit anywhere in this area.";
  const added = together(spent.nullEpsilon, nullEpsilon, 1);
  const chance = `Someone who thinks there is a ${percentText(BELIEF_BEFORE)} chance that you`;
  if (gradeEpsilon === null) {
    return (
      `${chance} regularly visit somewhere in this area, or that you do not, can be ` +
      `${sureText(nullEpsilon, 1)} after your answer${added}.`
    );
  }
  const often = ` About how regularly you visit your place, they can be ${sureText(betweenGrades(terms, nullEpsilon), 1)}.`;
  return (
    `${chance} are ever in this area, or that you never are, can be ${sureText(nullEpsilon, 1)} after your ` +
    `answer${added}.${hasPlace ? often : ""}`
  );
}

/** Give ε₀ and ε₁ and the bounds that they mean, and the bound between any two inputs. */
export function presenceFigures(terms: ExplainedTerms, spent: Spent): string {
  const { nullEpsilon, gradeEpsilon } = terms;
  if (nullEpsilon === null) {
    return "NULL is sent in the clear: every other symbol proves that there is a frequent place in this area.";
  }
  const lines = [beliefLine(`ε₀ = ${general(nullEpsilon, 6)} for being in this area at all`, nullEpsilon)];
  if (gradeEpsilon !== null) {
    const steps = gradesOf(terms) - 1;
    const what = `ε₁ = ${general(gradeEpsilon, 6)} for how regularly, times ${steps} between the most and the least regular`;
    lines.push(beliefLine(what, betweenGrades(terms, nullEpsilon)));
  }
  lines.push(
    "Between any two inputs, whatever their distance and grade, the loss is never more than 2ε₀ = " +
      `${general(2 * nullEpsilon, 6)}; at the area's edge it is ε₀, whatever the distance.`,
  );
  if (spent.nullEpsilon > 0) {
    const total = spent.nullEpsilon + nullEpsilon;
    lines.push(beliefLine(`Σ ε₀ = ${general(total, 6)} for all your answers together`, total));
  }
  return lines.join("\n");
}

// --- the limit for all campaigns together -----------------------------------------------------------------------

/** Say how many more campaigns like this one the owner's limit allows after the report. */
export function describeCost(charge: Charge, spent: Spent, limits: PrivacyLimits): string {
  const more = moreReports(spent, charge, limits) - 1;
  if (more < 1) return "After this answer your limit allows no other campaign like this one.";
  const number = more > MAX_CAMPAIGNS ? `more than ${grouped(MAX_CAMPAIGNS)}` : grouped(more);
  return `After this answer your limit allows ${number} more ${more === 1 ? "campaign" : "campaigns"} like this one.`;
}

/** Say how much of the owner's limit is used, and what was sent to whom, and when. */
export function describeLedger(entries: readonly LedgerEntry[], spent: Spent, limits: PrivacyLimits): string {
  const lines = entries.map(({ at, key, server, state, symbolName, reason }) => {
    const why = reason === "" ? "" : ` (${reason})`;
    const where = server === "" ? "" : ` at ${server}`;
    const sent = symbolName === "" ? "" : `, "${describeSymbol(symbolName)}"`;
    return `${at}  ${key.campaign}${where}: ${ENTRY_STATES[state]}${sent}${why}`;
  });
  return [describeUse(spent, limits), ...lines].join("\n");
}

/** Give both accounts, what is left of each, and the charge of every report. */
export function ledgerFigures(
  entries: readonly Pick<LedgerEntry, "key" | "charge">[],
  spent: Spent,
  limits: PrivacyLimits,
): string {
  const span = limits.span === "lifetime" ? "permanently" : "for twelve months";
  const accounts = [
    ["ε per km", spent.epsilonPerKm, limits.totalEpsilonPerKm],
    ["ε₀", spent.nullEpsilon, limits.totalNullEpsilon],
  ] as const;
  const lines = accounts.map(([name, used, limit]) => {
    const left = general(Math.max(0, limit - used), 6);
    return `${name}: ${general(used, 6)} of ${general(limit, 6)} is ${span} used; ${left} is left.`;
  });
  lines.push(`Reports in the clear: ${spent.clearReports} of ${limits.clearReports}.`);
  for (const { key, charge } of entries) {
    let cost = "nothing charged";
    if (charge !== null) {
      cost = `ε = ${general(charge.epsilonPerKm, 6)} per km, ε₀ = ${general(charge.nullEpsilon, 6)}`;
      if (charge.clear) cost += ", in the clear";
    }
    lines.push(`${key.campaign} (server ${key.serverKey.slice(0, 12)}): ${cost}`);
  }
  return lines.join("\n");
}

/** The distance of neighbouring cells, and those of some distances that are larger and do not read the same. */
export function distancesFrom(neighbourKm: number, distancesKm: readonly number[]): number[] {
  return [neighbourKm, ...distancesKm.filter((km) => km > neighbourKm && general(km, 3) !== general(neighbourKm, 3))];
}

function together(spent: number, more: number, distanceKm: number, where = "", before = BELIEF_BEFORE): string {
  return spent > 0 ? `, and ${sureText(spent + more, distanceKm, before)} after all your answers${where} together` : "";
}

function beliefLine(what: string, epsilon: number): string {
  const most = percentUp(largestBelief(BELIEF_BEFORE, epsilon, 1), 1);
  return `${what}: a belief of ${percentFixed(BELIEF_BEFORE, 0)} becomes at most ${most}.`;
}

/** Symbols, the likeliest first; equally likely ones in their order. */
function byProbability(probabilities: readonly number[]): number[] {
  return probabilities
    .map((_, symbol) => symbol)
    .sort((a, b) => (probabilities[b] as number) - (probabilities[a] as number) || a - b);
}

function sureText(epsilonPerKm: number, distanceKm: number, before = BELIEF_BEFORE): string {
  const belief = largestBelief(before, epsilonPerKm, distanceKm);
  return belief > ALMOST_SURE ? "almost sure" : `at most ${percentText(belief)} sure`;
}

/** Round up to a whole percentage; what is not certain is not called 100 %. */
function percentText(share: number): string {
  if (share > ALMOST_SURE && share < 1) return "more than 99 %";
  return percentUp(share, 0).replace("%", " %");
}

/** Round to the nearest whole percentage; what is rare is not called 0 %, nor what is not certain 100 %. */
function aboutText(share: number): string {
  if (share < 1 - ALMOST_SURE) return "less than 1 %";
  return share > ALMOST_SURE ? "more than 99 %" : `about ${percentFixed(share, 0).replace("%", " %")}`;
}

// The owner's limits as people set them: "4 times as likely", not ε = 1.386.

import { general } from "../core/formatting";
import { NOTHING_SPENT, wholeLimit, type Spent } from "../core/limits/charge";
import { AT_LEAST, type LimitName, type PrivacyLimits, type Span } from "../core/limits/privacy_limits";

/** e^ε: how many times as likely an answer may be from one place as from one 1 km away. */
export function timesOf(epsilonPerKm: number): number {
  return Number(general(Math.exp(epsilonPerKm), 6));
}

/** ln of the factor; the very number that it was before, or is by default, where the factor reads the same. */
export function epsilonOf(times: number, ...kept: readonly number[]): number {
  return kept.find((epsilon) => timesOf(epsilon) === times) ?? Math.log(times);
}

export type Change = "stricter" | "looser" | "default";

/** How a limit compares with the default. */
export function comparedWithDefault(name: LimitName, value: number | Span, usual: PrivacyLimits): Change {
  if (value === usual[name]) return "default";
  if (name === "span") return "looser";
  return Number(value) > usual[name] === AT_LEAST.has(name) ? "stricter" : "looser";
}

/** Factors for losses, numbers as they are for the others. */
export interface LimitsForm {
  times: number | null;
  totalTimes: number | null;
  nullTimes: number | null;
  gradeTimes: number | null;
  totalNullTimes: number | null;
  clearReports: number | null;
  span: Span;
  cellKm: number | null;
  gapKm: number | null;
  minCells: number | null;
  cellsWithin2Km: number | null;
  delta: number | null;
}

/** Fields of the form that are factors, and the losses that they stand for. */
const FACTORS = {
  times: "epsilonPerKm",
  totalTimes: "totalEpsilonPerKm",
  nullTimes: "nullEpsilon",
  gradeTimes: "gradeEpsilon",
  totalNullTimes: "totalNullEpsilon",
} as const;
type Factor = keyof typeof FACTORS;
const FACTOR_NAMES = Object.keys(FACTORS) as Factor[];

export function formOf(limits: PrivacyLimits): LimitsForm {
  const { clearReports, span, cellKm, gapKm, minCells, cellsWithin2Km, delta } = limits;
  const factors = FACTOR_NAMES.map((name) => [name, timesOf(limits[FACTORS[name]])]);
  return {
    ...(Object.fromEntries(factors) as Record<Factor, number>),
    ...{ clearReports, span, cellKm, gapKm, minCells, cellsWithin2Km, delta },
  };
}

const MAX_TIMES = 1e12;

/** What is wrong with a form, by field. */
export function faultsOf(form: LimitsForm): Partial<Record<keyof LimitsForm, string>> {
  const faults: Partial<Record<keyof LimitsForm, string>> = {};
  for (const name of FACTOR_NAMES) {
    const value = form[name];
    if (!(value !== null && value > 1 && value <= MAX_TIMES)) faults[name] = "Should be a number above 1.";
  }
  for (const name of ["cellKm", "gapKm"] as const) {
    const value = form[name];
    if (!(value !== null && value > 0 && Number.isFinite(value))) faults[name] = "Should be a number of km above 0.";
  }
  for (const [name, least] of [
    ["minCells", 1],
    ["cellsWithin2Km", 1],
    ["clearReports", 0],
  ] as const) {
    const value = form[name];
    if (!(value !== null && Number.isSafeInteger(value) && value >= least)) {
      faults[name] = `Should be a whole number from ${least}.`;
    }
  }
  if (!(form.delta !== null && form.delta >= 0 && form.delta < 1)) faults.delta = "Should be a number from 0 to below 1.";
  return faults;
}

/** Limits from a form without faults; `before` and `usual` are what they were and what they are by default. */
export function limitsOf(form: LimitsForm, before: PrivacyLimits, usual: PrivacyLimits): PrivacyLimits {
  const { cellKm, gapKm, minCells, cellsWithin2Km, delta, clearReports } = form as Record<Exclude<keyof LimitsForm, "span">, number>;
  const losses = FACTOR_NAMES.map((name) => {
    const loss = FACTORS[name];
    return [loss, epsilonOf(form[name] as number, before[loss], usual[loss])];
  });
  const others = { cellKm, gapKm, minCells, cellsWithin2Km, delta, clearReports, span: form.span };
  return { ...before, ...(Object.fromEntries(losses) as Partial<PrivacyLimits>), ...others };
}

/** Whether the owner took part before this ledger began. */
export type EarlierParticipation = "new" | "some" | "unknown";

/** What may have been spent before; null while the number of campaigns makes no sense. */
export function spentEarlier(history: EarlierParticipation, campaigns: number | null, limits: PrivacyLimits): Spent | null {
  if (history === "new") return NOTHING_SPENT;
  if (history === "unknown") return wholeLimit(limits);
  if (campaigns === null || !Number.isSafeInteger(campaigns) || campaigns < 1) return null;
  return {
    epsilonPerKm: campaigns * limits.epsilonPerKm,
    nullEpsilon: campaigns * Math.max(limits.nullEpsilon, limits.gradeEpsilon),
    clearReports: 0,
    reports: campaigns,
  };
}

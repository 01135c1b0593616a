// The owner's limits as people set them: "4 times as likely", not ε = 1.386.

import type { PrivacyLimits } from "../core/client/privacy_limits";
import { general } from "../core/formatting";

/** e^ε: how many times as likely a reply may be from one place as from one 1 km away. */
export function timesOf(epsilonPerKm: number): number {
  return Number(general(Math.exp(epsilonPerKm), 6));
}

/** ln of the factor; the very number that it was before, or is by default, where the factor reads the same. */
export function epsilonOf(times: number, ...kept: readonly number[]): number {
  return kept.find((epsilon) => timesOf(epsilon) === times) ?? Math.log(times);
}

export type Change = "stricter" | "looser" | "default";

/** How a limit compares with the default. */
export function comparedWithDefault(name: keyof PrivacyLimits, value: number, usual: PrivacyLimits): Change {
  if (value === usual[name]) return "default";
  const larger = value > usual[name];
  return larger === (name === "cellKm" || name === "minCells") ? "stricter" : "looser";
}

export interface LimitsForm {
  times: number | null;
  lifetimeTimes: number | null;
  cellKm: number | null;
  gapKm: number | null;
  minCells: number | null;
  /** Empty takes campaigns in which NULL is said in the clear. */
  nullTimes: number | null;
}

export function formOf(limits: PrivacyLimits): LimitsForm {
  return {
    times: timesOf(limits.epsilonPerKm),
    lifetimeTimes: timesOf(limits.lifetimeEpsilonPerKm),
    cellKm: limits.cellKm,
    gapKm: limits.gapKm,
    minCells: limits.minCells,
    nullTimes: limits.nullEpsilon === Infinity ? null : timesOf(limits.nullEpsilon),
  };
}

const MAX_TIMES = 1e6;

/** What is wrong with a form, by field. */
export function faultsOf(form: LimitsForm): Partial<Record<keyof LimitsForm, string>> {
  const faults: Partial<Record<keyof LimitsForm, string>> = {};
  const times = (value: number | null): boolean => value !== null && value > 1 && value <= MAX_TIMES;
  const aboveZero = (value: number | null): boolean => value !== null && value > 0 && Number.isFinite(value);
  const expected = "Should be a number above 1, up to a million.";
  if (!times(form.times)) faults.times = expected;
  if (!times(form.lifetimeTimes)) faults.lifetimeTimes = expected;
  if (form.nullTimes !== null && !times(form.nullTimes)) faults.nullTimes = `${expected} Leave it empty for no limit.`;
  if (!aboveZero(form.cellKm)) faults.cellKm = "Should be a number of km above 0.";
  if (!aboveZero(form.gapKm)) faults.gapKm = "Should be a number of km above 0.";
  if (form.minCells === null || !Number.isInteger(form.minCells) || form.minCells < 1) {
    faults.minCells = "Should be a whole number from 1.";
  }
  return faults;
}

/** Limits from a form without faults; `before` and `usual` are what they were and what they are by default. */
export function limitsOf(form: LimitsForm, before: PrivacyLimits, usual: PrivacyLimits): PrivacyLimits {
  const { times, lifetimeTimes, cellKm, gapKm, minCells, nullTimes } = form as Record<keyof LimitsForm, number>;
  return {
    epsilonPerKm: epsilonOf(times, before.epsilonPerKm, usual.epsilonPerKm),
    lifetimeEpsilonPerKm: epsilonOf(lifetimeTimes, before.lifetimeEpsilonPerKm, usual.lifetimeEpsilonPerKm),
    cellKm,
    gapKm,
    minCells,
    nullEpsilon: form.nullTimes === null ? Infinity : epsilonOf(nullTimes, before.nullEpsilon),
  };
}

/** Whether the owner took part before this ledger began. */
export type EarlierParticipation = "new" | "some" | "unknown";

/** What may have been spent before; null while the number of campaigns makes no sense. */
export function spentEarlier(history: EarlierParticipation, campaigns: number | null, limits: PrivacyLimits): number | null {
  if (history === "new") return 0;
  if (history === "unknown") return limits.lifetimeEpsilonPerKm;
  return campaigns !== null && Number.isSafeInteger(campaigns) && campaigns >= 1 ? campaigns * limits.epsilonPerKm : null;
}

// Charge every report on two accounts, whatever it says, and stop at the owner's limits.
//
//     ε per km          what the report may reveal about where the place is
//     ε₀ (and ε₁)       what it may reveal about being in the area at all, and about how regularly the place is visited
//
// Nothing costs less than the least charge: fourteen campaigns with ε = 1e-9 would otherwise ask fourteen questions for nothing.
// In the clear form a device without a frequent place says so openly, which no ε bounds; such reports are counted and have a
// limit of their own.
//
// Sums are rounded correctly (`exactSum`), so that three times ln 4 is exactly the double 3 ln 4 of the default limit.

import { InputError, LimitReached } from "../errors";
import { general, grouped, percentUp } from "../formatting";
import { exactSum } from "../platform/exact_sum";
import { gradeSpread } from "../policy/grades";
import type { PrivacyLimits } from "./privacy_limits";

const DID_NOT_ANSWER = "Your phone did not answer.";
/** Keeps 3 ln 4 - 2 ln 4 from counting as less than one ln 4. */
const ROUNDING = 1e-9;

/** The terms of a campaign, as far as their cost depends on them. */
export interface ProtectedTerms {
  readonly epsilonPerKm: number;
  /** null in the clear form. */
  readonly nullEpsilon: number | null;
  /** null if how regularly the place is visited is not asked. */
  readonly gradeEpsilon: number | null;
  readonly lowerDeltas: readonly number[];
}

/** What one report costs. */
export interface Charge {
  readonly epsilonPerKm: number;
  readonly nullEpsilon: number;
  readonly clear: boolean;
}

/** What a report under these terms costs a device with these limits, whatever the report says. */
export function chargeOf(terms: ProtectedTerms, limits: Pick<PrivacyLimits, "leastCharge">): Charge {
  const least = limits.leastCharge;
  const clear = terms.nullEpsilon === null;
  const nullEpsilon = terms.nullEpsilon === null ? 0 : Math.max(terms.nullEpsilon, gradeSpread(terms), least);
  return { epsilonPerKm: Math.max(terms.epsilonPerKm, least), nullEpsilon, clear };
}

/** What all reports so far cost. */
export interface Spent {
  readonly epsilonPerKm: number;
  readonly nullEpsilon: number;
  readonly clearReports: number;
  readonly reports: number;
}

export const NOTHING_SPENT: Spent = { epsilonPerKm: 0, nullEpsilon: 0, clearReports: 0, reports: 0 };

export function checkSpent(spent: Spent): Spent {
  for (const [name, value] of [
    ["epsilon_per_km", spent.epsilonPerKm],
    ["null_epsilon", spent.nullEpsilon],
  ] as const) {
    if (!(Number.isFinite(value) && value >= 0)) {
      throw new InputError(`already spent ${name}`, value, "should be a finite number of at least 0");
    }
  }
  for (const [name, value] of [
    ["clear_reports", spent.clearReports],
    ["reports", spent.reports],
  ] as const) {
    if (!(Number.isSafeInteger(value) && value >= 0)) {
      throw new InputError(`already spent ${name}`, value, "should be a whole number of at least 0");
    }
  }
  return spent;
}

/** What a device should assume that lost its ledger and cannot know what it reported. */
export function wholeLimit(limits: PrivacyLimits): Spent {
  const { totalEpsilonPerKm, totalNullEpsilon, clearReports } = limits;
  return { epsilonPerKm: totalEpsilonPerKm, nullEpsilon: totalNullEpsilon, clearReports, reports: 0 };
}

/** Add the charges of more reports, with one rounding for all of them together. */
export function spentPlus(spent: Spent, charges: readonly Charge[]): Spent {
  return {
    epsilonPerKm: exactSum([spent.epsilonPerKm, ...charges.map((one) => one.epsilonPerKm)]),
    nullEpsilon: exactSum([spent.nullEpsilon, ...charges.map((one) => one.nullEpsilon)]),
    clearReports: spent.clearReports + charges.filter((one) => one.clear).length,
    reports: spent.reports + charges.length,
  };
}

/** Refuse a report that would take either sum, or the number of reports in the clear, past the owner's limit. */
export function checkTotals(spent: Spent, charge: Charge, limits: PrivacyLimits): void {
  const after = spentPlus(spent, [charge]);
  if (charge.clear && after.clearReports > limits.clearReports) {
    throw new LimitReached(
      "This campaign asks openly whether you regularly visit anywhere in its area, more often than your limit " +
        `allows. ${DID_NOT_ANSWER}`,
      `The limit of reports in the clear is ${limits.clearReports}; ${spent.clearReports} were sent.`,
    );
  }
  if (after.epsilonPerKm <= limits.totalEpsilonPerKm && after.nullEpsilon <= limits.totalNullEpsilon) return;
  let used = describeUse(spent, limits);
  if (!isUsedUp(spent, limits)) used = `This campaign would take you past your limit. ${used} ${DID_NOT_ANSWER}`;
  const figures = (
    [
      ["ε per km", spent.epsilonPerKm, charge.epsilonPerKm, limits.totalEpsilonPerKm],
      ["ε₀", spent.nullEpsilon, charge.nullEpsilon, limits.totalNullEpsilon],
    ] as const
  ).map(
    ([name, before, more, limit]) =>
      `${name}: ${general(before, 6)} of ${general(limit, 6)} is used, and this report would add ${general(more, 6)}`,
  );
  throw new LimitReached(used, `${figures.join("; ")}.`);
}

/** How many reports like this one the limits allow; infinity if nothing is charged. */
export function moreReports(spent: Spent, charge: Charge, limits: PrivacyLimits): number {
  const left = [Infinity];
  const accounts = [
    [charge.epsilonPerKm, limits.totalEpsilonPerKm, spent.epsilonPerKm],
    [charge.nullEpsilon, limits.totalNullEpsilon, spent.nullEpsilon],
  ] as const;
  for (const [cost, limit, before] of accounts) if (cost > 0) left.push(Math.floor((limit - before) / cost + ROUNDING));
  if (charge.clear) left.push(limits.clearReports - spent.clearReports);
  return Math.max(0, Math.min(...left));
}

/** Say how many campaigns were answered, and how much of the owner's limit is used. */
export function describeUse(spent: Spent, limits: PrivacyLimits): string {
  const number = spent.reports === 0 ? "no" : grouped(spent.reports);
  const campaigns = `${number} ${spent.reports < 2 ? "campaign" : "campaigns"}`;
  const when = limits.span === "lifetime" ? "" : " in the last twelve months";
  if (isUsedUp(spent, limits)) {
    const stop =
      limits.span === "lifetime"
        ? "This phone will not answer more unless you raise the limit."
        : "This phone will not answer more until the oldest of them is twelve months old.";
    if (spent.reports === 0) return `Your limit was used up before this record began. ${stop}`;
    return `You have answered ${campaigns}${when}, the most your limit allows. ${stop}`;
  }
  const share = shareUsed(spent, limits);
  if (share === 0) return `You have answered ${campaigns}${when}.`;
  return `You have answered ${campaigns}${when} and used ${percentUp(share, 0).replace("%", " %")} of your limit.`;
}

function shareUsed(spent: Spent, limits: PrivacyLimits): number {
  return Math.max(spent.epsilonPerKm / limits.totalEpsilonPerKm, spent.nullEpsilon / limits.totalNullEpsilon);
}

function isUsedUp(spent: Spent, limits: PrivacyLimits): boolean {
  return shareUsed(spent, limits) >= 1;
}

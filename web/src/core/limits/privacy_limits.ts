// Define the limits that a device's owner sets; they are kept in the device's ledger, never typed at every call.

import { InputError } from "../errors";
import { DEFAULT_EPSILON_PER_KM, DEFAULT_NULL_EPSILON } from "../vocabulary";

/** Over what time the losses of reports add up: for ever, or over any twelve months. */
export const SPANS = ["lifetime", "twelve-months"] as const;
export type Span = (typeof SPANS)[number];

/** What a device accepts at most, or at least; set by its owner, never by a campaign. */
export interface PrivacyLimits {
  /** Largest loss about the place in one report. */
  readonly epsilonPerKm: number;
  /** Largest loss ε₀ about being in the area at all, in one report. */
  readonly nullEpsilon: number;
  /** Largest loss about how regularly the place is visited, in one report: between the most and the least regular visitor. */
  readonly gradeEpsilon: number;
  /** Largest sum of ε per km over all reports. */
  readonly totalEpsilonPerKm: number;
  /** Largest sum of the losses about being in the area and about how regularly, over all reports. */
  readonly totalNullEpsilon: number;
  /** How many reports may say in the clear that there is no frequent place in the area; 0 means none. */
  readonly clearReports: number;
  /**
   * Whether sums run over the whole life of the ledger, or over any twelve months. Twelve months protect less: what was learnt
   * earlier stays known, and a place that does not change is told again.
   */
  readonly span: Span;
  /** A report is charged at least this on each account, however little its campaign says it reveals. */
  readonly leastCharge: number;
  /** Finest map: distance of neighbouring cells, width of a tower's reach, side of a square as large as a region. */
  readonly cellKm: number;
  /** Coarsest map: no cell's nearest neighbour may be farther away. An isolated cell identifies its visitors. */
  readonly gapKm: number;
  /** Smallest number of cells in the area. */
  readonly minCells: number;
  /** Smallest number of cells within 2 km of every cell, itself included; a region that is itself 2 km wide is exempt. */
  readonly cellsWithin2Km: number;
  /**
   * Smallest threshold that divides visitors into grades, δ and all below it: under it, profiles cannot tell a regular visit from
   * a chance one. No constants that a campaign publishes make a place count that the shipped prediction puts below it.
   */
  readonly delta: number;
}

export type LimitName = keyof PrivacyLimits;

export const DEFAULT_LIMITS: PrivacyLimits = {
  epsilonPerKm: DEFAULT_EPSILON_PER_KM,
  nullEpsilon: DEFAULT_NULL_EPSILON,
  gradeEpsilon: DEFAULT_NULL_EPSILON,
  totalEpsilonPerKm: 3 * DEFAULT_EPSILON_PER_KM,
  totalNullEpsilon: 3 * DEFAULT_NULL_EPSILON,
  clearReports: 0,
  span: "lifetime",
  leastCharge: 0.1,
  cellKm: 0.25,
  gapKm: 5,
  minCells: 16,
  cellsWithin2Km: 3,
  delta: 0.2,
};

/** The name of each limit in files. */
const LIMIT_FIELDS: Readonly<Record<LimitName, string>> = {
  epsilonPerKm: "epsilon_per_km",
  nullEpsilon: "null_epsilon",
  gradeEpsilon: "grade_epsilon",
  totalEpsilonPerKm: "total_epsilon_per_km",
  totalNullEpsilon: "total_null_epsilon",
  clearReports: "clear_reports",
  span: "span",
  leastCharge: "least_charge",
  cellKm: "cell_km",
  gapKm: "gap_km",
  minCells: "min_cells",
  cellsWithin2Km: "cells_within_2_km",
  delta: "delta",
};
export const LIMIT_NAMES = Object.keys(LIMIT_FIELDS) as LimitName[];

const WHOLE: ReadonlySet<LimitName> = new Set<LimitName>(["clearReports", "minCells", "cellsWithin2Km"]);
const MAY_BE_ZERO: ReadonlySet<LimitName> = new Set<LimitName>(["clearReports", "delta"]);
/** Limits that are stricter the larger they are. */
export const AT_LEAST: ReadonlySet<LimitName> = new Set<LimitName>(["leastCharge", "cellKm", "minCells", "cellsWithin2Km", "delta"]);

/** Of each limit, the stricter one of both. */
export function stricterLimits(one: PrivacyLimits, other: PrivacyLimits): PrivacyLimits {
  const chosen = LIMIT_NAMES.map((name): [LimitName, number | Span] => {
    if (name === "span") return [name, one.span === "lifetime" ? one.span : other.span];
    return [name, AT_LEAST.has(name) ? Math.max(one[name], other[name]) : Math.min(one[name], other[name])];
  });
  return checkLimits(Object.fromEntries(chosen) as unknown as PrivacyLimits);
}

export function checkLimits(limits: PrivacyLimits): PrivacyLimits {
  for (const name of LIMIT_NAMES) if (name !== "span") checkNumber(name, limits[name]);
  if (!SPANS.includes(limits.span)) throw new InputError("span", limits.span, `should be one of ${SPANS.join(", ")}`);
  if (limits.delta >= 1) throw new InputError("delta", limits.delta, "should be below 1");
  return limits;
}

function checkNumber(name: LimitName, value: unknown): void {
  const whole = WHOLE.has(name);
  const zero = MAY_BE_ZERO.has(name);
  const number = typeof value === "number" && (whole ? Number.isSafeInteger(value) : Number.isFinite(value));
  if (!(number && (value > 0 || (zero && value === 0)))) {
    const expected = `should be a ${whole ? "whole" : "finite"} number ${zero ? "of at least" : "above"} 0`;
    throw new InputError(LIMIT_FIELDS[name], value, expected);
  }
}

/** The limits as a JSON object. */
export function limitsFields(limits: PrivacyLimits): Record<string, number | string> {
  return Object.fromEntries(LIMIT_NAMES.map((name) => [LIMIT_FIELDS[name], limits[name]]));
}

/** Read limits from a JSON object that names every one of them. */
export function readLimits(document: Readonly<Record<string, unknown>>): PrivacyLimits {
  const expected = new Set(Object.values(LIMIT_FIELDS));
  const odd = [...Object.keys(document).filter((name) => !expected.has(name)), ...[...expected].filter((name) => !(name in document))];
  const [first] = odd.sort();
  if (first !== undefined) {
    throw new InputError(first, document[first], "should be one of the limits, and all of them should be given");
  }
  return checkLimits(
    Object.fromEntries(LIMIT_NAMES.map((name) => [name, document[LIMIT_FIELDS[name]]])) as unknown as PrivacyLimits,
  );
}

// The operator's messages, as crowdveil.wire.operator defines them on the server.

import type { Algorithm, CampaignState, Cover, Enrolment, OperatorRole, Period, RoundState, Rule } from "../vocabulary";
import type { AreaDescription } from "./area";

export interface CampaignPlan {
  protocol: number;
  name: string;
  offer: string;
  area: AreaDescription;
  targets: readonly number[];
  /** What the targets are called, in their order; null: they have no names. */
  target_names: readonly string[] | null;
  /** Where the targets are, each as latitude and longitude; null: the cells' centres. */
  target_coordinates: readonly (readonly [number, number])[] | null;
  epsilon_per_km: number;
  delta: number;
  /** Thresholds of further grades below δ; null: the default ones. */
  lower_deltas: readonly number[] | null;
  /** Constants of the devices' prediction; null: those that devices have. */
  profile_constants: readonly number[] | null;
  rule: Rule;
  period: Period;
  enrolment: Enrolment;
  users: number;
  wanted: number | null;
  share: number | null;
  /** How many people to select for each target, in the order of the targets; null: `wanted` at any of them. */
  numbers: readonly number[] | null;
  /**
   * Whether the answers serve any number of selections, each with targets and numbers of its own. The targets are then the places
   * that may be asked for, everyone may answer in every round, and a later round renews the answers.
   */
  panel: boolean;
  /** Of a panel: seconds from one round's opening to the next one's; null if there is one round. */
  renewal_s: number | null;
  rounds: number;
  confidence: number;
  algorithm: Algorithm;
  prior: readonly number[] | null;
  null_epsilon: number | null;
  grade_epsilon: number | null;
  round_size: number | null;
  deadline_s: number | null;
  seed: string | null;
  /** Whether to create it even if devices with the default limits will refuse it. */
  beyond_default_limits: boolean;
}

/** What an operator asks of a panel: places, how many people, and how often one person may be chosen. */
export interface PanelRequest {
  protocol: number;
  targets: readonly number[];
  /** What the targets are called, in their order; null: they have no names. */
  target_names: readonly string[] | null;
  /** Where the targets are, each as latitude and longitude; null: the cells' centres. */
  target_coordinates: readonly (readonly [number, number])[] | null;
  /** How many people to select, at any target; either this or `numbers`. */
  wanted: number | null;
  /** How many people to select for each target, in the order of the targets. */
  numbers: readonly number[] | null;
  /** How often one person may be chosen, this time included; null: as often as it comes. */
  at_most: number | null;
  /** Only earlier selections of so many seconds count for `at_most`; null: all of the same answers. */
  within_s: number | null;
  /** Whether targets may be cells that are not among the panel's places, whose visitors are known less well. */
  other_cells: boolean;
}

/** A selection as its operator sees it; who was selected is exported as CSV. */
export interface SelectionView {
  number: number;
  /** Seconds since 1970 (UTC). */
  made: number;
  /** How many rounds were closed then. */
  rounds: number;
  /** What was asked of a panel; null: what the plan asks for. */
  request: PanelRequest | null;
  selected: number;
  /** How many people fewer than wanted were selected: for each target that has a number, otherwise in all. */
  missing: readonly number[];
}

/** All selections of a campaign, in the order in which they were made. */
export interface SelectionList {
  selections: readonly SelectionView[];
}

/** How many people are expected to come, with a 95 % interval in whole people. */
export interface ExpectedPeople {
  people: number;
  low: number;
  high: number;
}

export interface ExpectedPlace {
  /** How many people are to be selected for it; null where people are wanted at any target. */
  wanted: number | null;
  selected: number;
  by_symbol: number;
  /** How many of all who are selected are expected to come. */
  visitors: ExpectedPeople;
  /** How many of everybody who is invited are expected to come. */
  possible: number;
}

/** What to expect of a campaign, in all and at each place, in the order of the plan's targets. */
export interface Expectation {
  cover: Cover;
  numbers: readonly number[] | null;
  selected: number;
  visitors: ExpectedPeople;
  places: readonly ExpectedPlace[];
  /** Of what is asked of a panel: places that cannot have their number or get almost nobody, and what would help. */
  advice: readonly string[];
}

export interface RoundView {
  number: number;
  state: RoundState;
  policy_hash: string | null;
  size: number | null;
  deadline: number | null;
  seated: number;
  accepted: number;
  refused: Readonly<Record<string, number>>;
}

export interface CampaignView {
  campaign: string;
  state: CampaignState;
  plan: CampaignPlan;
  server_key: string;
  terms_hash: string;
  created: number;
  rounds: readonly RoundView[];
  estimate: readonly number[] | null;
  expected_coverage: number | null;
  expectation: Expectation | null;
  /** How many selections were made: one of a campaign that is asked once, any number of a panel. */
  selections: number;
  /** How many the last selection selected; null before the first. */
  selected: number | null;
  /** Who created it; null once that operator was removed. */
  operator: string | null;
  /** Operators with whom it is shared. */
  shared_with: readonly string[];
  /** Why the server could not do the step that is due, such as opening a round; it tries again by itself. */
  failure: string | null;
  /** When it was finished, in seconds since 1970 (UTC); null before. */
  finished: number | null;
  /** Days after which this server deletes what is finished; null: it keeps that until an operator deletes it. */
  keep_days: number | null;
  /** When this server deletes the campaign, in seconds since 1970 (UTC); null: not before it is finished, or never. */
  kept_until: number | null;
}

export interface CampaignSummary {
  campaign: string;
  name: string;
  state: CampaignState;
  panel: boolean;
  created: number;
  /** Why the server could not do the step that is due; it tries again by itself. */
  failure: string | null;
  /** Who created it; null once that operator was removed. */
  operator: string | null;
}

/** Who is signed in, and in which role. */
export interface SignedIn {
  name: string;
  role: OperatorRole;
  /** When the token expires, in seconds since 1970 (UTC); null: never. */
  expires: number | null;
}

export interface PreviewPoint {
  epsilon_per_km: number;
  wanted: number;
  expected_coverage: number;
}

export interface Preview {
  cells: number;
  people_wanted: number;
  beta: number;
  expected_coverage: number;
  by_chance: number;
  hit_probability: readonly number[];
  private_from_epsilon_per_km: number;
  expectation: Expectation;
  /** Places that cannot have their number or get almost nobody, and what would help. */
  advice: readonly string[];
  covers: readonly Expectation[];
  by_epsilon: readonly PreviewPoint[];
  by_wanted: readonly PreviewPoint[];
}

/** New invites, and what an invite link names. */
export interface Invites {
  invites: readonly string[];
  server_key: string;
  terms_hash: string;
  policy_hash: string | null;
}

export interface RoundEstimate {
  round: number;
  /** Of the people in the area, the share in each cell, whatever their grade. */
  prior: readonly number[];
  /** Of all people, the share at each grade, regular visitors first. */
  grade_shares: readonly number[];
  /** Of all people, the share outside the area. */
  outside_share: number;
  /** null for a panel, of which each selection asks for other places. */
  expected_coverage: number | null;
}

/** α, whichever way it was said; at least one, and 0 for a panel. */
export function peopleWanted(plan: Pick<CampaignPlan, "wanted" | "share" | "users" | "numbers" | "panel">): number {
  if (plan.panel) return 0;
  if (plan.numbers !== null) return plan.numbers.reduce((sum, number) => sum + number, 0);
  return plan.wanted ?? Math.max(1, halfEven((plan.share ?? 0) * plan.users));
}

/** A target by its position, counted from 1, with its name if it has one. */
export function placeName(plan: Pick<CampaignPlan, "target_names">, target: number): string {
  const name = plan.target_names?.[target];
  return name === undefined ? String(target + 1) : `${target + 1} (${name})`;
}

/** Python rounds halves to the even number. */
function halfEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

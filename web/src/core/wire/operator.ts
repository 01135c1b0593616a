// The operator's messages, as crowdveil.wire.operator defines them on the server.

import type { Algorithm, CampaignState, Enrolment, Period, RoundState, Rule } from "../vocabulary";
import type { AreaDescription } from "./area";

export interface CampaignPlan {
  protocol: number;
  name: string;
  offer: string;
  area: AreaDescription;
  targets: readonly number[];
  epsilon_per_km: number;
  delta: number;
  rule: Rule;
  period: Period;
  enrolment: Enrolment;
  users: number;
  wanted: number | null;
  share: number | null;
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
  selected: number | null;
}

export interface CampaignSummary {
  campaign: string;
  name: string;
  state: CampaignState;
  created: number;
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
  expected_coverage: number;
}

/** α, whichever way it was said; at least one. */
export function peopleWanted(plan: Pick<CampaignPlan, "wanted" | "share" | "users">): number {
  return plan.wanted ?? Math.max(1, halfEven((plan.share ?? 0) * plan.users));
}

/** Python rounds halves to the even number. */
function halfEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

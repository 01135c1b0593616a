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
  round_size: number | null;
  deadline_s: number | null;
  seed: number | null;
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

export interface RoundEstimate {
  round: number;
  prior: readonly number[];
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

// The operator's messages, as crowdveil.wire defines them on the server.

export const PROTOCOL = 1;

export type Spot = readonly [latitude: number, longitude: number];
export type Bounds = readonly [south: number, west: number, north: number, east: number];
export type AreaObject = Readonly<Record<string, unknown>>;
export type CampaignState = "draft" | "open" | "paused" | "closed" | "finished";
export type Rule = "random" | "target-aware";
export type Period = "week" | "day";

export interface NewCampaign {
  protocol: number;
  name: string;
  offer: string;
  area: AreaObject;
  targets: readonly number[];
  epsilon_per_km: number;
  delta: number;
  rule: Rule;
  period: Period;
  enrolment: "open" | "invite";
  users: number;
  wanted: number | null;
  share: number | null;
  rounds: number;
  confidence: number;
  way: "crowdveil" | "algorithm-2";
  prior: readonly number[] | null;
  null_epsilon: number | null;
  round_size: number | null;
  deadline_s: number | null;
  seed: number | null;
}

export interface RoundView {
  number: number;
  state: "opening" | "open" | "closed";
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
  plan: NewCampaign;
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

export interface AreaRequest {
  protocol: number;
  bounds?: Bounds;
  cell_km?: number;
  resolution?: number;
  towers?: readonly Spot[];
  reach_km?: number;
  area?: AreaObject;
}

export interface AreaShape {
  area: AreaObject;
  centres: readonly Spot[];
  regions: readonly (readonly Spot[])[];
  nearest_neighbour_km: number;
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

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  field?: string | null;
  value?: string | null;
  expected?: string | null;
}

/** α, whichever way it was said; at least one. */
export function peopleWanted(plan: Pick<NewCampaign, "wanted" | "share" | "users">): number {
  return plan.wanted ?? Math.max(1, halfEven((plan.share ?? 0) * plan.users));
}

/** Python rounds halves to the even number. */
function halfEven(value: number): number {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}

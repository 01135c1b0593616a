// How often a campaign is asked after.

import type { CampaignState } from "../../core/vocabulary";

export const MOVING_MS = 1_500;
export const RESTING_MS = 10_000;
const MAX_MS = 30_000;

/** How long to wait before asking again; undefined once nothing can change any more. */
export function pauseBefore(state: CampaignState | undefined, failures: number): number | undefined {
  if (failures > 0) return Math.min(MAX_MS, MOVING_MS * 2 ** (failures - 1));
  if (state === "finished") return undefined;
  return state === "draft" || state === "paused" ? RESTING_MS : MOVING_MS;
}

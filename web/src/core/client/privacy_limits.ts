// Define the limits that a device's owner sets, and check every campaign against them before anything is drawn.
//
// The server is not trusted. What it announces (area, targets, ε, the hash of the policy) is public and the same for all
// participants. What it sends (the policy) is compared with the announcement, and both are compared with the limits.
// An area without latitudes and longitudes is refused, because inflated coordinates make any policy look private.

import { readArea, type Area } from "../area/area";
import { explain, type Certificate } from "../certify/certificate";
import { certify } from "../certify/checker";
import { CampaignRefused, CrowdveilError, InputError, NotPrivateError, OutsideLimits, show } from "../errors";
import { fixed, general } from "../formatting";
import { checkEpsilon, checkTargets } from "../policy/checks";
import type { Policy } from "../policy/policy";
import { checkDelta } from "../profile/profile";
import { DEFAULT_EPSILON_PER_KM, DEFAULT_MIN_CELL_KM, DEFAULT_MIN_CELLS, type Progress } from "../vocabulary";
import type { Announcement } from "../wire/participant";

const NOT_TAKING_PART = "This phone does not take part.";

/** What a device accepts at most, or at least; set by its owner, never by a campaign. */
export interface PrivacyLimits {
  /** Largest loss in one campaign. */
  readonly epsilonPerKm: number;
  /** Largest sum of losses over all campaigns. */
  readonly lifetimeEpsilonPerKm: number;
  /** Smallest distance between neighbouring cells. Finer cells are a mistake in the units, or a map of houses. */
  readonly cellKm: number;
  /** Largest distance from a cell to its nearest neighbour: an isolated cell identifies its visitors. */
  readonly gapKm: number;
  /** Smallest number of cells in the area. */
  readonly minCells: number;
  /** Largest loss ε₀ about having a frequent place at all; if infinite, a campaign may ask for NULL in the clear. */
  readonly nullEpsilon: number;
}

export const DEFAULT_LIMITS: PrivacyLimits = {
  epsilonPerKm: DEFAULT_EPSILON_PER_KM,
  lifetimeEpsilonPerKm: 3 * DEFAULT_EPSILON_PER_KM,
  cellKm: DEFAULT_MIN_CELL_KM,
  gapKm: 5,
  minCells: DEFAULT_MIN_CELLS,
  nullEpsilon: Infinity,
};

export function checkLimits(limits: PrivacyLimits): PrivacyLimits {
  for (const [name, value] of Object.entries(limits) as [keyof PrivacyLimits, number][]) {
    const unlimited = name === "nullEpsilon" && value === Infinity;
    if (!(value > 0 && (Number.isFinite(value) || unlimited))) {
      throw new InputError(name, value, "should be a finite number above 0");
    }
  }
  return limits;
}

/** Check what was announced against the limits, and return its area; neither policy nor place is needed yet. */
export async function checkAnnouncement(announcement: Announcement, limits: PrivacyLimits): Promise<Area> {
  const area = await readAnnouncedArea(announcement);
  const { epsilonPerKm, nullEpsilon } = announcement;
  if (epsilonPerKm > limits.epsilonPerKm) {
    throw new OutsideLimits(
      `This campaign could learn more about your place than your limit allows. ${NOT_TAKING_PART}`,
      `The campaign announces ε = ${general(epsilonPerKm, 6)} per km; this device accepts at most ` +
        `${general(limits.epsilonPerKm, 6)}.`,
    );
  }
  if ((nullEpsilon ?? Infinity) > limits.nullEpsilon) {
    const announced = nullEpsilon === null ? "asks for NULL in the clear" : `announces ε₀ = ${general(nullEpsilon, 6)}`;
    throw new OutsideLimits(
      "This campaign could learn more about whether you regularly visit anywhere in this area than your limit " +
        `allows. ${NOT_TAKING_PART}`,
      `The campaign ${announced}; this device accepts at most ε₀ = ${general(limits.nullEpsilon, 6)}.`,
    );
  }
  checkArea(area, limits);
  return area;
}

async function readAnnouncedArea(announcement: Announcement): Promise<Area> {
  try {
    checkEpsilon("epsilon_per_km", announcement.epsilonPerKm);
    const area = await readArea(announcement.area);
    checkTargets(announcement.targets, area.cells);
    checkDelta(announcement.delta);
    if (announcement.nullEpsilon !== null) checkEpsilon("null_epsilon", announcement.nullEpsilon);
    return area;
  } catch (error) {
    if (!(error instanceof CrowdveilError)) throw error;
    throw new CampaignRefused(`The campaign's announcement is not valid: ${error.message}`);
  }
}

function checkArea(area: Area, limits: PrivacyLimits): void {
  if (area.plane === null) {
    throw new CampaignRefused(
      "The campaign's map has no latitudes and longitudes, so this phone cannot check its distances. " + NOT_TAKING_PART,
      `The area is of kind '${area.kind}'; a Grid, Hexagons or Towers can be checked.`,
    );
  }
  if (area.cells < limits.minCells) {
    throw new OutsideLimits(
      `The campaign's map has ${area.cells} parts, too few to hide among; your limit is ${limits.minCells}. ${NOT_TAKING_PART}`,
    );
  }
  let nearestKm = Infinity;
  let apartKm = 0;
  let isolated = 0;
  for (let cell = 0; cell < area.cells; cell++) {
    const neighbourKm = area.neighbourKm(cell);
    nearestKm = Math.min(nearestKm, neighbourKm);
    if (neighbourKm > apartKm) [apartKm, isolated] = [neighbourKm, cell];
  }
  if (nearestKm < limits.cellKm) {
    throw new OutsideLimits(
      `The campaign's map is finer than your limit allows. ${NOT_TAKING_PART}`,
      `Neighbouring cells are ${fixed(nearestKm, 3)} km apart; this device accepts no less than ` +
        `${general(limits.cellKm, 6)} km. Were metres given as kilometres?`,
    );
  }
  if (apartKm > limits.gapKm) {
    throw new OutsideLimits(
      "One part of the campaign's map is so far from all others that an answer from there would identify you. " +
        NOT_TAKING_PART,
      `Cell ${isolated} is ${general(apartKm, 3)} km from its nearest neighbour; this device accepts at most ` +
        `${general(limits.gapKm, 6)} km.`,
    );
  }
}

/** Compare a policy with what was announced, then certify it, including its row for NULL. */
export function checkPolicy(policy: Policy, announcement: Announcement, area: Area, progress?: Progress): Certificate {
  const announcedHash = announcement.open?.policyHash;
  if (policy.hash !== announcedHash) {
    throw new NotPrivateError(
      "The server sent this phone something other than what it announced to everyone, by which you could be " +
        `singled out. ${NOT_TAKING_PART}`,
      `The policy has the hash ${policy.hash}, but ${announcedHash ?? "none"} was announced.`,
    );
  }
  const targets = [...announcement.targets].sort((a, b) => a - b);
  const announced: readonly (readonly [name: string, found: unknown, expected: unknown])[] = [
    ["area", policy.area.digest, area.digest],
    ["targets", policy.targets.join(), targets.join()],
    ["epsilon_per_km", policy.epsilonPerKm, announcement.epsilonPerKm],
    ["null_epsilon", policy.nullEpsilon, announcement.nullEpsilon],
  ];
  for (const [name, found, expected] of announced) {
    if (found !== expected) {
      throw new NotPrivateError(
        `The server sent this phone something other than what it announced. ${NOT_TAKING_PART}`,
        `The policy is for ${name} = ${show(found)}, but ${show(expected)} was announced.`,
      );
    }
  }
  const certificate = certify(policy, announcement.epsilonPerKm, progress);
  if (!certificate.ok) {
    throw new NotPrivateError(
      `This campaign does not protect your place as well as it announces. ${NOT_TAKING_PART}`,
      explain(certificate),
    );
  }
  return certificate;
}

// The device's own limits, and the check that every campaign must pass before anything is drawn.
//
// The server is not trusted. What it announces is public and the same for all; what it sends is held against that, and both
// against the owner's limits. An area without latitudes and longitudes is refused: inflated coordinates make any policy look private.

import { readArea, type Area } from "../area/area";
import { explain, type Certificate } from "../certify/certificate";
import { certify } from "../certify/checker";
import { CampaignRefused, CrowdveilError, InputError, LimitExceeded, NotPrivateError, show } from "../errors";
import { fixed, general } from "../formatting";
import { checkEpsilon, checkTargets } from "../policy/checks";
import type { Policy } from "../policy/policy";
import { checkDelta } from "../profile/profile";
import { DEFAULT_EPSILON_PER_KM, DEFAULT_MIN_CELL_KM, DEFAULT_MIN_CELLS, type Progress } from "../vocabulary";
import type { Announcement } from "../wire/participant";

/** What a device accepts at most, or at least; set by its owner, never by a campaign. */
export interface PrivacyLimits {
  /** Largest loss of one campaign. */
  readonly epsilonPerKm: number;
  /** Largest sum of losses over all campaigns. */
  readonly lifetimeEpsilonPerKm: number;
  /** Smallest distance of neighbouring cells; finer ones are mistaken units, or a map of houses. */
  readonly cellKm: number;
  /** Largest distance of a cell to its nearest neighbour: a lone cell among gaps hides among nothing. */
  readonly gapKm: number;
  readonly minCells: number;
  /** Largest loss ε₀ about having a frequent place at all; infinite lets a campaign take NULL in the clear. */
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
    const endless = name === "nullEpsilon" && value === Infinity;
    if (!(value > 0 && (Number.isFinite(value) || endless))) {
      throw new InputError(name, value, "should be a finite number above 0");
    }
  }
  return limits;
}

/** What a campaign announces to everyone, as far as privacy depends on it. */
export interface AnnouncedTerms {
  readonly area: Area;
  readonly targets: readonly number[];
  readonly epsilonPerKm: number;
  readonly nullEpsilon: number | null;
}

/** Hold what was announced against the owner's limits; no policy is needed yet, nor any place. */
export async function checkTerms(info: Announcement, limits: PrivacyLimits): Promise<AnnouncedTerms> {
  const terms = await readTerms(info);
  if (terms.epsilonPerKm > limits.epsilonPerKm) {
    throw new LimitExceeded(
      `the campaign announces ε = ${general(terms.epsilonPerKm, 6)} per km; this device accepts at most ` +
        general(limits.epsilonPerKm, 6),
    );
  }
  if ((terms.nullEpsilon ?? Infinity) > limits.nullEpsilon) {
    const announced =
      terms.nullEpsilon === null
        ? "takes NULL in the clear"
        : `announces ε₀ = ${general(terms.nullEpsilon, 6)} for NULL`;
    const most = `at most ε₀ = ${general(limits.nullEpsilon, 6)} about having a place at all`;
    throw new LimitExceeded(`the campaign ${announced}; this device accepts ${most}`);
  }
  checkArea(terms.area, limits);
  return terms;
}

async function readTerms(info: Announcement): Promise<AnnouncedTerms> {
  try {
    const epsilonPerKm = checkEpsilon("epsilon_per_km", info.epsilonPerKm);
    const area = await readArea(info.area);
    const targets = checkTargets(info.targets, area.cells);
    checkDelta(info.delta);
    const nullEpsilon = info.nullEpsilon === null ? null : checkEpsilon("null_epsilon", info.nullEpsilon);
    return { area, targets, epsilonPerKm, nullEpsilon };
  } catch (error) {
    if (!(error instanceof CrowdveilError)) throw error;
    throw new CampaignRefused(`the campaign's announcement makes no sense: ${error.message}`);
  }
}

function checkArea(area: Area, limits: PrivacyLimits): void {
  if (area.plane === null) {
    throw new CampaignRefused(
      `an area of kind '${area.kind}' has no latitude and longitude: its distances cannot be checked against ` +
        "the ground; a Grid, Hexagons or Towers would do",
    );
  }
  if (area.cells < limits.minCells) {
    throw new LimitExceeded(`the area has ${area.cells} cells; this device hides among no fewer than ${limits.minCells}`);
  }
  let least = Infinity;
  let most = 0;
  let lone = 0;
  for (let cell = 0; cell < area.cells; cell++) {
    const apart = area.neighbourKm(cell);
    least = Math.min(least, apart);
    if (apart > most) [most, lone] = [apart, cell];
  }
  if (least < limits.cellKm) {
    throw new LimitExceeded(
      `neighbouring cells lie ${fixed(least, 3)} km apart; this device accepts no less than ` +
        `${general(limits.cellKm, 6)} km (were metres meant as kilometres?)`,
    );
  }
  if (most > limits.gapKm) {
    throw new LimitExceeded(
      `cell ${lone} lies ${general(most, 3)} km from its nearest neighbour; this device accepts at most ` +
        `${general(limits.gapKm, 6)} km, because a lone cell names its visitors`,
    );
  }
}

/** Hold a policy against what was announced, then certify it, its row for NULL included. */
export function checkPolicy(policy: Policy, policyHash: string, terms: AnnouncedTerms, progress?: Progress): Certificate {
  if (policy.hash !== policyHash) {
    throw new NotPrivateError(
      `the policy has the hash ${policy.hash.slice(0, 12)}, but ${policyHash.slice(0, 12)} was announced for everyone; ` +
        "who is shown another policy can be singled out",
    );
  }
  const held: readonly (readonly [string, unknown, unknown])[] = [
    ["area", policy.area.digest, terms.area.digest],
    ["targets", policy.targets.join(), terms.targets.join()],
    ["epsilon_per_km", policy.epsilonPerKm, terms.epsilonPerKm],
    ["null_epsilon", policy.nullEpsilon, terms.nullEpsilon],
  ];
  for (const [name, found, announced] of held) {
    if (found !== announced) {
      throw new NotPrivateError(`the policy is for ${name} = ${show(found)}, but ${show(announced)} was announced`);
    }
  }
  const certificate = certify(policy, terms.epsilonPerKm, progress);
  if (!certificate.ok) throw new NotPrivateError(explain(certificate));
  return certificate;
}

// Check a campaign's terms and its policy against the limits of a device's owner, before anything is drawn.
//
// The server is not trusted. The terms are public and the same for all participants. The policy is compared with the
// announcement, and both are compared with the limits. Distances are derived here from the announced area, whose centres are
// checked against latitudes and longitudes. An area without them is refused, because inflated coordinates make any policy look
// private.

import { readArea, type Area } from "../area/area";
import { explain, type Certificate } from "../certify/certificate";
import { certify } from "../certify/checker";
import { CampaignRefused, CrowdveilError, NotPrivateError, OutsideLimits, show } from "../errors";
import { general } from "../formatting";
import { checkEpsilon, checkTargets } from "../policy/checks";
import type { Policy } from "../policy/policy";
import { checkDelta } from "../profile/profile";
import type { Progress } from "../vocabulary";
import type { Announcement } from "../wire/participant";
import { gradesOf, gradeSpread } from "../policy/grades";
import type { TermsFields } from "../wire/terms";
import { checkMap, NOT_TAKING_PART } from "./map_checks";
import type { PrivacyLimits } from "./privacy_limits";

/** Twice ln 8 is not more than ln 64 by a rounding error. */
const SPREAD_ROUNDING = 1e-9;

/** Check the terms against the limits for one report, and return their area; no policy and no place is needed. */
export async function checkTerms(terms: TermsFields, limits: PrivacyLimits): Promise<Area> {
  const area = await readAnnouncedArea(terms);
  checkLosses(terms, limits);
  const least = Math.min(terms.delta, ...terms.lowerDeltas);
  if (least < limits.delta) {
    throw new OutsideLimits(
      `This campaign counts visits as regular that your phone cannot tell from chance. ${NOT_TAKING_PART}`,
      `The campaign announces δ = ${general(least, 6)} as its lowest threshold; this device accepts no less than ` +
        `${general(limits.delta, 6)}.`,
    );
  }
  await checkMap(area, limits);
  return area;
}

/** Compare a policy with what was announced, then certify it, with the inputs for every grade and for outside. */
export function checkPolicy(policy: Policy, announcement: Announcement, area: Area, progress?: Progress): Certificate {
  const { terms, notice } = announcement;
  if (policy.hash !== notice?.policyHash) {
    throw new NotPrivateError(
      "The server sent this phone something other than what it announced to everyone, by which you could be " +
        `singled out. ${NOT_TAKING_PART}`,
      `The policy has the hash ${policy.hash}, but ${notice?.policyHash ?? "none"} was announced.`,
    );
  }
  const announced: readonly (readonly [name: string, found: unknown, expected: unknown])[] = [
    ["area", policy.area.digest, area.digest],
    ["targets", policy.targets.join(), terms.targets.join()],
    ["epsilon_per_km", policy.epsilonPerKm, terms.epsilonPerKm],
    ["null_epsilon", policy.nullEpsilon, terms.nullEpsilon],
    ["grade_epsilon", policy.gradeEpsilon, terms.gradeEpsilon],
    ["grades", policy.grades, gradesOf(terms)],
  ];
  for (const [name, found, expected] of announced) {
    if (found !== expected) {
      throw new NotPrivateError(
        `The server sent this phone something other than what it announced. ${NOT_TAKING_PART}`,
        `The policy is for ${name} = ${show(found)}, but ${show(expected)} was announced.`,
      );
    }
  }
  const certificate = certify(policy, terms.epsilonPerKm, progress);
  if (!certificate.ok) {
    throw new NotPrivateError(
      `This campaign does not protect your place as well as it announces. ${NOT_TAKING_PART}`,
      explain(certificate),
    );
  }
  return certificate;
}

async function readAnnouncedArea(terms: TermsFields): Promise<Area> {
  try {
    checkEpsilon("epsilon_per_km", terms.epsilonPerKm);
    if (terms.nullEpsilon !== null) checkEpsilon("null_epsilon", terms.nullEpsilon);
    if (terms.gradeEpsilon !== null) checkEpsilon("grade_epsilon", terms.gradeEpsilon);
    checkDelta(terms.delta);
    const area = await readArea(terms.area);
    checkTargets(terms.targets, area.cells);
    return area;
  } catch (error) {
    if (!(error instanceof CrowdveilError)) throw error;
    throw new CampaignRefused(`The campaign's announcement is not valid: ${error.message}`);
  }
}

function checkLosses(terms: TermsFields, limits: PrivacyLimits): void {
  const { epsilonPerKm, nullEpsilon, gradeEpsilon } = terms;
  if (epsilonPerKm > limits.epsilonPerKm) {
    throw new OutsideLimits(
      `This campaign could learn more about your place than your limit allows. ${NOT_TAKING_PART}`,
      `The campaign announces ε = ${general(epsilonPerKm, 6)} per km; this device accepts at most ` +
        `${general(limits.epsilonPerKm, 6)}.`,
    );
  }
  if (nullEpsilon === null) {
    if (limits.clearReports > 0) return;
    throw new OutsideLimits(
      "This campaign asks openly whether you regularly visit anywhere in its area. Your limits do not allow " +
        `that. ${NOT_TAKING_PART}`,
      "The campaign asks for NULL in the clear; this device accepts 0 reports in the clear.",
    );
  }
  if (nullEpsilon > limits.nullEpsilon) {
    throw new OutsideLimits(
      `This campaign could learn more about whether you are ever in this area than your limit allows. ${NOT_TAKING_PART}`,
      `The campaign announces ε₀ = ${general(nullEpsilon, 6)}; this device accepts at most ${general(limits.nullEpsilon, 6)}.`,
    );
  }
  const spread = gradeSpread(terms);
  if (gradeEpsilon !== null && spread > limits.gradeEpsilon * (1 + SPREAD_ROUNDING)) {
    throw new OutsideLimits(
      `This campaign could learn more about how regularly you visit a place than your limit allows. ${NOT_TAKING_PART}`,
      `The campaign announces ε₁ = ${general(gradeEpsilon, 6)} from each of ${gradesOf(terms)} grades to the next, ` +
        `${general(spread, 6)} in all; this device accepts at most ${general(limits.gradeEpsilon, 6)}.`,
    );
  }
}

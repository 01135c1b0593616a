"""Check a campaign's terms and its policy against the limits of a device's owner, before anything is drawn.

The server is not trusted. The terms are public and the same for all participants. The policy is compared with the
announcement, and both are compared with the limits. Distances are derived here from the announced area, whose centres
are checked against latitudes and longitudes. An area without them is refused, because inflated coordinates make any
policy look private.
"""

from __future__ import annotations

from crowdveil.area import Area
from crowdveil.certify import Certificate, certify
from crowdveil.errors import CampaignRefused, CrowdveilError, InputError, NotPrivateError, OutsideLimits
from crowdveil.limits.charge import ROUNDING
from crowdveil.limits.map_checks import NOT_TAKING_PART, check_map
from crowdveil.limits.privacy_limits import PrivacyLimits
from crowdveil.policy.checks import check_epsilon, check_grade_epsilon, check_null_epsilon, check_targets
from crowdveil.policy.policy import Policy
from crowdveil.wire import Announcement, Terms


def check_terms(terms: Terms, limits: PrivacyLimits) -> Area:
    """Check the terms against the limits for one report, and return their area; no policy and no place is needed."""
    try:
        area = _read_area(terms)
    except CrowdveilError as error:
        raise CampaignRefused(f"The campaign's announcement is not valid: {error}") from None
    _check_losses(terms, limits)
    least = min(terms.thresholds)
    if least < limits.delta:
        raise OutsideLimits(
            f"This campaign counts visits as regular that your phone cannot tell from chance. {NOT_TAKING_PART}",
            f"The campaign announces δ = {least:.6g} as its lowest threshold; this device accepts no less than "
            f"{limits.delta:.6g}.",
        )
    check_map(area, limits)
    return area


def check_policy(policy: Policy, announcement: Announcement, area: Area) -> Certificate:
    """Compare a policy with what was announced, then certify it, with the inputs for every grade and for outside."""
    terms, notice = announcement.terms, announcement.notice
    announced_hash = None if notice is None else notice.policy_hash
    if policy.hash != announced_hash:
        raise NotPrivateError(
            "The server sent this phone something other than what it announced to everyone, by which you could be "
            f"singled out. {NOT_TAKING_PART}",
            f"The policy has the hash {policy.hash}, but {announced_hash} was announced.",
        )
    announced = {
        "area": area,
        "targets": terms.targets,
        "epsilon_per_km": terms.epsilon_per_km,
        "null_epsilon": terms.null_epsilon,
        "grade_epsilon": terms.grade_epsilon,
        "grades": terms.grades,
    }
    for name, expected in announced.items():
        found = getattr(policy, name)
        if found != expected:
            raise NotPrivateError(
                f"The server sent this phone something other than what it announced. {NOT_TAKING_PART}",
                f"The policy is for {name} = {found!r}, but {expected!r} was announced.",
            )
    certificate = certify(policy, epsilon_per_km=terms.epsilon_per_km)
    if not certificate.ok:
        raise NotPrivateError(
            f"This campaign does not protect your place as well as it announces. {NOT_TAKING_PART}",
            certificate.explain(),
        )
    return certificate


def _read_area(terms: Terms) -> Area:
    check_epsilon(terms.epsilon_per_km)
    if terms.null_epsilon is not None:
        check_null_epsilon(terms.null_epsilon)
    if terms.grade_epsilon is not None:
        check_grade_epsilon(terms.grade_epsilon)
    if not terms.delta < 1:
        raise InputError("delta", terms.delta, "should be at least 0 and below 1")
    area = Area.from_description(terms.area)
    check_targets(list(terms.targets), len(area), all_cells=True)
    return area


def _check_losses(terms: Terms, limits: PrivacyLimits) -> None:
    if terms.epsilon_per_km > limits.epsilon_per_km:
        raise OutsideLimits(
            f"This campaign could learn more about your place than your limit allows. {NOT_TAKING_PART}",
            f"The campaign announces ε = {terms.epsilon_per_km:.6g} per km; this device accepts at most "
            f"{limits.epsilon_per_km:.6g}.",
        )
    if terms.null_epsilon is None:
        if limits.clear_reports == 0:
            raise OutsideLimits(
                "This campaign asks openly whether you regularly visit anywhere in its area. Your limits do not allow "
                f"that. {NOT_TAKING_PART}",
                "The campaign asks for NULL in the clear; this device accepts 0 reports in the clear.",
            )
        return
    if terms.null_epsilon > limits.null_epsilon:
        raise OutsideLimits(
            "This campaign could learn more about whether you are ever in this area than your limit allows. "
            f"{NOT_TAKING_PART}",
            f"The campaign announces ε₀ = {terms.null_epsilon:.6g}; this device accepts at most "
            f"{limits.null_epsilon:.6g}.",
        )
    if terms.grade_spread > limits.grade_epsilon * (1 + ROUNDING):
        raise OutsideLimits(
            "This campaign could learn more about how regularly you visit a place than your limit allows. "
            f"{NOT_TAKING_PART}",
            f"The campaign announces ε₁ = {terms.grade_epsilon:.6g} from each of {terms.grades} grades to the next, "
            f"{terms.grade_spread:.6g} in all; this device accepts at most {limits.grade_epsilon:.6g}.",
        )

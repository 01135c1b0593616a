"""Define the limits that a device's owner sets, and check every campaign against them before anything is drawn.

The server is not trusted. What it announces (area, targets, ε, the hash of the policy) is public and the same for all
participants. What it sends (the policy) is compared with the announcement, and both are compared with the limits.
Distances are derived here from the announced area, whose centres are checked against latitudes and longitudes. An area
without them is refused, because inflated coordinates make any policy look private.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf, isfinite

import numpy as np

from crowdveil.area import Area
from crowdveil.certify import Certificate, certify
from crowdveil.errors import CampaignRefused, CrowdveilError, InputError, NotPrivateError, OutsideLimits
from crowdveil.policy.checks import check_epsilon, check_null_epsilon, check_targets
from crowdveil.policy.policy import Policy
from crowdveil.profile.profile import check_delta
from crowdveil.vocabulary import DEFAULT_EPSILON_PER_KM
from crowdveil.wire import Announcement

NOT_TAKING_PART = "This phone does not take part."


@dataclass(frozen=True)
class PrivacyLimits:
    """What a device accepts at most, or at least; set by its owner, never by a campaign."""

    epsilon_per_km: float = DEFAULT_EPSILON_PER_KM
    """Largest loss in one campaign; by default a report is at most 4 times as likely from one place as from another
    1 km away."""
    lifetime_epsilon_per_km: float = 3 * DEFAULT_EPSILON_PER_KM
    """Largest sum of losses over all campaigns."""
    cell_km: float = 0.25
    """Smallest distance between neighbouring cells. Finer cells are a mistake in the units, or a map of houses."""
    gap_km: float = 5.0
    """Largest distance from a cell to its nearest neighbour: an isolated cell identifies its visitors."""
    min_cells: int = 16
    """Smallest number of cells in the area."""
    null_epsilon: float = inf
    """Largest loss ε₀ about having a frequent place at all. If infinite, a campaign may ask for NULL in the clear: the
    server then learns for certain who has a frequent place in the area and who has none."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            unlimited = limit.name == "null_epsilon" and value == inf
            if not number or not (value > 0 and (isfinite(value) or unlimited)):
                raise InputError(limit.name, value, "should be a finite number above 0")


def check_announcement(announcement: Announcement, limits: PrivacyLimits) -> Area:
    """Check what was announced against the limits, and return its area; neither policy nor place is needed yet."""
    try:
        epsilon = check_epsilon(announcement.epsilon_per_km)
        area = Area.from_description(announcement.area)
        check_targets(list(announcement.targets), len(area))
        check_delta(announcement.delta)
        null_epsilon = None if announcement.null_epsilon is None else check_null_epsilon(announcement.null_epsilon)
    except CrowdveilError as error:
        raise CampaignRefused(f"The campaign's announcement is not valid: {error}") from None
    if epsilon > limits.epsilon_per_km:
        raise OutsideLimits(
            f"This campaign could learn more about your place than your limit allows. {NOT_TAKING_PART}",
            f"The campaign announces ε = {epsilon:.6g} per km; this device accepts at most "
            f"{limits.epsilon_per_km:.6g}.",
        )
    if (inf if null_epsilon is None else null_epsilon) > limits.null_epsilon:
        announced = "asks for NULL in the clear" if null_epsilon is None else f"announces ε₀ = {null_epsilon:.6g}"
        raise OutsideLimits(
            "This campaign could learn more about whether you regularly visit anywhere in this area than your limit "
            f"allows. {NOT_TAKING_PART}",
            f"The campaign {announced}; this device accepts at most ε₀ = {limits.null_epsilon:.6g}.",
        )
    _check_area(area, limits)
    return area


def check_policy(policy: Policy, announcement: Announcement, area: Area) -> Certificate:
    """Compare a policy with what was announced, then certify it, including its row for NULL."""
    announced_hash = announcement.policy_hash
    if policy.hash != announced_hash:
        raise NotPrivateError(
            "The server sent this phone something other than what it announced to everyone, by which you could be "
            f"singled out. {NOT_TAKING_PART}",
            f"The policy has the hash {policy.hash}, but {announced_hash} was announced.",
        )
    announced = {
        "area": area,
        "targets": tuple(sorted(announcement.targets)),
        "epsilon_per_km": announcement.epsilon_per_km,
        "null_epsilon": announcement.null_epsilon,
    }
    for name, expected in announced.items():
        found = getattr(policy, name)
        if found != expected:
            raise NotPrivateError(
                f"The server sent this phone something other than what it announced. {NOT_TAKING_PART}",
                f"The policy is for {name} = {found!r}, but {expected!r} was announced.",
            )
    certificate = certify(policy, epsilon_per_km=announcement.epsilon_per_km)
    if not certificate.ok:
        raise NotPrivateError(
            f"This campaign does not protect your place as well as it announces. {NOT_TAKING_PART}",
            certificate.explain(),
        )
    return certificate


def _check_area(area: Area, limits: PrivacyLimits) -> None:
    if area.plane is None:
        raise CampaignRefused(
            "The campaign's map has no latitudes and longitudes, so this phone cannot check its distances. "
            f"{NOT_TAKING_PART}",
            f"The area is of kind {area.kind!r}; a Grid, Hexagons or Towers can be checked.",
        )
    if len(area) < limits.min_cells:
        raise OutsideLimits(
            f"The campaign's map has {len(area)} parts, too few to hide among; your limit is {limits.min_cells}. "
            f"{NOT_TAKING_PART}"
        )
    if area.nearest_neighbour_km < limits.cell_km:
        raise OutsideLimits(
            f"The campaign's map is finer than your limit allows. {NOT_TAKING_PART}",
            f"Neighbouring cells are {area.nearest_neighbour_km:.3f} km apart; this device accepts no less than "
            f"{limits.cell_km:g} km. Were metres given as kilometres?",
        )
    distance_m, _ = area.tree.query(area.xy_m, k=2)
    isolated = int(np.asarray(distance_m)[:, 1].argmax())
    apart_km = float(np.asarray(distance_m)[isolated, 1]) / 1000
    if apart_km > limits.gap_km:
        raise OutsideLimits(
            "One part of the campaign's map is so far from all others that an answer from there would identify you. "
            f"{NOT_TAKING_PART}",
            f"Cell {isolated} is {apart_km:.3g} km from its nearest neighbour; this device accepts at most "
            f"{limits.gap_km:g} km.",
        )

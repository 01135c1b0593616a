"""The device's own limits, and the one check that every campaign must pass before anything is drawn.

The server is not trusted. What it announces (area, targets, ε, the hash of the policy) is public and the same for all;
what it sends (the policy) is held against that, and both against the caps. Distances are derived here from the
announced area, whose centres are checked against latitudes and longitudes: an area without them is refused, because
inflated coordinates make any policy look private.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf, isfinite

import numpy as np

from crowdveil.area import Area
from crowdveil.certify import Certificate, certify
from crowdveil.errors import CampaignRefused, CrowdveilError, InputError, NotPrivateError
from crowdveil.policy.checks import check_epsilon, check_null_epsilon, check_targets
from crowdveil.policy.policy import Policy
from crowdveil.profile.profile import check_delta
from crowdveil.vocabulary import DEFAULT_EPSILON_PER_KM
from crowdveil.wire import Announcement


@dataclass(frozen=True)
class PrivacyLimits:
    """What a device accepts at most, or at least; set by its owner, never by a campaign."""

    epsilon_per_km: float = DEFAULT_EPSILON_PER_KM
    """Largest loss of one campaign: a reply is at most 4 times as likely from one place as from one 1 km away."""
    lifetime_epsilon_per_km: float = 3 * DEFAULT_EPSILON_PER_KM
    """Largest sum of losses over all campaigns."""
    cell_km: float = 0.25
    """Smallest distance of neighbouring cells. Finer cells are mistaken units, or a map of houses."""
    gap_km: float = 5.0
    """Largest distance of a cell to its nearest neighbour: a lone cell among gaps hides among nothing."""
    min_cells: int = 16
    """Fewest cells to be hidden among."""
    null_epsilon: float = inf
    """Largest loss ε₀ about having a frequent place at all. Infinite: a campaign may take NULL in the clear, by which
    the server learns for certain who has a frequent place in the area and who has none."""

    def __post_init__(self) -> None:
        for cap in fields(self):
            value = getattr(self, cap.name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            endless = cap.name == "null_epsilon" and value == inf
            if not number or not (value > 0 and (isfinite(value) or endless)):
                raise InputError(cap.name, value, "should be a finite number above 0")


@dataclass(frozen=True, eq=False)
class AnnouncedTerms:
    """What a campaign announces to everyone, as far as privacy depends on it; read and checked here."""

    area: Area
    targets: tuple[int, ...]
    epsilon_per_km: float
    null_epsilon: float | None = None
    """ε₀; None where NULL is said in the clear."""


def check_terms(info: Announcement, limits: PrivacyLimits) -> AnnouncedTerms:
    """Read what was announced and hold it against the caps; no policy is needed yet, nor any place."""
    try:
        epsilon = check_epsilon(info.epsilon_per_km)
        area = Area.from_description(info.area)
        cells = check_targets(list(info.targets), len(area))
        check_delta(info.delta)
        null_epsilon = None if info.null_epsilon is None else check_null_epsilon(info.null_epsilon)
    except CrowdveilError as error:
        raise CampaignRefused(f"the campaign's announcement makes no sense: {error}") from None
    if epsilon > limits.epsilon_per_km:
        raise CampaignRefused(
            f"the campaign announces ε = {epsilon:.6g} per km; this device accepts at most {limits.epsilon_per_km:.6g}"
        )
    if (inf if null_epsilon is None else null_epsilon) > limits.null_epsilon:
        announced = "takes NULL in the clear" if null_epsilon is None else f"announces ε₀ = {null_epsilon:.6g} for NULL"
        most = f"at most ε₀ = {limits.null_epsilon:.6g} about having a place at all"
        raise CampaignRefused(f"the campaign {announced}; this device accepts {most}")
    _check_area(area, limits)
    return AnnouncedTerms(area, cells, epsilon, null_epsilon)


def check_policy(policy: Policy, policy_hash: str, terms: AnnouncedTerms) -> Certificate:
    """Hold a policy against what was announced, then certify it, its row for NULL included."""
    if policy.hash != policy_hash:
        raise NotPrivateError(
            f"the policy has the hash {policy.hash[:12]}, but {policy_hash[:12]} was announced for everyone; "
            "who is shown another policy can be singled out"
        )
    for name in ("area", "targets", "epsilon_per_km", "null_epsilon"):
        announced, found = getattr(terms, name), getattr(policy, name)
        if announced != found:
            raise NotPrivateError(f"the policy is for {name} = {found!r}, but {announced!r} was announced")
    certificate = certify(policy, epsilon_per_km=terms.epsilon_per_km)
    if not certificate.ok:
        raise NotPrivateError(certificate.explain())
    return certificate


def _check_area(area: Area, limits: PrivacyLimits) -> None:
    if area.plane is None:
        raise CampaignRefused(
            f"an area of kind {area.kind!r} has no latitude and longitude: its distances cannot be checked against "
            "the ground; a Grid, Hexagons or Towers would do"
        )
    if len(area) < limits.min_cells:
        raise CampaignRefused(
            f"the area has {len(area)} cells; this device hides among no fewer than {limits.min_cells}"
        )
    if area.nearest_neighbour_km < limits.cell_km:
        raise CampaignRefused(
            f"neighbouring cells lie {area.nearest_neighbour_km:.3f} km apart; this device accepts no less than "
            f"{limits.cell_km:g} km (were metres meant as kilometres?)"
        )
    distance_m, _ = area.tree.query(area.xy_m, k=2)
    lone = int(np.asarray(distance_m)[:, 1].argmax())
    apart_km = float(np.asarray(distance_m)[lone, 1]) / 1000
    if apart_km > limits.gap_km:
        raise CampaignRefused(
            f"cell {lone} lies {apart_km:.3g} km from its nearest neighbour; this device accepts at most "
            f"{limits.gap_km:g} km, because a lone cell names its visitors"
        )

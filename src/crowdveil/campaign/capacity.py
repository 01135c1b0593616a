"""Say how many people each place of a panel can be given, and which places a panel should have where all are too many.

Everyone has one symbol to send, so the places of a panel share the reports: with *capacity* θ_t, the chance that a
regular visitor of t sends its symbol, N Σ_i q_i P(s_t | i) people are expected to send it. Where people outside are
protected at ε₀, the capacities of all places add up to at most e^ε₀, because even someone outside may send each symbol
(`panel_policy`). So many places, at a small ε₀, leave little capacity to each: then a list of places serves better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crowdveil.campaign.groups import groups_of, symbols_of
from crowdveil.campaign.next_policy import next_policy
from crowdveil.campaign.plan import Plan
from crowdveil.campaign.quota import people_to_come, reporting_share
from crowdveil.campaign.request import check_count
from crowdveil.campaign.state import State, begin
from crowdveil.errors import InputError
from crowdveil.policy.policy import Policy
from crowdveil.policy.solver.stack import max_places


@dataclass(frozen=True)
class PlaceCapacity:
    """How many people send the symbol of a place, and how many of these come there."""

    place: int
    """The cell."""
    senders: float
    """How many have sent its symbol, or are expected to: beyond these, people are less likely to come."""
    visitors: float
    """How many of them are expected to come there."""


def place_capacities(state: State) -> tuple[PlaceCapacity, ...]:
    """Compute the capacity of each place of a panel or campaign, in the order of the plan's targets.

    Reports that are in are counted; of those to come, under the open round's policy, as many are expected as the
    estimate of π says.
    """
    plan = state.plan
    policies = [state.closed[number].policy for number in state.used_rounds]
    sizes = [state.closed[number].counts.astype(np.float64) for number in state.used_rounds]
    if state.open_policy is not None:
        policies.append(state.open_policy)
        shares = state.open_policy.input_prior(state.prior, state.null_share) @ state.open_policy.table()
        reporting = reporting_share(state) if plan.null_epsilon is None else 1.0
        sizes.append(people_to_come(state) * reporting * shares)
    if not policies:
        raise InputError("state", "no round was opened", "should have an open or a closed round")
    groups = groups_of(policies, state.prior, plan.targets, state.null_share, plan.grade_chances)
    found = []
    for position, place in enumerate(plan.targets):
        senders = visitors = 0.0
        for begins, policy, counts in zip(groups.begin.tolist(), policies, sizes, strict=False):
            for symbol in symbols_of(policy, place):
                senders += float(counts[symbol])
                visitors += float(counts[symbol] * groups.at[begins + symbol, position])
        found.append(PlaceCapacity(place, senders, visitors))
    return tuple(found)


@dataclass(frozen=True)
class PlacesAdvice:
    """Which places a panel should have, and what they gain beside all that were asked for."""

    places: tuple[int, ...]
    """The cells, the busiest first; all that were asked for where these are not too many."""
    senders: float
    """How many people are expected to send the symbol of the place that has the fewest."""
    least_capacity: float
    """The chance that a regular visitor sends the symbol of their place, at the place where it is the least."""
    all_senders: float | None
    """The same two with all places that were asked for; None where a policy can't have symbols for so many."""
    all_capacity: float | None
    advice: str | None
    """What would help, where in no list every place is expected to have as many senders as wanted."""

    @property
    def shorter(self) -> bool:
        """Whether fewer places are advised than were asked for."""
        return self.all_senders is None or self.senders > self.all_senders

    @property
    def enough(self) -> bool:
        """Whether every place that is advised is expected to have as many senders as wanted."""
        return self.advice is None


def advise_places(plan: Plan, wanted: int) -> PlacesAdvice:
    """Recommend the places of a panel: as many of the plan's as can each be given so many people by their own symbol.

    Lists of the busiest places under the plan's start are tried, from all of them, or as many as a policy can have
    symbols for, each half as long as the one before; the longest is taken in which every place is expected to have
    `wanted` senders. If there is none, it is the list, of those tried, whose least place has the most.
    """
    check_count("wanted", wanted)
    if not plan.panel:
        raise InputError("plan", "no panel", "should be a panel, whose places are to be chosen")
    state = begin(plan)
    busiest = sorted(plan.targets, key=lambda place: (-state.cell_prior[place], place))
    tried: list[tuple[float, float, tuple[int, ...]]] = []
    fit = max_places(len(plan.area), plan.grades, protected=plan.null_epsilon is not None)
    all_fit = len(busiest) <= fit
    length = max(1, min(len(busiest), fit))
    while length:
        places = tuple(busiest[:length])
        part = replace(plan, targets=places, target_names=None)
        policy = next_policy(begin(part))
        senders = _senders(state, policy)
        tried.append((senders, float(policy.provenance["least_capacity"]), places))
        if senders >= wanted:
            break
        length //= 2
    senders, capacity, places = max(tried)  # where the last has enough, all before it have fewer
    advice = None
    if senders < wanted:
        advice = (
            f"No list of places is short enough: of the {len(places):,} busiest, the least is expected to have "
            f"{senders:.1f} senders, and {wanted:,} are wanted. More people, a larger ε or larger cells would help."
        )
    all_senders, all_capacity = (tried[0][0], tried[0][1]) if all_fit else (None, None)
    return PlacesAdvice(places, senders, capacity, all_senders, all_capacity, advice)


def _senders(state: State, policy: Policy) -> float:
    """Return how many people are expected to send the symbol of the place that has the fewest."""
    shares = policy.input_prior(state.prior, state.null_share) @ policy.table()
    return state.plan.users * float(shares[: len(policy.targets)].min())

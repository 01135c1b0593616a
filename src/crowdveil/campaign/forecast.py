"""Forecast how many people will come to each place, before the start, while a campaign runs and at its end.

Of each group of reports (`groups`) the size is known, for closed rounds, or not yet: each of the m people still to come
is in the group of symbol s with the probability Σ_i π_i P(s | i), under the open round's policy, so that the sizes are
multinomial. Given sizes, people are selected as in the end, by the same assignment (`selection`). With y_g selected of
group g and c_(g,t) their chance of coming to t,

    E_t  =  Σ_g y_g c_(g,t)        people are expected at t, with the variance  V_t  =  Σ_g y_g c_(g,t) (1 - c_(g,t)),

as people come independently of each other. Everyone who is selected counts, whichever place they are selected for: a
person counts where they come.

**Sizes vary, and that costs visitors.** Where 3 people are wanted at a place and 3 are expected to send its symbol, in
every second crowd fewer do, and others with a lower chance fill up; a surplus in the next crowd makes up for nothing.
So selecting from the expected sizes would promise too much, by a fifth in this case. The forecast draws some hundred
crowds instead, selects from each, and takes the mean of E_t; the variance of the visitors is the mean of V_t plus the
variance of E_t. The draws are those of a fixed seed: the same state has the same forecast.

**Intervals** have whole people at both ends: at least 95 % of the probability lies between them, at most 2.5 % on
either side. They are those of the distribution of counts with this mean and variance: binomial where the variance is
below the mean, negative binomial where it is above. They do not include that the estimate of π may be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.campaign.groups import Groups, assign_crowds_of_groups, groups_of
from crowdveil.campaign.quota import people_to_come, reporting_share
from crowdveil.campaign.request import SelectionRequest
from crowdveil.campaign.state import State, check_places
from crowdveil.errors import InputError

MIN_CROWDS, MAX_CROWDS = 64, 1000
"""How many crowds are drawn at least and at most."""
CROWDS_TIMES_PAIRS = 500_000
"""Between these, as many as make this number together with the pairs of groups and places, which take the time."""
TAIL = 0.025
"""The probability that may lie on either side of an interval."""


@dataclass(frozen=True)
class Expected:
    """How many people are expected to come, with a 95 % interval in whole people."""

    people: float
    low: int
    high: int


@dataclass(frozen=True)
class PlaceForecast:
    """What to expect at one place."""

    wanted: int | None
    """How many people are to be selected for it; None where people are wanted at any target."""
    selected: float
    """How many are expected to be selected for it."""
    by_symbol: float
    """How many of these by the symbol that selects for it; the others fill up."""
    visitors: Expected
    """How many of all who are selected are expected to come."""
    possible: float
    """How many of everybody who is invited are expected to come: no selection can have more visitors."""


@dataclass(frozen=True)
class Forecast:
    """What to expect of a campaign, in all and at each place, in the order of the plan's targets."""

    places: tuple[PlaceForecast, ...]
    selected: float
    """How many people are expected to be selected."""
    visitors: Expected
    """How many of them are expected to come to a target."""

    @property
    def filled(self) -> float:
        """How many of the selected are expected to fill up, because too few send the symbol of their place."""
        return self.selected - sum(place.by_symbol for place in self.places)

    @property
    def coverage(self) -> float:
        """The share of the selected who are expected at a target."""
        return min(1.0, self.visitors.people / self.selected) if self.selected else 0.0


def forecast(state: State, request: SelectionRequest | None = None, *, to_come: int | None = None) -> Forecast:
    """Forecast a selection from a campaign with an open round, or one that has closed rounds.

    `request` is what is asked of a panel (default: what the plan asks for). `to_come` says how many people have still
    to report (default: all of the plan's users who have not); they are expected to report under the policy of the open
    round, or of the last one.
    """
    plan = state.plan
    request = plan.request if request is None else request
    check_places(plan, request)
    last = state.open_policy or (state.policies[-1] if state.closed else None)
    if last is None:
        raise InputError("state", "no round was opened", "should have an open or a closed round")
    coming = people_to_come(state) if to_come is None else to_come
    if plan.null_epsilon is None:
        coming = round(reporting_share(state) * coming)
    policies = [*state.policies, last]
    groups = groups_of(policies, state.prior, request.targets, state.null_share, plan.grade_chances)
    shares = last.input_prior(state.prior, state.null_share) @ last.table()
    used = state.used_rounds
    closed = [one.counts if number in used else 0 * one.counts for number, one in enumerate(state.closed)]
    known = np.concatenate([*closed, np.zeros(len(shares), dtype=np.int64)])
    coming_shares = np.concatenate([np.zeros(len(known) - len(shares)), shares])
    inside = np.atleast_2d(state.prior)[:, list(request.targets)]
    possible = plan.users * reporting_share(state) * (np.array(plan.grade_chances) @ inside)
    return forecast_groups(groups, _crowds(known, coming_shares, coming, len(request.targets)), request, possible)


def _crowds(known: IntArray, shares: FloatArray, to_come: int, places: int) -> IntArray:
    """Draw the sizes of all groups, shape (crowds, groups); once nobody is to come, there is one crowd."""
    if not to_come:
        return known[None, :]
    generator = np.random.default_rng(0)
    number = min(MAX_CROWDS, max(MIN_CROWDS, CROWDS_TIMES_PAIRS // (len(known) * places)))
    drawn = generator.multinomial(to_come, np.append(shares, max(0.0, 1 - shares.sum())), size=number)
    return np.asarray(known + drawn[:, :-1])


def forecast_groups(groups: Groups, crowds: IntArray, request: SelectionRequest, possible: FloatArray) -> Forecast:
    """Forecast the mean over crowds, each a row with the sizes of all groups."""
    come = np.column_stack([groups.at, groups.at_any])
    likeliest = np.eye(groups.at.shape[1])[groups.likeliest]
    if request.numbers is None:
        taken = best_first(groups, crowds, request.wanted)
        selected, by_symbol = taken @ likeliest, taken @ (likeliest * groups.names)
    else:
        assigned = assign_crowds_of_groups(groups, groups.at, crowds, request.numbers)
        taken, selected = assigned.sum(axis=2), assigned.sum(axis=1)
        by_symbol = np.einsum("cgp,gp->cp", assigned, groups.names)
    means, variances = taken @ come, taken @ (come * (1 - come))
    spread = variances.mean(axis=0) + means.var(axis=0)
    expected = [expected_people(float(m), float(v)) for m, v in zip(means.mean(axis=0), spread, strict=True)]
    places = tuple(
        PlaceForecast(
            wanted=None if request.numbers is None else request.numbers[place],
            selected=float(selected[:, place].mean()),
            by_symbol=float(by_symbol[:, place].mean()),
            visitors=expected[place],
            possible=float(possible[place]),
        )
        for place in range(len(request.targets))
    )
    return Forecast(places, float(selected.sum(axis=1).mean()), expected[-1])


def best_first(groups: Groups, crowds: IntArray, wanted: int) -> IntArray:
    """Take the best groups of each crowd until enough people are found: what `assign` does for a single place."""
    first = groups.best_first
    sizes = crowds[:, first]
    before = np.cumsum(sizes, axis=1) - sizes
    taken = np.zeros_like(crowds)
    taken[:, first] = np.clip(wanted - before, 0, sizes)
    return taken


def expected_people(mean: float, variance: float) -> Expected:
    """Give the 95 % interval of a number of people with this mean and variance."""
    below = at_most(mean, variance)
    return Expected(mean, int((below <= TAIL).sum()), int((below < 1 - TAIL).sum()))


def at_most(mean: float, variance: float) -> FloatArray:
    """Give the probability of at most 0, 1, 2 ... people, where so many are expected, with this variance.

    It ends where the probability of more people does not matter.
    """
    if mean <= 0:
        return np.ones(1)
    counts = np.arange(int(mean + 10 * variance**0.5) + 20)
    if variance < mean * (1 - 1e-9):
        chance = 1 - variance / mean
        people = mean / chance
        inside = scipy.special.betainc(np.maximum(people - counts, 1e-300), counts + 1, 1 - chance)
        return np.where(counts < people, inside, 1.0)
    if variance > mean * (1 + 1e-9):
        chance = mean / variance
        return np.asarray(scipy.special.betainc(mean * chance / (1 - chance), counts + 1, chance))
    return np.asarray(scipy.special.gammaincc(counts + 1, mean))


def expected_coverage(state: State) -> float:
    """Compute the share of those who will be selected who are expected at a target, under the estimate of π.

    With grades a visitor counts with the chance of their grade. It is 0 before the first policy is made.
    """
    return forecast(state).coverage if state.closed or state.open_policy is not None else 0.0

"""Predict a campaign before anybody reports, with intervals that hold although the prior is a guess.

`forecast` takes the estimate of where people are as true. `predict` does not: it draws crowds that agree with what the
operator knows (`knowledge`), lets each of them report under the policy that will be published, estimates π from these
reports as the server will, selects from them as the server will, and counts how many of those who are selected would
come, in truth. The result is a mixture: over crowds, and in each over who comes by chance, as in `forecast`.

So the intervals include that people are elsewhere than was thought, that fewer of them are regular, that the estimate
is made from few reports, that symbols are drawn, and that people come by chance.

**What is approximated.** Each crowd reports once. A panel, which needs no design, does just that, and so does a
campaign of one round. A campaign of several rounds publishes a policy for each, made from the reports of the earlier
ones. To design them anew for every crowd would take too long, and the policy of the first round alone, made for a
guess, promises too little; so the panel over its targets stands in for all of its policies: it knows as little
beforehand, and learns from as many reports. The estimate does not try the rougher assumptions that `pooled_estimate`
tries with thousands of reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.campaign.forecast import TAIL, at_most, best_first
from crowdveil.campaign.groups import Groups, assign_groups, groups_of
from crowdveil.campaign.knowledge import Knowledge, PossibleCrowd, possible_crowds
from crowdveil.campaign.next_policy import next_policy
from crowdveil.campaign.plan import Plan
from crowdveil.campaign.preview import preview_policy
from crowdveil.campaign.request import SelectionRequest
from crowdveil.campaign.state import begin, check_places
from crowdveil.policy.policy import Policy
from crowdveil.prior import PriorEstimate, estimates_of_crowds

DEFAULT_CROWDS = 100
"""How many crowds are drawn."""


@dataclass(frozen=True)
class LikelyRange:
    """What is expected in the middle, and between which values 95 % of the probability lies."""

    low: float
    middle: float
    """The median: as probably more as less."""
    high: float
    mean: float


@dataclass(frozen=True)
class Prediction:
    """What to expect of a selection, though nobody knows where people are."""

    selected: LikelyRange
    """How many people will be selected."""
    visitors: LikelyRange
    """How many of them will come to a target."""
    coverage: LikelyRange
    """The share of the selected who will come to a target."""
    places: tuple[LikelyRange, ...]
    """How many of all who are selected will come to each target, in the order of the request."""
    possible: tuple[LikelyRange, ...]
    """How many of everybody who answers would come to each target: no selection can have more."""
    enough: tuple[float, ...]
    """For each target, the probability that enough people come."""


@dataclass(frozen=True, eq=False)
class PossibleCampaigns:
    """A plan, the crowds that may answer it, and what each of them would send and teach."""

    plan: Plan
    policy: Policy
    crowds: tuple[PossibleCrowd, ...]
    counts: IntArray
    """How often each crowd sends each symbol: shape (crowds, symbols)."""
    estimates: tuple[PriorEstimate, ...]
    """What the server estimates from these reports."""


def possible_campaigns(
    plan: Plan,
    known: Knowledge | None = None,
    request: SelectionRequest | None = None,
    *,
    crowds: int = DEFAULT_CROWDS,
    seed: int = 0,
    policy: Policy | None = None,
    places: tuple[int, ...] | None = None,
) -> PossibleCampaigns:
    """Draw crowds that agree with what is known, and let each of them report; `predict` selects from them.

    `request` matters here only for a panel over most of its area: it says which places are asked for. `policy` is the
    one to be published, where it was made before. `places` are those that people report rather than others (default:
    the plan's, or those asked for), for plans that are compared on the same crowds.
    """
    known = Knowledge() if known is None else known
    policy = _policy(plan) if policy is None else policy
    generator = np.random.default_rng(seed)
    asked = plan.targets if request is None or 2 * len(plan.targets) < len(plan.area) else request.targets
    drawn = possible_crowds(plan, known, asked if places is None else places, crowds, generator)
    answering = round(known.answering * plan.users)
    table = policy.table()
    counts = np.array([_sent(one, policy, table, answering, generator) for one in drawn])
    return PossibleCampaigns(plan, policy, drawn, counts, estimates_of_crowds(policy, counts, plan.opening))


def _policy(plan: Plan) -> Policy:
    """Return the policy of a panel, that of the only round, or the panel that stands in for those of several rounds."""
    if not plan.panel and (plan.rounds == 1 or plan.algorithm == "algorithm-2"):
        return preview_policy(plan)
    return next_policy(begin(replace(plan, panel=True, wanted=0, numbers=None)))


def _sent(
    crowd: PossibleCrowd, policy: Policy, table: FloatArray, answering: int, generator: np.random.Generator
) -> IntArray:
    """Draw how often a crowd sends each symbol; who is outside sends none in the clear form."""
    shares = _inputs(crowd, policy) @ table
    return np.asarray(generator.multinomial(answering, np.append(shares, max(0.0, 1 - shares.sum())))[:-1])


def _inputs(crowd: PossibleCrowd, policy: Policy) -> FloatArray:
    """Return the share of all people with each input of the policy; in the clear form they do not add up to 1."""
    inside = (1 - crowd.null_share) * crowd.prior.ravel()
    return inside if policy.null_epsilon is None else np.append(inside, crowd.null_share)


def predict(
    campaigns: PossibleCampaigns, request: SelectionRequest | None = None, *, at_least: Sequence[int] | None = None
) -> Prediction:
    """Predict a selection: what each possible crowd would give, mixed.

    `request` is what is asked of a panel (default: what the plan asks for); `at_least` says how many people are enough
    at each target (default: as many as are wanted there, or 1).

    >>> import math
    >>> import crowdveil as cv
    >>> area = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=2.0)
    >>> panel = cv.Plan(area, (7, 12), math.log(4), 300, rounds=1, panel=True)
    >>> campaigns = cv.possible_campaigns(panel, cv.Knowledge(regular_share=0.4), crowds=20)
    >>> told = predict(campaigns, cv.SelectionRequest((7,), 10))
    >>> 0 <= told.coverage.low < told.coverage.middle < told.coverage.high <= 1
    True
    """
    plan, policy = campaigns.plan, campaigns.policy
    request = plan.request if request is None else request
    check_places(plan, request)
    table = policy.table()
    means, variances, selected, possible = [], [], [], []
    for crowd, sizes, estimate in zip(campaigns.crowds, campaigns.counts, campaigns.estimates, strict=True):
        groups = groups_of([policy], estimate.prior, request.targets, estimate.null_share, plan.grade_chances)
        taken = _taken(groups, sizes, request)
        inputs = _inputs(crowd, policy)
        coming = crowd.coming(request.targets)[: len(inputs)]
        sent = inputs @ table
        chances = table.T @ (inputs[:, None] * coming)
        chances = np.divide(chances, sent[:, None], out=np.zeros_like(chances), where=sent[:, None] > 0)
        means.append(taken @ chances)
        variances.append(taken @ (chances * (1 - chances)))
        selected.append(int(taken.sum()))
        possible.append((sizes @ chances)[:-1])
    wanted = request.numbers or (1,) * len(request.targets)
    enough = tuple(wanted if at_least is None else at_least)
    return _mix(enough, np.array(means), np.array(variances), np.array(selected), np.array(possible))


def _taken(groups: Groups, sizes: IntArray, request: SelectionRequest) -> IntArray:
    """Return how many of each group are selected, for whichever place."""
    if request.numbers is None:
        return np.asarray(best_first(groups, sizes[None, :], request.wanted)[0])
    return np.asarray(assign_groups(groups, groups.at, sizes, request.numbers).sum(axis=1))


def _mix(
    enough: tuple[int, ...], means: FloatArray, variances: FloatArray, selected: IntArray, possible: FloatArray
) -> Prediction:
    places = len(enough)
    counted = [[_counts(m, v) for m, v in zip(means[:, t], variances[:, t], strict=True)] for t in range(places + 1)]
    shares = [
        (np.minimum(counts, people) / max(people, 1), chances)
        for (counts, chances), people in zip(counted[-1], selected.tolist(), strict=True)
    ]
    return Prediction(
        selected=_interval([(np.array([float(people)]), np.ones(1)) for people in selected.tolist()]),
        visitors=_interval(counted[-1]),
        coverage=_interval(shares),
        places=tuple(_interval(one) for one in counted[:-1]),
        possible=tuple(
            _interval([(np.array([people]), np.ones(1)) for people in possible[:, t]]) for t in range(places)
        ),
        enough=tuple(
            float(np.mean([chances[counts >= enough[t]].sum() for counts, chances in counted[t]]))
            for t in range(places)
        ),
    )


def _counts(mean: float, variance: float) -> tuple[FloatArray, FloatArray]:
    """Return numbers of people and their probabilities."""
    below = at_most(float(mean), float(variance))
    below[-1] = 1.0
    return np.arange(len(below), dtype=np.float64), np.diff(below, prepend=0.0)


def _interval(parts: list[tuple[FloatArray, FloatArray]]) -> LikelyRange:
    """Return the interval of a mixture of equal parts, each with some values and their probabilities.

    At least 95 % lie between both ends, the ends included, and at most 2.5 % on either side.
    """
    values = np.concatenate([one for one, _ in parts])
    chances = np.concatenate([one for _, one in parts]) / len(parts)
    order = np.argsort(values, kind="stable")
    below = np.cumsum(chances[order])
    ends = [order[int((below < at).sum())] for at in (TAIL, 0.5, 1 - TAIL)]
    low, middle, high = (float(values[one]) for one in ends)
    return LikelyRange(low, middle, high, float(values @ chances))

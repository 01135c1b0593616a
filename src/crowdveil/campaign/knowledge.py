"""Define what an operator knows of the people before anybody reports, and draw crowds that may turn out to be there.

Before the first report the prior is a guess. A forecast that takes it as true is sure of what nobody knows. So crowds
are drawn that would all agree with what is known, more different from each other the less that is. A crowd is

    π      where people's places are, at which grade; joint, of shape (grades, n)
    ν      the share of people outside
    w      the chance that a visitor of each grade comes
    κ      how often people come to places that are not theirs

**Where.** As in prior/log_gaussian.py, ln π is Gaussian around the logarithm of what is known, with a smooth part,
which neighbours share, and a rough part of each cell. Here its standard deviation σ, the length λ over which
neighbours are alike and the share of the rough part are unknown too, and drawn from `SPREAD`, `LENGTHS_CELLS` and
`ROUGH_SHARE`. The places of the plan are not like other cells. An operator asks for places where people are, and
devices prefer to report them: the logarithm of their shares is raised, by an amount that is drawn as well (`RAISED`).

**How regularly.** Of all who have a place, a share is regular; of the others a share has the next grade, and so on.
The logit of each is Gaussian: around what is known with the deviation `KNOWN_SHARE`, or around values that cover taxi
cabs, nine in ten of which are regular, and check-ins, where three in a hundred are (`REGULAR`, `NEXT_GRADE`,
`OUTSIDE`).

**Who comes.** The logit of w is Gaussian around that of the plan's chances, less certain for rarer visitors. People
also come to places of others: to a place with the share p comes 1 - (1-p)^κ of all others, more of the regular and
fewer of the rare, in proportion to √w. κ is near `PASSING` in towns, and far above where people cover the whole area
every day, as drivers do (`ROAMING`); operators know which, and may say so.

The widths are round numbers that cover what was measured on New York, Gowalla, San Francisco and a synthetic city
(docs/explanations/campaigns.md); how well the intervals hold is measured by `python -m benchmarks.planning`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy

from crowdveil.arrays import FloatArray, as_floats, frozen
from crowdveil.campaign.plan import Plan
from crowdveil.campaign.request import check_count
from crowdveil.campaign.state import State
from crowdveil.errors import InputError
from crowdveil.prior.log_gaussian import GRADE_CORRELATION, Smoothness, cell_factor, spacing_km

KnownFrom = Literal["nothing", "population", "prior", "reports"]
"""Where the operator's knowledge of where people are comes from."""

SPREAD: dict[KnownFrom, tuple[float, float]] = {
    "nothing": (0.8, 2.2),
    "population": (0.3, 1.2),
    "prior": (0.1, 0.6),
    "reports": (0.1, 0.3),
}
"""σ: between which values the standard deviation of the logarithms of shares lies."""
LENGTHS_CELLS = (1.0, 2.0, 4.0, 8.0)
"""λ: over how many cells neighbours are alike; one of these."""
ROUGH_SHARE = (0.2, 0.8)
"""Between which values the share of σ² lies that belongs to each cell alone."""
RAISED: dict[KnownFrom, tuple[float, float]] = {
    "nothing": (2.0, 1.3),
    "population": (0.7, 0.6),
    "prior": (0.0, 0.0),
    "reports": (2.0, 1.3),
}
"""By how much the logarithm of the share of the plan's places is raised: mean and standard deviation. With an estimate
from reports only by the part that these left unknown: estimates from few reports are flatter than the truth."""
TOLD_BY_A_REPORT = 0.03
"""Of where people are a private report tells as much as this part of a report in the clear, in round numbers."""
UNKNOWN_VARIANCE = 2.0
"""Variance of the logarithms of shares of which no report told anything."""
FLOOR = 0.02
"""So many of all people are assumed to be anywhere, whatever is known: a count of 0 is never certain."""

REGULAR, NEXT_GRADE, OUTSIDE = (-0.6, 1.6), (-0.8, 0.9), (-3.0, 1.2)
"""Mean and standard deviation of the logits of shares that nobody knows."""
KNOWN_SHARE = 0.3
"""Standard deviation of the logit of a share that the operator gives, or that is part of a prior."""
PASSING, ROAMING = (-0.7, 0.8), (4.5, 1.5)
"""Mean and standard deviation of ln κ: of people in a town, and of people who cover the whole area."""
ROAMING_CHANCE = 0.2
"""How probable the second is, where the operator does not say."""
COMMON, RARER = 0.2, 0.7
"""Standard deviation of the logit of w: for a certain visitor, and how much more for one who never comes."""
MAX_PASSING = 0.95


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What an operator knows of the people before anybody reports."""

    shape: FloatArray | None = None
    """Where people are: one number for each cell, or of shape (grades, n), in any unit; None: nothing is known."""
    known_from: KnownFrom | None = None
    """A count of inhabitants or visitors by cell, a prior of the places that devices report, or the estimate of an
    earlier panel, with `reports`; None: `prior` if there is a shape, else `nothing`."""
    reports: int | None = None
    """From how many reports the shape was estimated."""
    regular_share: float | None = None
    """Of the people who have a place in the area, the share who come to it regularly; None: not known."""
    outside_share: float | None = None
    """The share of those invited who have no place in the area; None: not known."""
    answering: float = 1.0
    """The share of those invited who answer."""
    roaming: bool | None = None
    """Whether people cover the whole area every day, as drivers and couriers do; None: not known, perhaps."""

    def __post_init__(self) -> None:
        kind = self.known_from or ("nothing" if self.shape is None else "prior")
        if kind not in get_args(KnownFrom):
            raise InputError("known_from", kind, f"should be one of {', '.join(get_args(KnownFrom))}")
        if (kind == "nothing") != (self.shape is None):
            expected = "should be nothing if and only if no shape is given"
            raise InputError("known_from", kind, expected)
        object.__setattr__(self, "known_from", kind)
        if self.shape is not None:
            shape = as_floats("shape", self.shape)
            wrong = shape[~(np.isfinite(shape) & (shape >= 0))]
            if len(wrong) or not shape.any():
                shown = float(wrong[0]) if len(wrong) else 0.0
                raise InputError("shape", shown, "should be numbers of 0 or more, not all 0")
            object.__setattr__(self, "shape", frozen(shape))
        if (kind == "reports") != (self.reports is not None):
            raise InputError("reports", self.reports, "should be given if and only if known_from is reports")
        if self.reports is not None:
            check_count("reports", self.reports)
        for name in ("regular_share", "outside_share"):
            share = getattr(self, name)
            if share is not None and not 0 <= share <= 1:
                raise InputError(name, share, "should be a share from 0 to 1")
        if not 0 < self.answering <= 1:
            raise InputError("answering", self.answering, "should be a share above 0, at most 1")

    @classmethod
    def from_state(cls, state: State) -> Knowledge:
        """Return what a campaign or panel with closed rounds has taught: where, how regularly, who is outside."""
        reports = sum(state.closed[number].reports for number in state.used_rounds)
        if not reports:
            raise InputError("state", "no reports", "should have a closed round with reports")
        outside = None if state.plan.null_epsilon is None else state.null_share
        return cls(state.prior, "reports", reports, outside_share=outside)

    @property
    def source(self) -> KnownFrom:
        """Where the knowledge of where people are comes from."""
        return self.known_from or "nothing"


@dataclass(frozen=True, eq=False)
class PossibleCrowd:
    """A crowd that may turn out to be there."""

    prior: FloatArray
    """π, joint over grades and cells: of shape (grades, n)."""
    null_share: float
    """ν: the share of people outside, or in the clear form without a frequent place."""
    grade_chances: FloatArray
    """w: the chance that a visitor of each grade comes."""
    passing: float
    """κ: how often people come to places that are not theirs."""

    def coming(self, targets: tuple[int, ...]) -> FloatArray:
        """Return the chances that people with each input come to each target, and in the last column to any of them.

        Inputs are cells at every grade, then outside; those outside come nowhere.
        """
        grades, n = self.prior.shape
        shares = (1 - self.null_share) * self.prior.sum(axis=0)[list(targets)]
        passing = -np.expm1(self.passing * np.log1p(-np.minimum(shares, 1 - 1e-9)))
        by_grade = np.sqrt(self.grade_chances)
        by_grade = by_grade / float(self.prior.sum(axis=1) @ by_grade)
        found = np.zeros((grades * n + 1, len(targets) + 1))
        for grade, more in enumerate(by_grade.tolist()):
            found[grade * n : (grade + 1) * n, :-1] = np.minimum(MAX_PASSING, more * passing)
            found[grade * n + np.array(targets), np.arange(len(targets))] = self.grade_chances[grade]
        found[:, -1] = 1 - np.prod(1 - found[:, :-1], axis=1)
        return found


def possible_crowds(
    plan: Plan, known: Knowledge, places: tuple[int, ...], number: int, generator: np.random.Generator
) -> tuple[PossibleCrowd, ...]:
    """Draw crowds that agree with what is known; `places` are those that the operator asks for."""
    n, kind = len(plan.area), known.source
    shape = _shape(plan, known)
    unlearned = _unlearned(known, shape)
    factors = [cell_factor(plan.area, spacing_km(plan.area), Smoothness(one, 1.0, 0.0)) for one in LENGTHS_CELLS]
    between = np.linalg.cholesky(
        np.full((plan.grades, plan.grades), GRADE_CORRELATION) + (1 - GRADE_CORRELATION) * np.eye(plan.grades)
    )
    crowds = []
    for _ in range(number):
        sigma = generator.uniform(*SPREAD[kind])
        rough = generator.uniform(*ROUGH_SHARE)
        root = factors[int(generator.integers(len(factors)))]
        smooth = generator.standard_normal((plan.grades, root.shape[1])) @ root.T
        field = np.sqrt(1 - rough) * smooth + np.sqrt(rough) * generator.standard_normal((plan.grades, n))
        log_shares = np.log(shape) + _deviation(known, shape, sigma) * (between @ field)
        mean, deviation = RAISED[kind]
        raised = mean + deviation * generator.standard_normal()
        if len(places) < n:
            log_shares[:, list(places)] += raised * unlearned[:, list(places)]
        prior = np.exp(log_shares - log_shares.max(axis=1, keepdims=True))
        prior /= prior.sum(axis=1, keepdims=True)
        grades, outside = _levels(plan, known, generator)
        passing = ROAMING if _roams(known, generator) else PASSING
        logits = scipy.special.logit(np.clip(plan.grade_chances, 1e-6, 1 - 1e-6))
        unsure = COMMON + RARER * (1 - np.array(plan.grade_chances)) ** 4
        crowds.append(
            PossibleCrowd(
                frozen(grades[:, None] * prior),
                outside,
                frozen(scipy.special.expit(logits + unsure * generator.standard_normal(plan.grades))),
                float(np.exp(passing[0] + passing[1] * generator.standard_normal())),
            )
        )
    return tuple(crowds)


def _shape(plan: Plan, known: Knowledge) -> FloatArray:
    """Return the shares of cells at every grade as they are known, none of them 0; each grade sums to 1."""
    n = len(plan.area)
    if known.shape is None:
        return np.full((plan.grades, n), 1 / n)
    given = np.atleast_2d(known.shape)
    if given.shape[1] != n or len(given) not in (1, plan.grades):
        expected = f"should be of shape ({n},) or ({plan.grades}, {n}): cells, or grades and cells"
        raise InputError("shape", f"shape {known.shape.shape}", expected)
    both = np.broadcast_to(given, (plan.grades, n))
    sums = both.sum(axis=1, keepdims=True)
    shares = np.divide(both, sums, out=np.full((plan.grades, n), 1 / n), where=sums > 0)
    return np.asarray((1 - FLOOR) * shares + FLOOR / n)


def _unlearned(known: Knowledge, shape: FloatArray) -> FloatArray:
    """Return which part of the variance of the logarithm of every share earlier reports have left, or 1."""
    if known.reports is None:
        return np.ones(shape.shape)
    told = TOLD_BY_A_REPORT * known.reports * shape / len(shape)
    return np.asarray(1 / (1 + UNKNOWN_VARIANCE * told))


def _deviation(known: Knowledge, shape: FloatArray, sigma: float) -> FloatArray:
    """Return the standard deviation of the logarithm of every share."""
    if known.reports is None:
        return np.full(shape.shape, sigma)
    return np.asarray(np.sqrt(sigma**2 + UNKNOWN_VARIANCE * _unlearned(known, shape)))


def _levels(plan: Plan, known: Knowledge, generator: np.random.Generator) -> tuple[FloatArray, float]:
    """Draw the share of every grade, and the share outside."""
    joint = known.shape is not None and known.shape.ndim == 2 and known.shape.shape[0] > 1
    given = None if known.shape is None or not joint else known.shape.sum(axis=1) / known.shape.sum()
    unsure = KNOWN_SHARE if known.reports is None else float(np.hypot(KNOWN_SHARE / 2, (10 / known.reports) ** 0.5))
    left, shares = 1.0, []
    for grade in range(max(2, plan.grades) - 1):
        told = known.regular_share if grade == 0 else None
        if told is None and given is not None:
            told = float(given[grade] / max(given[grade:].sum(), 1e-12))
        share = _drawn(told, REGULAR if grade == 0 else NEXT_GRADE, unsure, generator)
        shares.append(left * share)
        left *= 1 - share
    outside = _drawn(known.outside_share, OUTSIDE, unsure, generator)
    if plan.grades == 1:  # who has no regular place does not report one
        return np.ones(1), 1 - (1 - outside) * shares[0]
    return np.array([*shares, left]), outside


def _drawn(told: float | None, unknown: tuple[float, float], unsure: float, generator: np.random.Generator) -> float:
    mean, deviation = unknown if told is None else (float(scipy.special.logit(min(max(told, 1e-4), 1 - 1e-4))), unsure)
    return float(scipy.special.expit(mean + deviation * generator.standard_normal()))


def _roams(known: Knowledge, generator: np.random.Generator) -> bool:
    chance = generator.random()
    return chance < ROAMING_CHANCE if known.roaming is None else known.roaming

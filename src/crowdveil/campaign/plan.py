"""Define the plan: what an operator fixes before a campaign starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, frozen
from crowdveil.campaign.request import SelectionRequest, check_count, check_names, name_place
from crowdveil.errors import InputError
from crowdveil.policy.checks import (
    MAX_GRADES,
    check_epsilon,
    check_grade_chances,
    check_grade_epsilon,
    check_null_epsilon,
    check_null_share,
    check_prior,
    check_targets,
)
from crowdveil.policy.grades import chances_of_grades
from crowdveil.vocabulary import (
    DEFAULT_CONFIDENCE,
    DEFAULT_GRADE_EPSILON,
    DEFAULT_NULL_EPSILON,
    DEFAULT_ROUNDS,
    DEFAULT_THRESHOLDS,
    Algorithm,
    Cover,
)

START_TRUST = 0.95
"""Five people in a hundred are assumed to be anywhere, whatever a prior says."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What an operator fixes before a campaign starts."""

    area: Area
    targets: tuple[int, ...]
    epsilon_per_km: float
    users: int
    """N: how many people are invited, over all rounds, with or without a frequent place."""
    wanted: int = 0
    """α: how many people are to be selected, at any target; with `numbers` it is left out, and becomes their sum."""
    rounds: int = DEFAULT_ROUNDS
    confidence: float = DEFAULT_CONFIDENCE
    """ρ: with this probability at least α people should be selectable; applies only to algorithm-2."""
    algorithm: Algorithm = "crowdveil"
    start: FloatArray | None = None
    """The prior before the first round; None for the uniform prior. With grades it is joint, of shape (grades, n)."""
    start_null_share: float | None = None
    """The share of people outside before the first round, where it is known."""
    seed: str = "0"
    """Seed of the lottery among equals: its hash is announced before the first report, the seed at the end."""
    null_epsilon: float | None = DEFAULT_NULL_EPSILON
    """ε₀: how much a symbol may tell about being outside; None: NULL is sent in the clear, as in the paper."""
    grade_epsilon: float | None = DEFAULT_GRADE_EPSILON
    """ε₁: how much a symbol may tell about one grade of visitors or the next; None: there are no grades."""
    grade_chances: tuple[float, ...] = chances_of_grades(DEFAULT_THRESHOLDS)
    """How likely a visitor of each grade is to come in the next period, the most regular first (`chances_of_grades`);
    there are as many grades as chances, at least two. Without grades it becomes a single 1."""
    numbers: tuple[int, ...] | None = None
    """How many people are to be selected for each target, in the order of the targets; None: `wanted` at any target."""
    target_names: tuple[str, ...] | None = None
    """What the targets are called, in their order; None: they have no names."""
    panel: bool = False
    """Whether the reports serve any number of selections. The targets are then the places that may be asked for,
    everyone is invited to every round, nothing is wanted beforehand, and a later round renews the reports."""
    start_trust: float = START_TRUST
    """How much of the start is believed. The rest is spread evenly: a start that has nobody where people are could
    not be corrected by any number of reports."""

    def __post_init__(self) -> None:
        all_cells = {"all_cells": True} if self.panel else {}
        object.__setattr__(self, "targets", check_targets(self.targets, len(self.area), **all_cells))
        object.__setattr__(self, "epsilon_per_km", check_epsilon(self.epsilon_per_km))
        if self.null_epsilon is not None:
            object.__setattr__(self, "null_epsilon", check_null_epsilon(self.null_epsilon))
        if self.grade_epsilon is not None:
            object.__setattr__(self, "grade_epsilon", check_grade_epsilon(self.grade_epsilon))
            if self.null_epsilon is None:
                raise InputError(
                    "grade_epsilon", self.grade_epsilon, "should be None in the clear form, like null_epsilon"
                )
        chances = check_grade_chances(self.grade_chances, len(self.grade_chances))
        if self.grade_epsilon is not None and not 2 <= len(chances) <= MAX_GRADES:
            raise InputError("grade_chances", chances, f"should be 2 to {MAX_GRADES} chances, one for each grade")
        object.__setattr__(self, "grade_chances", chances if self.grade_epsilon is not None else (1.0,))
        if self.start_null_share is not None:
            check_null_share(self.start_null_share)
        for name in ("users", "rounds"):
            check_count(name, getattr(self, name))
        if self.rounds > self.users and not self.panel:
            raise InputError("rounds", self.rounds, f"should be at most the number of users, {self.users}")
        if self.target_names is not None:
            object.__setattr__(self, "target_names", tuple(self.target_names))
        check_names(self.target_names, len(self.targets))
        self._check_wanted()
        if not 0 < self.confidence < 1:
            raise InputError("confidence", self.confidence, "should lie strictly between 0 and 1")
        if self.algorithm not in get_args(Algorithm):
            raise InputError("algorithm", self.algorithm, f"should be one of {', '.join(get_args(Algorithm))}")
        if not isinstance(self.seed, str):
            raise InputError("seed", self.seed, "should be text")
        if not 0 <= self.start_trust <= 1:
            raise InputError("start_trust", self.start_trust, "should be a share from 0 to 1")
        if self.start is not None:
            object.__setattr__(self, "start", frozen(check_prior(self.start, len(self.area), self.grades)))

    def _check_wanted(self) -> None:
        if self.panel:
            self._check_panel()
            return
        if self.numbers is not None and self.algorithm == "algorithm-2":
            expected = "should be left out with algorithm-2, which selects people for any target; give `wanted` instead"
            raise InputError("numbers", self.numbers, expected)
        request = self.request
        object.__setattr__(self, "numbers", request.numbers)
        object.__setattr__(self, "wanted", request.wanted)
        for place, number in enumerate(request.numbers or ()):
            if number > self.users:
                raise InputError(f"numbers[{place}]", number, f"should be at most the number of users, {self.users}")
        if request.numbers is not None and request.wanted > self.users:
            expected = f"should add up to at most the number of users, {self.users}; nobody is selected twice"
            raise InputError("numbers", f"{request.wanted} people in all", expected)
        if request.wanted > self.users:
            raise InputError("wanted", self.wanted, f"should be at most the number of users, {self.users}")

    def _check_panel(self) -> None:
        for name in ("wanted", "numbers"):
            if getattr(self, name):
                expected = "should be left out for a panel; each selection says how many people it wants, and where"
                raise InputError(name, getattr(self, name), expected)
        if self.algorithm != "crowdveil":
            raise InputError("algorithm", self.algorithm, "should be crowdveil for a panel")

    @property
    def opening(self) -> FloatArray | None:
        """The prior that the first round is made for, and that estimates begin with: the start, mixed with even shares.

        None stands for the uniform prior. Algorithm 2 takes the start as it is, as printed.
        """
        if self.start is None or self.algorithm == "algorithm-2":
            return self.start
        even = self.start.mean(axis=-1, keepdims=True)  # each grade keeps its share
        return frozen(self.start_trust * self.start + (1 - self.start_trust) * even)

    @property
    def request(self) -> SelectionRequest:
        """What is asked of a campaign that is asked once; a panel is given a request for each selection."""
        if self.panel:
            raise InputError("request", None, "should say what is asked of the panel: places, and how many people")
        return SelectionRequest(self.targets, self.wanted, self.numbers, self.target_names)

    @property
    def cover(self) -> Cover:
        """What is to be covered: any target, each with the same number of people, or each with its own number."""
        return self.request.cover

    def place_name(self, target: int) -> str:
        """Name a target, by its position in `targets`: `2 (Grand Central)`; counts from 1, as people do."""
        return name_place(self.target_names, target)

    @property
    def grades(self) -> int:
        """How many grades there are; 1 stands for none."""
        return len(self.grade_chances)

    def round_users(self) -> list[int]:
        """Return how many users each round invites: N/k, and one more in the first rounds if N/k is not whole.

        A panel invites everyone to every round.
        """
        if self.panel:
            return [self.users] * self.rounds
        each, rest = divmod(self.users, self.rounds)
        return [each + (number < rest) for number in range(self.rounds)]

"""Define the plan: what an operator fixes before a campaign starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, frozen
from crowdveil.errors import InputError
from crowdveil.policy.checks import (
    check_epsilon,
    check_grade_chances,
    check_grade_epsilon,
    check_null_epsilon,
    check_null_share,
    check_prior,
    check_targets,
)
from crowdveil.vocabulary import (
    DEFAULT_CONFIDENCE,
    DEFAULT_GRADE_EPSILON,
    DEFAULT_NULL_EPSILON,
    DEFAULT_ROUNDS,
    GRADES,
    Algorithm,
)


@dataclass(frozen=True, eq=False)
class Plan:
    """What an operator fixes before a campaign starts."""

    area: Area
    targets: tuple[int, ...]
    epsilon_per_km: float
    users: int
    """N: how many people are invited, over all rounds, with or without a frequent place."""
    wanted: int
    """α: how many people are to be selected."""
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
    """ε₁: how much a symbol may tell about being a regular visitor; None: there are no grades."""
    grade_chances: tuple[float, ...] | None = None
    """How likely a visitor of each grade is to come in the next period; None: only regular visitors count."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "targets", check_targets(self.targets, len(self.area)))
        object.__setattr__(self, "epsilon_per_km", check_epsilon(self.epsilon_per_km))
        if self.null_epsilon is not None:
            object.__setattr__(self, "null_epsilon", check_null_epsilon(self.null_epsilon))
        if self.grade_epsilon is not None:
            object.__setattr__(self, "grade_epsilon", check_grade_epsilon(self.grade_epsilon))
            if self.null_epsilon is None:
                raise InputError(
                    "grade_epsilon", self.grade_epsilon, "should be None in the clear form, like null_epsilon"
                )
        if self.grade_chances is not None:
            object.__setattr__(self, "grade_chances", check_grade_chances(self.grade_chances, self.grades))
        if self.start_null_share is not None:
            check_null_share(self.start_null_share)
        for name in ("users", "wanted", "rounds"):
            count = getattr(self, name)
            if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
                raise InputError(name, count, "should be a whole number, at least 1")
        if self.rounds > self.users:
            raise InputError("rounds", self.rounds, f"should be at most the number of users, {self.users}")
        if self.wanted > self.users:
            raise InputError("wanted", self.wanted, f"should be at most the number of users, {self.users}")
        if not 0 < self.confidence < 1:
            raise InputError("confidence", self.confidence, "should lie strictly between 0 and 1")
        if self.algorithm not in get_args(Algorithm):
            raise InputError("algorithm", self.algorithm, f"should be one of {', '.join(get_args(Algorithm))}")
        if not isinstance(self.seed, str):
            raise InputError("seed", self.seed, "should be text")
        if self.start is not None:
            object.__setattr__(self, "start", frozen(check_prior(self.start, len(self.area), self.grades)))

    @property
    def grades(self) -> int:
        """How many grades there are; 1 stands for none."""
        return 1 if self.grade_epsilon is None else GRADES

    def round_users(self) -> list[int]:
        """Return how many users each round invites: N/k, and one more in the first rounds if N/k is not whole."""
        each, rest = divmod(self.users, self.rounds)
        return [each + (number < rest) for number in range(self.rounds)]

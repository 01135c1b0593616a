"""Define the plan: what an operator fixes before a campaign starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, frozen
from crowdveil.errors import InputError
from crowdveil.policy.checks import check_epsilon, check_null_epsilon, check_prior, check_targets
from crowdveil.vocabulary import DEFAULT_CONFIDENCE, DEFAULT_ROUNDS, Algorithm


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
    """The prior before the first round; None for the uniform prior."""
    seed: int = 0
    """Seed of the lottery among equals; it is published."""
    null_epsilon: float | None = None
    """ε₀: how much a symbol may tell about having a place at all; None: NULL is sent in the clear."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "targets", check_targets(self.targets, len(self.area)))
        object.__setattr__(self, "epsilon_per_km", check_epsilon(self.epsilon_per_km))
        if self.null_epsilon is not None:
            object.__setattr__(self, "null_epsilon", check_null_epsilon(self.null_epsilon))
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
        if self.start is not None:
            object.__setattr__(self, "start", frozen(check_prior(self.start, len(self.area))))

    def round_users(self) -> list[int]:
        """Return how many users each round invites: N/k, and one more in the first rounds if N/k is not whole."""
        each, rest = divmod(self.users, self.rounds)
        return [each + (number < rest) for number in range(self.rounds)]

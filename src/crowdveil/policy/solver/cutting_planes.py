"""Find the optimum for any number of targets by a cutting-plane search, with a proven gap.

Given target probabilities x, the best policy is closure(x); the objective Σ π_t x_t is linear and Σ π p convex and
piecewise linear in x. Each round: the relaxation over the pieces seen so far (relaxation.py) gives an upper bound and a
proposal; the proposal, shifted until it meets the quota (quota_shift.py), is a feasible policy and hence a lower bound;
the pieces of both points are added to the relaxation. There are finitely many pieces, so the bounds meet. A trust
region on the Laplace scale limits early proposals, which are made from few pieces; the upper bound does not depend on
it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from crowdveil.area import Area, Points
from crowdveil.arrays import FloatArray
from crowdveil.policy.solver.closure import MIN_SCORE, ClosureMap, LinearPieces
from crowdveil.policy.solver.laplace_scale import score_of
from crowdveil.policy.solver.protected_closure import ProtectedClosure, Protection
from crowdveil.policy.solver.quota_shift import shift_to_quota
from crowdveil.policy.solver.relaxation import Relaxation

BOUND_ERROR = 64 * np.finfo(float).eps
MAX_LOSS = 60.0
"""Between the nearest cells; e^-60 is negligible beside any weight of 62 bits."""
MAX_RELATIVE_GAP = 1e-13
"""Stop when the bounds differ by less than this share of the value."""
MAX_ROUNDS = 300
MAX_IDLE_ROUNDS = 6
"""Rounds without progress after which only rounding errors are left."""
MAX_READABLE_SCORE = 30.0
"""Above this score log p alone no longer determines 1 - p."""
FAILURES_BEFORE_ADDING_TARGETS = 3
"""Failed proposals after which the pieces of every target alone are added."""
FIRST_RADIUS = 0.5
MIN_RADIUS, MAX_RADIUS = 1e-6, 4.0
COARSE_CELLS = 3000
"""Larger areas are first solved with one cell for each block, which gives only the starting point."""


@dataclass(frozen=True)
class Optimum:
    """Real-valued optimum with its certificate of optimality."""

    log_hit: FloatArray
    """log p of every input: the cells; with protection, the cells at every grade, and NULL last."""
    scores: FloatArray
    """The seeds' probabilities on the Laplace scale."""
    value: float
    """Σ w_g π_(t,g) p_(t,g) / Σ π_i p_i, attained."""
    upper_bound: float
    """No private policy with the same β has a larger value; rounded up by the possible floating-point error."""
    rounds: int


def solve(
    area: Area,
    prior: FloatArray,
    targets: tuple[int, ...],
    epsilon_per_km: float,
    beta: float,
    progress: Callable[[int, int], None] | None = None,
    protection: Protection | None = None,
    grade_chances: tuple[float, ...] = (1.0,),
) -> Optimum:
    """Maximise Σ w_g π_(t,g) p_(t,g) over all private p with Σ π p = β; `prior` has one entry for each input.

    w = `grade_chances` says what a visitor of each grade is worth; grades beyond its end are worth nothing.
    """
    # Private at a smaller ε is private at ε; where neighbours may differ by e^60, a larger ε gains nothing.
    epsilon_per_km = min(epsilon_per_km, MAX_LOSS / area.nearest_neighbour_km)
    n = len(area)
    worth = {grade * n + t: chance for grade, chance in enumerate(grade_chances) for t in sorted(targets)}
    # An input that adds nothing to the value is left out of the search: raising it costs quota.
    # If all add nothing, the value is 0 for any policy, and equal scores are as good as any.
    seeds = tuple(one for one, chance in worth.items() if chance * prior[one] > 0) or targets
    closure = _closure(area, seeds, epsilon_per_km, protection)
    gain = prior[list(seeds)] * [worth[one] for one in seeds]
    easy = len(seeds) == 1 or not gain.any()
    start = np.zeros(len(seeds))
    if not easy and n > COARSE_CELLS:
        start = _coarse_scores(area, prior, seeds, epsilon_per_km, beta, protection, grade_chances)
    scores, pieces = shift_to_quota(closure, prior, beta, start)
    if easy:  # with one target the closure is the optimum
        value = _value(prior, gain, seeds, pieces)
        return _optimum(pieces, scores, value, value, gain, beta, 1)
    return _CuttingPlaneSearch(closure, prior, gain, beta, scores, pieces).run(progress)


def _closure(area: Area, seeds: tuple[int, ...], epsilon_per_km: float, protection: Protection | None) -> ClosureMap:
    if protection is None:
        return ClosureMap(area, seeds, epsilon_per_km)
    grade_epsilon = None if protection.grade_epsilon is None else min(protection.grade_epsilon, MAX_LOSS)
    limited = Protection(min(protection.null_epsilon, MAX_LOSS), grade_epsilon, protection.grades)
    return ProtectedClosure(area, seeds, epsilon_per_km, limited)


def _coarse_scores(
    area: Area,
    prior: FloatArray,
    seeds: tuple[int, ...],
    epsilon_per_km: float,
    beta: float,
    protection: Protection | None,
    grade_chances: tuple[float, ...],
) -> FloatArray:
    """Compute a starting point: the optimum of a coarser area with one cell for each block."""
    n = len(area)
    targets = np.unique(np.array(seeds) % n)
    blocks = area.blocks
    starts = blocks.leaves.starts
    middle = blocks.order[(starts[:-1] + starts[1:]) // 2]
    chosen = np.union1d(middle, targets)
    by_grade = []
    for start in range(0, len(prior) - n + 1, n):
        people = prior[start : start + n].copy()
        people[targets] = 0.0
        coarse = np.zeros(n)
        coarse[middle] = np.add.reduceat(people[blocks.order], starts[:-1])
        coarse[targets] += prior[start : start + n][targets]
        by_grade.append(coarse[chosen])
    null_share = prior[len(prior) - len(prior) % n :]
    inputs = np.concatenate([*by_grade, null_share])
    positions = tuple(np.searchsorted(chosen, targets).tolist())
    points = Points(area.xy_m[chosen])
    # A seed has the same prior there as here, so that both have the same seeds in the same order.
    return solve(
        points, inputs, positions, epsilon_per_km, beta, protection=protection, grade_chances=grade_chances
    ).scores


def _value(prior: FloatArray, gain: FloatArray, seeds: tuple[int, ...], pieces: LinearPieces) -> float:
    return float(gain @ np.exp(pieces.log_hit[list(seeds)])) / float(prior @ np.exp(pieces.log_hit))


def _optimum(
    pieces: LinearPieces,
    scores: FloatArray,
    value: float,
    upper_bound: float,
    gain: FloatArray,
    beta: float,
    rounds: int,
) -> Optimum:
    """Make the result; its upper bound includes the rounding error of sums of up to n terms below Σ c_t / β."""
    lost = BOUND_ERROR * (float(gain.sum()) / beta if (scores >= 0).any() else value)
    above = max(value, upper_bound) + lost
    return Optimum(pieces.log_hit, scores, value, min(1.0, above) if value else 0.0, rounds)


class _CuttingPlaneSearch:
    """Improves the lower and the upper bound until they meet."""

    def __init__(
        self,
        closure: ClosureMap,
        prior: FloatArray,
        gain: FloatArray,
        beta: float,
        scores: FloatArray,
        pieces: LinearPieces,
    ) -> None:
        self.closure, self.prior, self.gain, self.beta = closure, prior, gain, beta
        self.seeds = tuple(int(one) for one in closure.seeds)
        self.relaxation = Relaxation(prior, gain, beta)
        self.scores, self.pieces = scores, pieces
        self.value, self.upper_bound = _value(prior, gain, self.seeds, pieces), np.inf
        self.radius = FIRST_RADIUS
        self.failures = 0

    def run(self, progress: Callable[[int, int], None] | None) -> Optimum:
        """Run rounds until the gap is closed or neither bound improves any more."""
        self.relaxation.add(self.pieces)
        idle = 0
        rounds = 0
        while rounds < MAX_ROUNDS and idle < MAX_IDLE_ROUNDS and self._gap() > MAX_RELATIVE_GAP:
            rounds += 1
            before = self.value, self.upper_bound
            if not self._round():
                break
            idle = idle + 1 if (self.value, self.upper_bound) == before else 0
            if progress is not None:
                done = min(1.0, max(0.0, -np.log10(max(self._gap(), MAX_RELATIVE_GAP)) / -np.log10(MAX_RELATIVE_GAP)))
                progress(int(100 * done), 100)
        return _optimum(self.pieces, self.scores, self.value, self.upper_bound, self.gain, self.beta, rounds)

    def _add_every_target(self) -> None:
        """Add the pieces by which each target alone would determine each cell; the relaxation has not seen these."""
        for one in np.eye(len(self.seeds), dtype=bool):
            self.relaxation.add(self.closure(np.where(one, self.scores, MIN_SCORE)))

    def _gap(self) -> float:
        return 1.0 if np.isinf(self.upper_bound) else 1 - self.value / self.upper_bound

    def _round(self) -> bool:
        proposal = self.relaxation.propose(self.scores, self.radius)
        if proposal is None:
            return False
        self.radius = proposal.radius
        self.upper_bound = min(self.upper_bound, proposal.upper_bound / self.beta)
        if self._gap() <= MAX_RELATIVE_GAP:
            return True
        pieces = self.closure(proposal.scores)
        self.relaxation.add(pieces)
        # Another target may determine a target's probability: start the shift from its actual value.
        carried = np.minimum(score_of(pieces.log_hit[self.closure.seeds]), MAX_READABLE_SCORE)
        scores = np.maximum(np.maximum(proposal.scores, carried), MIN_SCORE)
        scores, pieces = shift_to_quota(self.closure, self.prior, self.beta, scores, start=pieces)
        self.relaxation.add(pieces)
        value = _value(self.prior, self.gain, self.seeds, pieces)
        step = float(np.abs(scores - self.scores).max())
        if value > self.value:
            self.value, self.scores, self.pieces = value, scores, pieces
            self.radius = 2 * self.radius if proposal.at_edge else min(self.radius, 4 * step)
        else:
            self.radius = 0.25 * self.radius
            self.failures += 1
            if self.failures % FAILURES_BEFORE_ADDING_TARGETS == 0:
                self._add_every_target()
        self.radius = min(max(self.radius, MIN_RADIUS), MAX_RADIUS)
        return True

"""Policies that are private by construction: the closed form, rounded, with room for the rounding.

With F the CDF of the standard Laplace distribution, p_l = F(max_t (s_t - ε d(l,t))) satisfies Definition 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray
from crowdveil.policy.checks import DEFAULT_BITS
from crowdveil.policy.policy import Completion, Policy

ROOM = 1e-9
MIX = 1e-7


def square(side: int, cell_km: float = 1.0) -> Area:
    y, x = np.divmod(np.arange(side * side), side)
    return Area.from_points_km(np.column_stack([x, y]) * cell_km)


def scattered(n: int, extent_km: float, seed: int) -> Area:
    rng = np.random.default_rng(seed)
    metres = rng.choice(int(extent_km * 1000) ** 2, n, replace=False)
    return Area.from_points_km(np.column_stack(np.divmod(metres, int(extent_km * 1000))) / 1000.0)


def laplace_hit(area: Area, targets: list[int], scores: ArrayLike, epsilon_per_km: float) -> FloatArray:
    """F(max_t (s_t - ε d(l,t)))."""
    height = np.asarray(scores)[:, None] - epsilon_per_km * area.distances_km(targets)
    q = height.max(axis=0)
    return np.asarray(np.where(q < 0, 0.5 * np.exp(np.minimum(q, 0)), 1 - 0.5 * np.exp(-np.maximum(q, 0))))


def good_weights(area: Area, targets: list[int], scores: ArrayLike, epsilon_per_km: float) -> IntArray:
    hit = laplace_hit(area, targets, scores, epsilon_per_km * (1 - ROOM))
    weights: IntArray = np.rint((hit * (1 - MIX) + 0.5 * MIX) * 2.0**DEFAULT_BITS).astype(np.int64)
    return weights


def two_symbols(area: Area, hit: IntArray, epsilon_per_km: float, targets: tuple[int, ...] = (0,)) -> Policy:
    return Policy(area, epsilon_per_km, targets, np.column_stack([hit, 2**DEFAULT_BITS - hit]))


def good_policy(area: Area, targets: list[int], scores: ArrayLike, epsilon_per_km: float) -> Policy:
    hit = good_weights(area, targets, scores, epsilon_per_km)
    return two_symbols(area, hit, epsilon_per_km, tuple(sorted(targets)))


def completed(policy: Policy, share: float = 0.2) -> Policy:
    """Refine `other` by an exponential mechanism over a few cells, at `share` of the policy's ε."""
    cells = tuple(range(0, len(policy), 3)) if len(policy) > 3 else (0, 1)
    table = np.exp(-share / 2 * policy.epsilon_per_km * policy.area.distances_km(np.arange(len(policy)), cells))
    whole = np.rint(table / table.sum(axis=1, keepdims=True) * 2.0**40).astype(np.int64) << (DEFAULT_BITS - 40)
    whole[np.arange(len(whole)), whole.argmax(axis=1)] += 2**DEFAULT_BITS - whole.sum(axis=1)
    refined = Completion(cells, np.arange(len(policy)), whole)
    return Policy(policy.area, policy.epsilon_per_km, policy.targets, policy.weights, completion=refined)

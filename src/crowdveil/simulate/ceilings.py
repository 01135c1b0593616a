"""How well a crowd could be chosen by someone who knows more than any organiser does.

    hindsight   the people who came most often in the test periods: no selection of as many covers more
    profile     the people whose profiles promise most: what is left once the future is unknown, without any privacy

A profile promises that a person comes to any of the targets with the probability 1 - Π_t (1 - p_t), with the
probability p_t of each target. Of equals, who comes first is chosen, as everywhere.
"""

from __future__ import annotations

import numpy as np

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.profile import Profile
from crowdveil.simulate.simulation import arrivals


def choose_with_hindsight(share: FloatArray, wanted: int) -> IntArray:
    """Choose those with the largest share of test periods at a target."""
    return np.asarray(np.argsort(-share, kind="stable")[:wanted])


def choose_by_profile(profile: Profile, targets: tuple[int, ...], wanted: int, seed: int) -> IntArray:
    """Choose those whose profiles promise a visit to any target with the highest probability."""
    order = arrivals(profile.users, seed)
    promise = promised(profile, targets)
    return np.asarray(order[np.argsort(-promise[order], kind="stable")[:wanted]])


def promised(profile: Profile, targets: tuple[int, ...]) -> FloatArray:
    """Compute each person's probability of coming to any target."""
    rows = np.isin(profile.cell, targets)
    missed = np.ones(profile.users)
    np.multiply.at(missed, profile.user[rows], 1 - profile.probability[rows])
    return np.asarray(1 - missed)

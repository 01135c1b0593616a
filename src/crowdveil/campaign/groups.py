"""Group people by what they sent, and compute how likely each group's members are to come to each target.

All who sent the same symbol in the same round form a group: nothing distinguishes them. Under the estimate of π, a
member of the group of symbol s in round r comes to target t with the chance

    c_(s,r),t  =  Σ_g w_g π(t, g | s, r),

where w_g is the chance that a visitor of grade g comes (`policy.grades`), 1 without grades. Chances are rounded to a
millionth, so that the last bits of a sum decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdveil.arrays import FloatArray, IntArray
from crowdveil.campaign.assignment import assign_crowds
from crowdveil.errors import InputError
from crowdveil.policy.policy import Policy
from crowdveil.prior import place_chances, target_chances

COMPARED_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class Groups:
    """All pairs of round and symbol, round by round, with the chances of their members."""

    begin: IntArray
    """Where each round's symbols begin; one more entry for the end."""
    at_any: FloatArray
    """The chance that a member comes to any target, one for each group."""
    at: FloatArray
    """The chance that a member comes to each target, shape (groups, targets)."""
    names: NDArray[np.bool_]
    """Whether the group's symbol selects for each target, shape (groups, targets)."""

    def __len__(self) -> int:
        return len(self.at_any)

    @property
    def round(self) -> IntArray:
        """The round of each group."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))

    @property
    def selecting(self) -> NDArray[np.bool_]:
        """Whether each group's symbol selects for some target."""
        return np.asarray(self.names.any(axis=1))

    @property
    def preferred(self) -> IntArray:
        """The groups in the order that decides among equals: later rounds first, in a round the lower symbols."""
        return np.argsort(-self.round, kind="stable")

    @property
    def best_first(self) -> IntArray:
        """The groups by their chance of any target, among equals by `preferred`."""
        first = self.preferred
        return first[np.argsort(-self.at_any[first], kind="stable")]

    @property
    def likeliest(self) -> IntArray:
        """The target that each group's members are most likely to come to; of equals the one named first."""
        return np.asarray(self.at.argmax(axis=1))


def groups_of(
    policies: Sequence[Policy],
    prior: ArrayLike | None,
    targets: Sequence[int],
    null_share: float = 0.0,
    grade_chances: Sequence[float] | None = None,
) -> Groups:
    """Compute the chances of all groups of some rounds, from the policy of each and the estimate after all of them.

    `null_share` is the share of senders outside, where the policies protect it; with grades the prior is joint, and
    `grade_chances` says how likely a visitor of each grade is to come (default: only regular visitors count).
    """
    if not policies:
        raise InputError("policies", [], "should be the policies of one or more rounds")
    known = {"null_share": null_share, "grade_chances": grade_chances}
    at_any = [target_chances(prior, policy, targets, **known) for policy in policies]  # type: ignore[arg-type]
    at = [place_chances(prior, policy, targets, **known) for policy in policies]  # type: ignore[arg-type]
    begin = np.cumsum([0, *(len(chances) for chances in at_any)])
    return Groups(
        begin,
        np.concatenate(at_any).round(COMPARED_DECIMALS),
        np.concatenate(at).round(COMPARED_DECIMALS),
        np.concatenate([_names(policy, targets) for policy in policies]),
    )


def assign_groups(groups: Groups, chances: FloatArray, sizes: IntArray, numbers: Sequence[int]) -> IntArray:
    """Find how many of each group to select for each place, shape (groups, places), so that the most come.

    `chances` are those of the groups at each place (`Groups.at`, or `Groups.at_any` as a single column), `sizes` how
    many are in each group, `numbers` how many are wanted at each place.
    """
    return np.asarray(assign_crowds_of_groups(groups, chances, sizes[None, :], numbers)[0])


def assign_crowds_of_groups(groups: Groups, chances: FloatArray, crowds: IntArray, numbers: Sequence[int]) -> IntArray:
    """Do the same for several crowds, each a row with the sizes of all groups; the first axis is that of the crowds."""
    first = groups.preferred
    worth = np.rint(chances * 10**COMPARED_DECIMALS).astype(np.int64)
    found = np.zeros((len(crowds), *chances.shape), dtype=np.int64)
    found[:, first] = assign_crowds(crowds[:, first], worth[first], np.array(numbers, dtype=np.int64))
    return found


def symbols_of(policy: Policy, target: int) -> list[int]:
    """Return the symbols that select for a target: its own where there is one for each, otherwise all that select."""
    if len(policy.selecting) != len(policy.targets):
        return list(policy.selecting) if target in policy.targets else []
    return [symbol for symbol, cell in zip(policy.selecting, policy.targets, strict=True) if cell == target]


def _names(policy: Policy, targets: Sequence[int]) -> NDArray[np.bool_]:
    found = np.zeros((policy.symbol_count, len(targets)), dtype=bool)
    for position, target in enumerate(targets):
        found[symbols_of(policy, target), position] = True
    return found

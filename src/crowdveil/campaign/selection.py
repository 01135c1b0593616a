"""Decide who is selected, and break ties by a public lottery.

Two methods, on the same reports:

    latest first     Algorithm 2 as printed: of those who sent a selecting symbol, the later rounds before the earlier,
                     within a round in the order of the reports, until α are found; perhaps fewer
    by posterior     ours: everyone who sent a symbol, in the order of the probability that their place is a target,
                     Σ_T π(t | symbol, round), under the last estimate of π, until α are found

**Filling up** (by posterior): if fewer than α people sent a selecting symbol, the senders of the next best symbols are
selected too. People who sent NULL in the clear are never selected; in the protected form nobody knows who they are, and
the shares of senders outside and of occasional visitors lower the probabilities of the symbols that they send: those
who are likely to be regular visitors of a target come first. If fewer than α people sent any symbol, all of them are
selected and `short` says how many are missing.

**Ties.** Probabilities are compared to a millionth, so that the last bits of a sum have no influence. Of equal symbols
those of the later round come first, whose policy was made from more reports, and within a round the lower symbol, hence
`hit`. Everyone who sent the same symbol in the same round has the same probability. If only a part of such a group can
be selected, a lottery decides: the lowest SHA-256 of "seed:ticket". A participant's ticket is the hash of the secret
that their device chose before it knew the seed, and the seed's hash is announced before the first report, so that
neither side can choose the outcome; once the seed is published anyone can repeat it, and reporting early does not help.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import FloatArray, IntArray, as_array, as_cells, frozen
from crowdveil.errors import InputError
from crowdveil.policy.policy import Policy
from crowdveil.prior import target_chances

COMPARED_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class Reports:
    """One row per participant who sent a symbol: who, in which round, what."""

    participant: IntArray
    round: IntArray
    symbol: IntArray
    ticket: tuple[str, ...] | None = None
    """What each participant takes part in the lottery with; None: their number as text."""

    def __post_init__(self) -> None:
        if self.ticket is not None and len(self.ticket) != np.size(self.participant):
            expected = f"should have one entry for each of {np.size(self.participant)} reports"
            raise InputError("ticket", f"{len(self.ticket)} entries", expected)
        for name in ("participant", "round", "symbol"):
            column = as_array(name, getattr(self, name), "should be whole numbers")
            if column.size and column.dtype.kind not in "iu":
                raise InputError(name, column.dtype.name, "should be whole numbers")
            if column.ndim != 1 or len(column) != np.size(self.participant):
                expected = f"should have one entry for each of {np.size(self.participant)} reports"
                raise InputError(name, f"shape {column.shape}", expected)
            object.__setattr__(self, name, frozen(column.astype(np.int64)))
        who, times = np.unique(self.participant, return_counts=True)
        if (times > 1).any():
            raise InputError("participant", int(who[times > 1][0]), "should have one report; has several")

    def __len__(self) -> int:
        return len(self.participant)

    def ticket_of(self, row: int) -> str:
        """Return the ticket of the participant in a row."""
        return str(int(self.participant[row])) if self.ticket is None else self.ticket[row]

    def in_order(self, rows: IntArray) -> Reports:
        """Take some rows, in the order given."""
        ticket = None if self.ticket is None else tuple(self.ticket[row] for row in rows.tolist())
        return Reports(self.participant[rows], self.round[rows], self.symbol[rows], ticket)


@dataclass(frozen=True, eq=False)
class Selection:
    """The selected participants, best first, and how they were selected."""

    participants: IntArray
    chances: FloatArray
    """For each of them the probability that their place is a target; 0 if the method does not compute it."""
    hits: int
    """How many of them sent a selecting symbol; the others were added to fill up."""
    short: int
    """How many fewer there are than wanted."""

    def __len__(self) -> int:
        return len(self.participants)


def select_latest_first(reports: Reports, policies: Sequence[Policy], wanted: int) -> Selection:
    """Select like Algorithm 2 of the paper: selecting symbols of the latest rounds first."""
    _check(reports, policies, wanted)
    hit = np.zeros(len(reports), dtype=bool)
    for number, policy in enumerate(policies):
        hit |= (reports.round == number) & np.isin(reports.symbol, policy.selecting)
    rows = np.flatnonzero(hit)
    latest_first = rows[np.argsort(-reports.round[rows], kind="stable")][:wanted]
    found = len(latest_first)
    return Selection(reports.participant[latest_first], np.zeros(found), found, wanted - found)


def select_by_posterior(
    reports: Reports,
    policies: Sequence[Policy],
    prior: ArrayLike | None,
    wanted: int,
    seed: str,
    null_share: float = 0.0,
    grade_chances: Sequence[float] | None = None,
) -> Selection:
    """Select the people most likely to be at a target, under a prior; a repeatable lottery breaks ties.

    `null_share` is the share of senders outside, where the policies protect it; with grades the prior is joint, and
    `grade_chances` says how likely a visitor of each grade is to come (default: only regular visitors count).
    """
    _check(reports, policies, wanted)
    chances, begin, order = rank_groups(policies, prior, null_share, grade_chances)
    group = begin[reports.round] + reports.symbol
    sizes = np.bincount(group, minlength=len(order))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    before = np.cumsum(sizes[order]) - sizes[order]
    all_in = before + sizes[order] <= wanted
    rows = np.flatnonzero(all_in[place[group]])
    room = wanted - len(rows)
    cut = np.flatnonzero(~all_in & (sizes[order] > 0))
    if room and len(cut):
        tied = np.flatnonzero(group == order[cut[0]])
        rows = np.concatenate([rows, _lottery(tied, reports, seed, room)])
    rows = rows[np.lexsort((reports.participant[rows], place[group[rows]]))]
    return Selection(
        reports.participant[rows],
        chances[group[rows]],
        sum(
            int(np.isin(reports.symbol[rows][reports.round[rows] == r], p.selecting).sum())
            for r, p in enumerate(policies)
        ),
        wanted - len(rows),
    )


class Groups(NamedTuple):
    """All pairs of round and symbol, round by round; those who sent the same symbol in the same round form a group."""

    chances: FloatArray
    """The probability that a sender's place is a target, rounded to a millionth."""
    begin: IntArray
    """Where each round's symbols begin; one more entry for the end."""
    order: IntArray
    """The groups, best first."""


def rank_groups(
    policies: Sequence[Policy],
    prior: ArrayLike | None,
    null_share: float = 0.0,
    grade_chances: Sequence[float] | None = None,
) -> Groups:
    """Rank symbols by the probability that a sender is at a target; ties: the later round, then the lower symbol."""
    chance_of = [
        target_chances(prior, policy, null_share=null_share, grade_chances=grade_chances) for policy in policies
    ]
    begin = np.cumsum([0, *(len(chances) for chances in chance_of)])
    chances: FloatArray = np.concatenate(chance_of).round(COMPARED_DECIMALS)
    later_first = np.repeat(-np.arange(len(chance_of)), np.diff(begin))
    return Groups(chances, begin, np.lexsort((later_first, -chances)))


def lottery_number(seed: str, ticket: str) -> int:
    """Return SHA-256 of "seed:ticket" as a number; the participants with the lowest numbers win."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{ticket}".encode()).digest(), "big")


def _lottery(rows: IntArray, reports: Reports, seed: str, room: int) -> IntArray:
    drawn = sorted(rows.tolist(), key=lambda row: lottery_number(seed, reports.ticket_of(row)))
    return np.array(drawn[:room], dtype=np.int64)


def _check(reports: Reports, policies: Sequence[Policy], wanted: int) -> None:
    if not isinstance(wanted, int | np.integer) or isinstance(wanted, bool) or wanted < 1:
        raise InputError("wanted", wanted, "should be a whole number of people, at least 1")
    if not policies:
        raise InputError("policies", [], "should be the policies of one or more rounds")
    as_cells("round", reports.round, len(policies))
    for number, policy in enumerate(policies):
        as_cells("symbol", reports.symbol[reports.round == number], policy.symbol_count)

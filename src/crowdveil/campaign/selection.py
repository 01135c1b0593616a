"""Decide who is selected, for which target, and break ties by a public lottery.

Three methods, on the same reports:

    latest first     Algorithm 2 as printed: of those who sent a selecting symbol, the later rounds before the earlier,
                     within a round in the order of the reports, until α are found; perhaps fewer
    by posterior     ours, for any target: everyone who sent a symbol, in the order of the probability that they come
                     to a target, Σ_T,g w_g π(t, g | symbol, round), under the last estimate of π, until α are found
    for each target  ours, with a number of people for each target: everyone who sent a symbol may be selected for one
                     target, and the sum of the chances that they come there is as high as can be (`assignment`)

Everyone who sent the same symbol in the same round has the same chances (`groups`).

**Filling up** (by posterior, for each target): if fewer people than wanted sent a selecting symbol, the senders of the
next best symbols are selected too, by their chance of coming to *this* target; `by_symbol` tells which is which. People
who sent NULL in the clear are never selected; in the protected form nobody knows who they are, and the shares of
senders outside and of rare visitors lower the probabilities of the symbols that they send: those who are likely to be
regular visitors of a target come first. If fewer people than wanted sent any symbol, all of them are selected and
`missing` says how many more were wanted, and where.

**Ties.** Probabilities are compared to a millionth, so that the last bits of a sum have no influence. Of equal symbols
those of the later round come first, whose policy was made from more reports, and within a round the lower symbol, hence
those that select; of equal targets the one that is named first. If only a part of a group can be selected, or if parts
of it are selected for different targets, a lottery decides: the lowest SHA-256 of "seed:ticket", and the lowest of all
go to the target where the group's chance is highest. A participant's ticket is the hash of the secret that their device
chose before it knew the seed, and the seed's hash is announced before the first report, so that in a campaign that
selects once neither side alone can choose the outcome; once the seed is published anyone can repeat it, and reporting
early does not help. Where the same reports serve several selections, those who were chosen less often before come
before the others of their group, and the lottery decides among these.

In a panel an operator can steer the lottery: the seeds of all selections follow from the announced hash, so whoever
knows them knows, once the tickets are in, who would win which selection. An operator who asks often, or decides which
selection carries the prize, can wait for an outcome that he likes among equals. Every selection that was made is in the
record, and is counted in the status of the participants whose answer it used.

**The target of a person.** Where people are selected for any target, it is the target that they are most likely to
come to; their chance is that of coming to any.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from crowdveil.arrays import FloatArray, IntArray, as_array, as_cells, frozen
from crowdveil.campaign.groups import Groups, assign_groups
from crowdveil.errors import InputError
from crowdveil.vocabulary import Chosen


@dataclass(frozen=True, eq=False)
class Reports:
    """One row per participant who sent a symbol: who, in which round, what."""

    participant: IntArray
    round: IntArray
    symbol: IntArray
    ticket: tuple[str, ...] | None = None
    """What each participant takes part in the lottery with; None: their number as text."""
    chosen_before: IntArray | None = None
    """How often each participant was chosen by earlier selections; None: never. Among equals fewer times come first."""

    def __post_init__(self) -> None:
        if self.ticket is not None and len(self.ticket) != np.size(self.participant):
            expected = f"should have one entry for each of {np.size(self.participant)} reports"
            raise InputError("ticket", f"{len(self.ticket)} entries", expected)
        for name in ("participant", "round", "symbol", "chosen_before"):
            if getattr(self, name) is None:
                continue
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
        before = None if self.chosen_before is None else self.chosen_before[rows]
        return Reports(self.participant[rows], self.round[rows], self.symbol[rows], ticket, before)


def with_history(reports: Reports, earlier: Sequence[tuple[int, IntArray]], since: int | None) -> Reports:
    """Note how often each participant was chosen by earlier selections, each given with its time, after some time."""
    times = np.zeros(len(reports), dtype=np.int64)
    order = np.argsort(reports.participant, kind="stable")
    for made, chosen in earlier:
        if len(reports) and (since is None or made > since):
            at = order[np.minimum(np.searchsorted(reports.participant, chosen, sorter=order), len(reports) - 1)]
            times[at[reports.participant[at] == chosen]] += 1
    return replace(reports, chosen_before=times)


@dataclass(frozen=True, eq=False)
class Selection:
    """The selected participants, best first; with a number for each target, target by target and there best first."""

    participants: IntArray
    chances: FloatArray
    """The probability that each of them comes to their target; or to any target, if people are wanted at any."""
    targets: IntArray
    """The target that each of them is selected for, as its position in the plan's targets."""
    by_symbol: NDArray[np.bool_]
    """Whether each of them sent a symbol that selects for the target; the others were added to fill up."""
    missing: tuple[int, ...]
    """How many fewer there are than wanted: one number for each target that has a number of its own, otherwise one."""

    def __len__(self) -> int:
        return len(self.participants)

    @property
    def hits(self) -> int:
        """How many of them sent a selecting symbol."""
        return int(self.by_symbol.sum())

    @property
    def short(self) -> int:
        """How many fewer there are than wanted."""
        return sum(self.missing)

    @property
    def chosen(self) -> list[Chosen]:
        """How each of them was selected."""
        return ["symbol" if one else "filled" for one in self.by_symbol.tolist()]

    def at_target(self, target: int) -> IntArray:
        """Return the participants who are selected for a target, by its position, best first."""
        return np.asarray(self.participants[self.targets == target])


def nobody(missing: tuple[int, ...]) -> Selection:
    """Return the selection of nobody, where so many were wanted."""
    none = np.zeros(0, dtype=np.int64)
    return Selection(none, np.zeros(0), none, np.zeros(0, dtype=bool), missing)


def select_latest_first(reports: Reports, groups: Groups, wanted: int) -> Selection:
    """Select like Algorithm 2 of the paper: selecting symbols of the latest rounds first."""
    group = _groups_of_reports(reports, groups)
    _check_wanted(wanted)
    rows = np.flatnonzero(groups.selecting[group])
    latest_first = rows[np.argsort(-reports.round[rows], kind="stable")][:wanted]
    of = group[latest_first]
    return Selection(
        reports.participant[latest_first],
        groups.at_any[of],
        groups.likeliest[of],
        np.ones(len(of), dtype=bool),
        (wanted - len(of),),
    )


def select_by_posterior(reports: Reports, groups: Groups, wanted: int, seed: str) -> Selection:
    """Select the people most likely to be at any target; a repeatable lottery breaks ties."""
    group = _groups_of_reports(reports, groups)
    _check_wanted(wanted)
    picked = _pick(reports, group, groups, groups.at_any[:, None], (wanted,), seed)
    of = group[picked.rows]
    rank = np.empty(len(groups), dtype=np.int64)
    rank[groups.best_first] = np.arange(len(groups))
    order = np.lexsort((reports.participant[picked.rows], rank[of]))
    return Selection(
        reports.participant[picked.rows][order],
        groups.at_any[of][order],
        groups.likeliest[of][order],
        groups.selecting[of][order],
        picked.missing,
    )


def select_for_each_target(reports: Reports, groups: Groups, numbers: Sequence[int], seed: str) -> Selection:
    """Select so many people for each target that the most are expected to come; a repeatable lottery breaks ties."""
    group = _groups_of_reports(reports, groups)
    if len(numbers) != groups.at.shape[1]:
        expected = f"should have one number for each of {groups.at.shape[1]} targets"
        raise InputError("numbers", f"{len(numbers)} numbers", expected)
    for number in numbers:
        _check_wanted(number, "numbers")
    picked = _pick(reports, group, groups, groups.at, tuple(numbers), seed)
    of = group[picked.rows]
    chances = groups.at[of, picked.targets]
    place = np.empty(len(groups), dtype=np.int64)
    place[groups.preferred] = np.arange(len(groups))
    order = np.lexsort((reports.participant[picked.rows], place[of], -chances, picked.targets))
    return Selection(
        reports.participant[picked.rows][order],
        chances[order],
        picked.targets[order],
        groups.names[of, picked.targets][order],
        picked.missing,
    )


@dataclass(frozen=True, eq=False)
class _Picked:
    """Rows of reports, in no particular order, with the position of a target for each."""

    rows: IntArray
    targets: IntArray
    missing: tuple[int, ...]


def _pick(
    reports: Reports, group: IntArray, groups: Groups, chances: FloatArray, numbers: tuple[int, ...], seed: str
) -> _Picked:
    sizes = np.bincount(group, minlength=len(groups))
    assigned = assign_groups(groups, chances, sizes, numbers)
    taken = assigned.sum(axis=1)
    rows = np.flatnonzero(taken[group] > 0)
    rows = rows[np.argsort(group[rows], kind="stable")]
    found, places = [], []
    for members in np.split(rows, np.flatnonzero(np.diff(group[rows])) + 1) if len(rows) else ():
        one = group[members[0]]
        to = np.flatnonzero(assigned[one])
        if taken[one] < len(members) or len(to) > 1:
            members = _lottery(members, reports, seed, int(taken[one]))
        to = to[np.argsort(-chances[one, to], kind="stable")]
        found.append(members)
        places.append(np.repeat(to, assigned[one, to]))
    empty = np.zeros(0, dtype=np.int64)
    missing = np.array(numbers) - assigned.sum(axis=0)
    return _Picked(np.concatenate([empty, *found]), np.concatenate([empty, *places]), tuple(missing.tolist()))


def lottery_number(seed: str, ticket: str) -> int:
    """Return SHA-256 of "seed:ticket" as a number; the participants with the lowest numbers win."""
    return int.from_bytes(_drawn(seed, ticket), "big")


def _drawn(seed: str, ticket: str) -> bytes:
    return hashlib.sha256(f"{seed}:{ticket}".encode()).digest()


def _lottery(rows: IntArray, reports: Reports, seed: str, room: int) -> IntArray:
    """Return the winners among some rows: those chosen less often before, of equals the lowest number first."""
    if reports.chosen_before is None:
        return _lowest(rows, reports, seed, room)
    before, winners = reports.chosen_before[rows], []
    for times in np.unique(before).tolist():
        alike = rows[before == times]
        winners.append(_lowest(alike, reports, seed, min(room, len(alike))))
        room -= len(winners[-1])
        if not room:
            break
    return np.concatenate(winners)


def _lowest(rows: IntArray, reports: Reports, seed: str, room: int) -> IntArray:
    """Return the rows with the lowest numbers, the lowest first; bytes compare like the numbers they stand for."""
    drawn = [_drawn(seed, reports.ticket_of(row)) for row in rows.tolist()]
    heads = np.frombuffer(b"".join(one[:8] for one in drawn), dtype=">u8")
    last = np.partition(heads, room - 1)[room - 1]
    candidates = sorted(np.flatnonzero(heads <= last).tolist(), key=drawn.__getitem__)
    return rows[candidates[:room]]


def _groups_of_reports(reports: Reports, groups: Groups) -> IntArray:
    """Return the group of each report; refuse reports that do not fit the rounds."""
    symbols = np.diff(groups.begin)
    as_cells("round", reports.round, len(symbols))
    for number, count in enumerate(symbols.tolist()):
        as_cells("symbol", reports.symbol[reports.round == number], count)
    return np.asarray(groups.begin[reports.round] + reports.symbol)


def _check_wanted(wanted: int, name: str = "wanted") -> None:
    if not isinstance(wanted, int | np.integer) or isinstance(wanted, bool) or wanted < 1:
        raise InputError(name, wanted, "should be a whole number of people, at least 1")

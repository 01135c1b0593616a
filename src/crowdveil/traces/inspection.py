"""Look at visits as they came from files: what in them is wrong, what was done about it, and what to set.

Some things are left out unless they are to be kept, because they change a result and are almost never meant: dates far
from all others, times in the future, the same visit twice, an account that repeats another, swapped coordinates. Others
are only said: clocks that do not fit the place, users seen in one week, accounts that share some visits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from crowdveil.arrays import BoolArray, IntArray
from crowdveil.errors import InputError
from crowdveil.traces.dates import DAY_S, clock_fault, outlying_pieces, show_day, usual_days
from crowdveil.traces.repeats import coarse_times, repeated_across_files, repeated_visits, repeating_accounts
from crowdveil.traces.visit_builder import LATITUDE_RANGE
from crowdveil.traces.visits import Visits

Oddity: TypeAlias = Literal["future-times", "outlying-dates", "swapped-coordinates", "duplicates", "repeated-accounts"]
"""What is left out unless it is kept, in the order in which it is looked for."""
ODDITIES: tuple[Oddity, ...] = get_args(Oddity)

REASONS: dict[Oddity, str] = {
    "future-times": "time in the future",
    "outlying-dates": "date far from all others",
    "swapped-coordinates": "latitude and longitude swapped",
    "duplicates": "same user, time and place again",
    "repeated-accounts": "account that repeats another",
}
"""Under which `Visits.dropped` counts what was left out."""
TOO_FEW_WEEKS = "user seen in too few weeks"

MIN_SWAP_DEGREES = 15.0
"""Where latitude and longitude are closer, a swapped position may be a true one nearby."""
MAX_CLOCK_ERROR_S = 3.5 * 3600
"""How far local time may be from that of the sun; the farthest time zones are 3 hours from it."""
SECONDS_PER_DEGREE = 240
MIN_SHARE_TO_TELL = 0.25
"""Of users seen in one week only: some are in every data set."""
MIN_SHARE_BEYOND = 0.01
"""Of rows with an impossible latitude; a few are only broken."""
SHOWN = 4
SOME, USERS = "{some}", "{users}"
"""What stands for counts in the texts below."""


class VisitFinding(NamedTuple):
    """One thing that was found, in words."""

    kind: str
    """One of `ODDITIES`, or what is only said: "clocks", "one-week-users", "shared-visits", "latitude-out-of-range" or
    "identical-rows"."""
    visits: int
    users: int
    left_out: bool
    text: str
    """What was found, what was done, and what to set."""


@dataclass(frozen=True, eq=False)
class Inspection:
    """What was found in some visits, and the visits without what was left out."""

    visits: Visits
    findings: tuple[VisitFinding, ...]


def inspect_visits(
    visits: Visits,
    *,
    keep: Sequence[Oddity] = (),
    min_weeks: int = 1,
    distinct: bool = False,
    now_s: float | None = None,
) -> Inspection:
    """Find what is odd about some visits; leave out what would spoil a result.

    Args:
        visits: Visits as they were read.
        keep: What to leave in: "future-times", "outlying-dates", "swapped-coordinates", "duplicates" or
            "repeated-accounts".
        min_weeks: Leave out users who were seen in fewer calendar weeks (default: 1, which leaves out nobody).
        distinct: Whether the same user, time and place counts once, also in one file with times in whole minutes.
        now_s: What counts as now, in seconds since 1970 (default: this machine's clock).

    What was left out is counted by reason in `visits.dropped` of the result. Users without a visit left are gone.

    >>> import crowdveil as cv
    >>> visits = cv.synthetic_visits(1, users=20, weeks=6)
    >>> inspect_visits(visits).findings
    ()
    """
    unknown = [one for one in keep if one not in ODDITIES]
    if unknown:
        raise InputError("keep", unknown[0], f"should be one of {', '.join(ODDITIES)}")
    if min_weeks < 1:
        raise InputError("min_weeks", min_weeks, "should be a whole number of weeks, at least 1")
    if distinct and "duplicates" in keep:
        raise InputError("distinct", distinct, 'can\'t be combined with keeping "duplicates"')
    if not len(visits):
        return Inspection(visits, ())
    state = _State(visits, keep, distinct, time.time() if now_s is None else now_s)
    findings = [found for look in LOOKS for found in look(state)]
    if min_weeks > 1:
        few = _weeks_seen(visits.where(state.good)) < min_weeks
        state.leave_out(TOO_FEW_WEEKS, few[visits.user])
    return Inspection(state.kept_visits(), tuple(findings))


class _State:
    """The visits that are still good, and how many were left out for which reason."""

    def __init__(self, visits: Visits, keep: Sequence[Oddity], distinct: bool, now_s: float) -> None:
        self.visits, self.keep, self.distinct, self.now_s = visits, keep, distinct, now_s
        self.good: BoolArray = np.ones(len(visits), dtype=bool)
        self.left_out: dict[str, int] = {}

    def leave_out(self, reason: str, bad: BoolArray) -> None:
        now_bad = self.good & bad
        if now_bad.any():
            self.left_out[reason] = self.left_out.get(reason, 0) + int(now_bad.sum())
            self.good &= ~bad

    def found(self, oddity: Oddity, bad: BoolArray, text: str, advice: str) -> Iterator[VisitFinding]:
        """Tell of some visits; leave them out unless they are to be kept, or nothing would be left."""
        bad = bad & self.good
        number = int(bad.sum())
        if not number:
            return
        users = len(np.unique(self.visits.user[bad]))
        kept = oddity in self.keep
        told = text.replace(SOME, _count(number, "visit")).replace(USERS, _count(users, "user"))
        done = "They are kept, as you asked." if kept else f'They were left out; to count them, keep "{oddity}".'
        if not kept:
            self.leave_out(REASONS[oddity], bad)
        yield VisitFinding(oddity, number, users, not kept, " ".join(filter(None, (told, done, advice))))

    def kept_visits(self) -> Visits:
        if self.good.all():
            return self.visits
        good = replace(self.visits.where(self.good), dropped={**self.visits.dropped, **self.left_out})
        return good.of_users(np.bincount(good.user, minlength=len(good.users)) > 0)


# --- times ----------------------------------------------------------------------------------------------------


def _future(state: _State) -> Iterator[VisitFinding]:
    ahead = state.visits.utc_s > state.now_s + DAY_S  # a day, since clocks and zones differ
    if not ahead.any():
        return
    last = show_day(int(state.visits.utc_s.max()) // DAY_S)
    if 2 * int(ahead.sum()) > len(ahead):
        users, number = len(np.unique(state.visits.user[ahead])), int(ahead.sum())
        told = f"{number:,} of {_count(len(ahead), 'visit')} lie in the future, up to {last}"
        text = f"{told}: is the unit of the times right, and this machine's clock? They are kept."
        yield VisitFinding("future-times", number, users, False, text)
        return
    yield from state.found("future-times", ahead, f"Found {{some}} of {{users}} in the future, up to {last}.", "")


def _outlying(state: _State) -> Iterator[VisitFinding]:
    day = state.visits.local_s // DAY_S
    good = day if state.good.all() else day[state.good]
    usual = usual_days(good)
    pieces = outlying_pieces(good, usual)
    if not pieces:
        return
    dates = ", ".join(map(str, pieces[:SHOWN])) + f" and {len(pieces) - SHOWN} more" * (len(pieces) > SHOWN)
    faults = dict.fromkeys(filter(None, (clock_fault(piece, usual) for piece in pieces)))
    why = f" Known causes: {', '.join(faults)}." if faults else ""
    text = f"Found {{some}} of {{users}} with dates far from all others: {dates}; the others lie from {usual}.{why}"
    yield from state.found("outlying-dates", (day < usual.first) | (day > usual.last), text, "")


def _clocks(state: _State) -> Iterator[VisitFinding]:
    """Compare local time with that of the sun."""
    visits = state.visits
    half_day = DAY_S / 2
    error_s = np.abs((visits.offset_s - SECONDS_PER_DEGREE * visits.longitude + half_day) % DAY_S - half_day)
    odd = (error_s > MAX_CLOCK_ERROR_S) & state.good
    number = int(odd.sum())
    if not number:
        return
    users = len(np.unique(visits.user[odd]))
    hours = round(float(np.median(visits.longitude[odd])) * SECONDS_PER_DEGREE / 3600)
    where = f"they are where clocks show about UTC{hours:+03}:00"
    told = f"The local time of {_count(number, 'visit')} of {_count(users, 'user')} does not fit the place: {where}"
    if not visits.offset_s.any():
        told += ", but no time zone is known and days begin at midnight UTC"
    yield VisitFinding("clocks", number, users, False, f"{told}. They are kept; set the zone to use one clock for all.")


# --- places ---------------------------------------------------------------------------------------------------


def _swapped(state: _State) -> Iterator[VisitFinding]:
    """Find whole degrees whose mirror image, latitude and longitude exchanged, holds more visits."""
    visits = state.visits
    row = np.floor(visits.latitude).astype(np.int64)
    column = np.floor(visits.longitude).astype(np.int64)
    square = (row + 90) * 361 + column + 180
    held = np.bincount(square, minlength=181 * 361)
    there = np.flatnonzero(held)
    north, east = there // 361 - 90, there % 361 - 180
    mirrored = np.where(np.abs(east) <= 90, (east + 90) * 361 + north + 180, there)
    swapped = (held[mirrored] > held[there]) & (np.abs(north - east) >= MIN_SWAP_DEGREES)
    if swapped.any():
        text = "Found {some} of {users} that would lie among the others with latitude and longitude exchanged."
        bad = np.zeros(len(held), dtype=bool)
        bad[there[swapped]] = True
        yield from state.found("swapped-coordinates", bad[square], text, "Exchange them in the file.")
    beyond = visits.dropped.get(LATITUDE_RANGE, 0)
    if beyond > MIN_SHARE_BEYOND * len(visits):
        text = f"{beyond:,} rows with a latitude beyond 90 degrees were dropped: are the columns swapped there?"
        yield VisitFinding("latitude-out-of-range", beyond, 0, True, text)


# --- repetitions ----------------------------------------------------------------------------------------------


def _repeated(state: _State) -> Iterator[VisitFinding]:
    if state.visits.file is not None:
        text = "Found {some} of {users} that an earlier file has too: the files overlap."
        yield from state.found("duplicates", repeated_across_files(state.visits), text, "")
    coarse = coarse_times(state.visits)
    if coarse and not state.distinct:
        # two calls in the same minute through the same tower are two calls
        yield from _identical(state)
        return
    if "duplicates" not in state.keep or state.visits.file is None:
        text = "Found {some} of {users} with the same user, time and place as another visit: do files overlap?"
        yield from state.found("duplicates", repeated_visits(state.visits), text, "")
    if coarse:
        return
    whole, partly = repeating_accounts(state.visits, state.good)
    if whole:
        number = len(whole)
        some = ", ".join(f"{copy!r} those of {original!r}" for copy, original in _names(state.visits, whole[:SHOWN]))
        users = np.zeros(len(state.visits.users), dtype=bool)
        users[[copy for copy, _ in whole]] = True
        what = "account repeats" if number == 1 else "accounts repeat"
        text = f"{number:,} {what} the visits of another ({some}): {{some}}."
        yield from state.found("repeated-accounts", users[state.visits.user], text, "")
    if partly:
        some = ", ".join(f"{one!r} and {other!r}" for one, other in _names(state.visits, partly[:SHOWN]))
        pairs = "pair of accounts shares" if len(partly) == 1 else "pairs of accounts share"
        text = (
            f"{len(partly):,} {pairs} many visits ({some}). They are kept; if they are one person, give them one name."
        )
        yield VisitFinding("shared-visits", 0, len(np.unique(np.array(partly))), False, text)


def _identical(state: _State) -> Iterator[VisitFinding]:
    if "duplicates" in state.keep:
        return
    again = repeated_visits(state.visits) & state.good
    number, users = int(again.sum()), len(np.unique(state.visits.user[again]))
    if number:
        told = (
            f"Found {_count(number, 'visit')} of {_count(users, 'user')} with the same user, time and place as another"
        )
        why = "times are in whole minutes, so that they may be true ones"
        text = f"{told}. They are kept, because {why}; to count each once, set distinct (--distinct)."
        yield VisitFinding("identical-rows", number, users, False, text)


def _names(visits: Visits, pairs: Sequence[tuple[int, int]]) -> list[tuple[str, str]]:
    return [(visits.users[one][:40], visits.users[other][:40]) for one, other in pairs]


def _one_week(state: _State) -> Iterator[VisitFinding]:
    visits = state.visits if state.good.all() else state.visits.where(state.good)
    seen = _weeks_seen(visits)
    once, users = int((seen == 1).sum()), int((seen > 0).sum())
    if users and once >= MIN_SHARE_TO_TELL * users:
        number = int((seen[visits.user] == 1).sum())
        told = f"{once:,} of {_count(users, 'user')} ({once / users:.0%}) were seen in one week only"
        done = "nothing can be predicted for them. They are kept; set min_weeks to 2 to leave them out."
        yield VisitFinding("one-week-users", number, once, False, f"{told}: {done}")


def _weeks_seen(visits: Visits) -> IntArray:
    """Count the calendar weeks in which each user was seen."""
    week = (visits.local_s // DAY_S + 3) // 7
    fresh = np.ones(len(week), dtype=bool)
    fresh[1:] = (np.diff(visits.user) != 0) | (np.diff(week) != 0)
    return np.bincount(visits.user[fresh], minlength=len(visits.users))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


LOOKS = (_future, _outlying, _swapped, _repeated, _clocks, _one_week)

"""Check what is claimed of a year of campaigns against its records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from crowdveil.paper.verdicts import of_record, of_values, ratio_values
from crowdveil.plots.report import FAILS, HOLDS, UNDECIDED, StudyClaim
from crowdveil.plots.style import METHODS
from crowdveil.simulate.records import Record

CLEAR, PROTECTED = "in the clear", "grades and outside protected"
"""Labels of the records."""
MEAN = "year-mean"
"""The figure that is judged."""
PER_REPORT = ("panel-thrice", "panel-thrice-pooled", "list-thrice")
"""Panels of which no report loses more than a device allows by default."""


class YearGoal(NamedTuple):
    """How many times the coverage of some peers the best panel should have."""

    label: str
    peers: tuple[str, ...]
    times: float
    apart: bool = False
    """Whether the two intervals should be separate, too."""
    only: tuple[str, ...] = ()
    """The panels that count; all where none is named."""


GOALS = (
    YearGoal(CLEAR, ("today",), 10.0),
    YearGoal(CLEAR, ("split",), 2.5),
    YearGoal(CLEAR, ("laplace-",), 1.15, apart=True),
    YearGoal(CLEAR, ("none",), 0.6),
    YearGoal(PROTECTED, ("today",), 8.0, only=PER_REPORT),
    YearGoal(PROTECTED, ("today",), 8.0),
)


def year_claims(records: Sequence[Record]) -> list[StudyClaim]:
    """Decide every goal, by the best panel and the best of the peers; ratios are paired by repetition."""
    at = {(r.label, r.method): r for r in records if r.figure == MEAN}
    made = []
    for goal in GOALS:
        here = {method: record for (label, method), record in at.items() if label == goal.label}
        panels = [r for m, r in here.items() if m.startswith(("panel-", "list-")) and (not goal.only or m in goal.only)]
        peers = [r for m, r in here.items() if m.startswith(goal.peers)]
        if not panels or not peers:
            continue
        ours, peer = (max(some, key=lambda record: record.value) for some in (panels, peers))
        made.append(_claim(goal, ours, peer))
    return made


def _claim(goal: YearGoal, ours: Record, peer: Record) -> StudyClaim:
    names = [METHODS[one.method].name for one in (ours, peer)]
    within = " within the default limits of every single report" if goal.only else ""
    text = f"{goal.label.capitalize()}: the best panel{within} ({names[0]}) covers at least {goal.times:g} times what "
    text += f"“{names[1]}” does"
    if peer.value == 0:
        return StudyClaim(f"{text}, which covers nothing.", HOLDS if ours.ci_low > 0 else UNDECIDED)
    ratio = of_values(ratio_values(ours, peer))
    verdict = ratio.above(goal.times)
    if goal.apart:
        text += ", with separate intervals"
        mine, theirs = of_record(ours), of_record(peer)
        if verdict == HOLDS and mine.low <= theirs.high:
            verdict = FAILS
    told = f"{100 * ours.value:.1f} % against {100 * peer.value:.1f} %"
    return StudyClaim(f"{text}: {told}, {ratio.value:.2f} times ({ratio.low:.2f} to {ratio.high:.2f}).", verdict)

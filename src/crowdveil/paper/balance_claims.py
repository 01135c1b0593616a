"""Check what is claimed of a number of people for each target, against the records of the figure `balance`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from crowdveil.paper.verdicts import difference, exceptions, throughout
from crowdveil.plots.report import StudyClaim
from crowdveil.plots.style import METHODS
from crowdveil.simulate.records import Record


class Goal(NamedTuple):
    """How many times the value of a peer `each` should have, in one measure."""

    peer: str
    measure: str
    times: float
    what: str


GOALS = (
    Goal("any", "least_share", 2.0, "the least target has at least twice the visitors that it has"),
    Goal("any", "visitors_share", 0.75, "all targets together keep three quarters of the visitors that they have"),
    Goal("any", "where_selected_share", 1.0, "more people come to the very target that they were chosen for than"),
    Goal("laplace-posterior", "least_share", 1.0, "the least target has more visitors than"),
    Goal("laplace-posterior", "visitors_share", 1.0, "all targets together have more visitors than"),
)


def balance_claims(records: Sequence[Record]) -> list[StudyClaim]:
    """Decide each goal for every number of targets."""
    at = {(r.method, r.measure, r.targets): r for r in records if r.figure == "balance"}
    counts = sorted({targets for _, _, targets in at if targets})
    if not counts:
        return []
    made = []
    for goal in GOALS:
        pairs = {
            f"{many} targets": (at["each", goal.measure, many], at[goal.peer, goal.measure, many]) for many in counts
        }
        verdicts = {name: difference(ours, peer, goal.times).above(0.0) for name, (ours, peer) in pairs.items()}
        told = ", ".join(f"{name} {ours.value:.2f} against {peer.value:.2f}" for name, (ours, peer) in pairs.items())
        text = f"With a number for each target, {goal.what} with {METHODS[goal.peer].name}, per person wanted: {told}."
        made.append(StudyClaim(text + exceptions(verdicts), throughout(verdicts.values())))
    return made

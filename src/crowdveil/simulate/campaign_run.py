"""Run a whole private campaign on known places, in one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import IntArray, as_array, as_cells
from crowdveil.campaign import Plan, State, select
from crowdveil.campaign.selection import Reports, Selection
from crowdveil.dataframes import Backend, make_frame
from crowdveil.errors import InputError
from crowdveil.simulate.simulation import run_rounds
from crowdveil.vocabulary import NULL


@dataclass(frozen=True, eq=False, repr=False)
class CampaignResult:
    """A finished campaign: what the organiser learnt, what was sent, and who was selected."""

    state: State
    """The finished state: the estimate of where people are (`state.prior`), the rounds and their policies."""
    reports: Reports
    """Who sent which symbol in which round."""
    selection: Selection
    """Whom the campaign selects, best first; `participants` are positions in `places`."""
    places: IntArray
    """The place that each user reported from, or NULL. A real organiser never sees these."""

    def __repr__(self) -> str:
        at_target, chosen = self.at_target, len(self.selection)
        return (
            f"CampaignResult({chosen:,} selected of {len(self.reports):,} reports, {at_target:,} of them at a target)"
        )

    @property
    def at_target(self) -> int:
        """How many of the selected really have a target as their place."""
        return int(np.isin(self.places[self.selection.participants], self.state.plan.targets).sum())

    def to_frame(self, backend: Backend | None = None) -> Any:
        """Give one row per user who sent a symbol, as a data frame.

        Args:
            backend: "pandas", "polars" or "pyarrow" (default: the first of them that is installed).

        Columns: participant (position in `places`), round (from 0), symbol (its name), selected, target, the cell that
        the user is selected for, and chance, the probability that they come there as the organiser estimates it (both
        missing if not selected; where people are wanted at any target, the likeliest, and the chance of any).
        """
        rank = {who: place for place, who in enumerate(self.selection.participants.tolist())}
        chances, targets = self.selection.chances.tolist(), self.selection.targets.tolist()
        who, policies = self.reports.participant.tolist(), self.state.policies
        sent = zip(self.reports.round.tolist(), self.reports.symbol.tolist(), strict=True)
        return make_frame(
            {
                "participant": self.reports.participant,
                "round": self.reports.round,
                "symbol": [policies[number].symbol_name(symbol) for number, symbol in sent],
                "selected": [one in rank for one in who],
                "target": [self.state.plan.targets[targets[rank[one]]] if one in rank else None for one in who],
                "chance": [float(chances[rank[one]]) if one in rank else None for one in who],
            },
            backend,
        )


def run_campaign(
    plan: Plan, places: ArrayLike, *, grades: ArrayLike | None = None, seed: int | None = None
) -> CampaignResult:
    """Run a whole private campaign: every round's policy, certificate, draws and estimate, then the selection.

    Args:
        plan: What the organiser fixes: area, targets, ε, how many users and how many are wanted, rounds.
        places: The cell that each user reports from, or NULL (-1); `plan.users` of them. For a plan with grades, the
            default, `choose_graded_places` gives both places and grades; in the clear form `choose_places`.
        grades: How regularly each user visits the place: 0 for a regular visitor, then falling; default: all regular.
        seed: Decides the order in which users come, and every draw (default: fresh randomness from the system).

    The same, round by round, as an organiser and its users do it:

        state = cv.begin(plan)
        while not state.finished:
            policy = cv.next_policy(state)                           # optimal for what is known so far
            state = cv.advance(state, cv.RoundOpened(policy))
            certificate = cv.certify(policy)                         # every device checks the policy itself
            symbols = cv.draw_many(policy, cells, certificate, generator)
            state = cv.advance(state, cv.RoundClosed(cv.count_symbols(policy, symbols, nulls)))
        selection = cv.select(state, reports)

    >>> import math, numpy as np
    >>> import crowdveil as cv
    >>> area = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=2.0)
    >>> places = np.random.default_rng(1).integers(0, len(area), 300)
    >>> plan = cv.Plan(area, targets=(7,), epsilon_per_km=math.log(4), users=300, wanted=15, rounds=3)
    >>> result = run_campaign(plan, places, seed=1)
    >>> len(result.selection), result.state.finished
    (15, True)
    """
    if plan.panel:
        raise InputError("plan", "a panel", "should be asked once; `run_panel` runs a panel")
    cells, their_grades = check_people(plan, places, grades)
    generator = np.random.default_rng(seed)
    order = generator.permutation(plan.users)
    state, reports, _ = run_rounds(plan, order, cells, generator, grades=their_grades)
    return CampaignResult(state, reports, select(state, reports), cells)


def check_people(plan: Plan, places: ArrayLike, grades: ArrayLike | None) -> tuple[IntArray, IntArray | None]:
    """Refuse places and grades that are not one for each of the plan's users; return them as arrays."""
    cells = _check_places(places, plan)
    their_grades = None if grades is None else as_cells("grades", grades, plan.grades)
    if their_grades is not None and their_grades.shape != cells.shape:
        raise InputError("grades", their_grades.shape, f"should have one entry for each of {plan.users:,} users")
    return cells, their_grades


def _check_places(places: ArrayLike, plan: Plan) -> IntArray:
    array = as_array("places", places, "should be whole numbers: a cell, or -1 (NULL), for each user")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError("places", f"{array.dtype} of shape {array.shape}", "should be one whole number for each user")
    if len(array) != plan.users:
        raise InputError("places", f"{len(array):,} users", f"should be as many as the plan's users, {plan.users:,}")
    cells = array.astype(np.int64)
    bad = ~((cells >= 0) & (cells < len(plan.area)) | (cells == NULL))
    if bad.any():
        what = f"should be a cell from 0 to {len(plan.area) - 1}, or -1 (NULL)"
        raise InputError("places", int(cells[bad][0]), what)
    return cells

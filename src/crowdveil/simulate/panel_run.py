"""Run a panel on known places: everyone answers once, and any number of selections is made from the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import IntArray
from crowdveil.campaign import Plan, SelectionRequest, State
from crowdveil.campaign.selection import Reports, Selection
from crowdveil.campaign.state import select_from_panel
from crowdveil.errors import InputError
from crowdveil.simulate.campaign_run import check_people
from crowdveil.simulate.simulation import run_rounds


@dataclass(frozen=True, eq=False, repr=False)
class PanelResult:
    """The answers to a panel, and what the organiser learnt from them."""

    state: State
    """The state with its one closed round; `state.prior` is the estimate of where people are."""
    reports: Reports
    """Who sent which symbol."""
    places: IntArray
    """The place that each user reported from, or NULL. A real organiser never sees these."""
    seed: str
    """Seed of the lotteries."""

    def __repr__(self) -> str:
        return f"PanelResult({len(self.reports):,} answers, {len(self.state.plan.targets):,} places)"

    def ask(self, requests: Sequence[SelectionRequest], *, every_s: int = 0) -> list[Selection]:
        """Make one selection after another, so many seconds apart; each knows whom those before it chose."""
        found: list[Selection] = []
        for number, request in enumerate(requests):
            earlier = [(before * every_s, one.participants) for before, one in enumerate(found)]
            seed, made = f"{self.seed}:{number}", number * every_s
            found.append(select_from_panel(self.state, self.reports, request, seed=seed, made=made, earlier=earlier))
        return found


def run_panel(
    plan: Plan, places: ArrayLike, *, grades: ArrayLike | None = None, seed: int | None = None
) -> PanelResult:
    """Let everyone answer a panel once; then ask it as often as you like.

    Args:
        plan: A plan with `panel=True` and one round; its targets are the places that may be asked for.
        places: The cell that each user reports from, or NULL (-1); `plan.users` of them.
        grades: How regularly each user visits the place: 0 for a regular visitor, then falling; default: all regular.
        seed: Decides the order in which users come, and every draw (default: fresh randomness from the system).

    >>> import math, numpy as np
    >>> import crowdveil as cv
    >>> area = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=2.0)
    >>> places = np.random.default_rng(1).integers(0, len(area), 300)
    >>> plan = cv.Plan(area, range(len(area)), math.log(4), users=300, rounds=1, panel=True)
    >>> panel = run_panel(plan, places, seed=1)
    >>> shops = [cv.SelectionRequest(targets=(7, 12), numbers=(5, 5), at_most=1) for _ in range(4)]
    >>> [len(selection) for selection in panel.ask(shops)]
    [10, 10, 10, 10]
    """
    if not plan.panel or plan.rounds != 1:
        raise InputError("plan", f"panel={plan.panel}, rounds={plan.rounds}", "should be a panel of one round")
    cells, their_grades = check_people(plan, places, grades)
    generator = np.random.default_rng(seed)
    state, reports, _ = run_rounds(plan, generator.permutation(plan.users), cells, generator, grades=their_grades)
    return PanelResult(state, reports, cells, plan.seed)

"""Convert an operator's message to a plan; server and audit use the same conversion."""

from __future__ import annotations

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray
from crowdveil.campaign import Plan
from crowdveil.errors import InputError
from crowdveil.vocabulary import GRADES
from crowdveil.wire import CampaignPlan

MAX_EPSILON_PER_KM = 1000.0
"""Far above anything private; larger values would only overflow."""


NO_SEED = "0" * 64
"""For plans that are only checked or previewed: nothing but the lottery depends on the seed."""


def plan_from_wire(new: CampaignPlan, seed: str, area: Area | None = None) -> Plan:
    """Convert an operator's message to a plan, and check everything that a campaign depends on.

    `area` may be passed if the area of the message was made before.
    """
    if new.round_size is not None and new.round_size * new.rounds > new.users:
        raise InputError(
            "round_size",
            new.round_size,
            f"times {new.rounds} rounds should be at most the number of users, {new.users}",
        )
    if new.epsilon_per_km > MAX_EPSILON_PER_KM:
        expected = f"should be at most {MAX_EPSILON_PER_KM:g}; devices usually accept ln 4 = 1.386"
        raise InputError("epsilon_per_km", new.epsilon_per_km, expected)
    made = Area.from_description(new.area) if area is None else area
    return Plan(
        area=made,
        targets=new.targets,
        epsilon_per_km=new.epsilon_per_km,
        users=new.users,
        wanted=new.people_wanted,
        rounds=new.rounds,
        confidence=new.confidence,
        algorithm=new.algorithm,
        start=None if new.prior is None else _prior(new, len(made)),
        seed=seed,
        null_epsilon=new.null_epsilon,
        grade_epsilon=new.grade_epsilon,
    )


def _prior(new: CampaignPlan, cells: int) -> FloatArray:
    """Read the prior: one share for each cell or, with grades, for each cell at each grade."""
    prior = np.array(new.prior, dtype=np.float64)
    if new.grade_epsilon is None:
        return prior
    if prior.size == cells:  # nothing is known about grades: every grade gets the same share
        return np.tile(prior / GRADES, (GRADES, 1))
    if prior.size == GRADES * cells:
        return prior.reshape(GRADES, cells)
    expected = f"should have {cells} entries, one for each cell, or {GRADES * cells}, regular visitors first"
    raise InputError("prior", f"{prior.size} entries", expected)


def round_seats(new: CampaignPlan, plan: Plan, number: int) -> int:
    """Return how many people may take part in a round."""
    return plan.round_users()[number] if new.round_size is None else new.round_size

"""Convert operators' messages to plans and requests, and selections and forecasts to messages, for server and audit."""

from __future__ import annotations

import numpy as np

from crowdveil.area import Area
from crowdveil.arrays import FloatArray
from crowdveil.campaign import Expected, Forecast, Plan, Selection, SelectionRequest
from crowdveil.errors import InputError
from crowdveil.policy.grades import chances_of_grades
from crowdveil.wire import AuditSelection, CampaignPlan, Expectation, ExpectedPeople, ExpectedPlace, PanelRequest

MAX_EPSILON_PER_KM = 1000.0
"""Far above anything private; larger values would only overflow."""


NO_SEED = "0" * 64
"""For plans that are only checked or previewed: nothing but the lottery depends on the seed."""


def plan_from_wire(new: CampaignPlan, seed: str, area: Area | None = None) -> Plan:
    """Convert an operator's message to a plan, and check everything that a campaign depends on.

    `area` may be passed if the area of the message was made before.
    """
    if new.round_size is not None and not new.panel and new.round_size * new.rounds > new.users:
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
        numbers=new.numbers,
        panel=new.panel,
        target_names=new.target_names,
        rounds=new.rounds,
        confidence=new.confidence,
        algorithm=new.algorithm,
        start=None if new.prior is None else _prior(new, len(made)),
        seed=seed,
        null_epsilon=new.null_epsilon,
        grade_epsilon=new.grade_epsilon,
        grade_chances=chances_of_grades(new.thresholds),
    )


def request_from_wire(asked: PanelRequest) -> SelectionRequest:
    """Convert what an operator asks of a panel to a request."""
    return SelectionRequest(
        targets=asked.targets,
        wanted=asked.wanted or 0,
        numbers=asked.numbers,
        target_names=asked.target_names,
        at_most=asked.at_most,
        within_s=asked.within_s,
        other_cells=asked.other_cells,
    )


def selection_message(
    selection: Selection, *, request: PanelRequest | None, made: int, rounds: int, seed: str
) -> AuditSelection:
    """Convert a selection to the message that the audit record has of it."""
    return AuditSelection(
        request=request,
        made=made,
        rounds=rounds,
        seed=seed,
        participants=tuple(selection.participants.tolist()),
        targets=tuple(selection.targets.tolist()),
        chances=tuple(selection.chances.tolist()),
        chosen=tuple(selection.chosen),
        missing=selection.missing,
    )


def expectation_message(request: SelectionRequest, found: Forecast, advice: tuple[str, ...] = ()) -> Expectation:
    """Convert a forecast to the message that operators get of it."""
    return Expectation(
        cover=request.cover,
        numbers=request.numbers,
        selected=found.selected,
        visitors=_people(found.visitors),
        places=tuple(
            ExpectedPlace(
                wanted=one.wanted,
                selected=one.selected,
                by_symbol=one.by_symbol,
                visitors=_people(one.visitors),
                possible=one.possible,
            )
            for one in found.places
        ),
        advice=advice,
    )


def _people(expected: Expected) -> ExpectedPeople:
    return ExpectedPeople(people=expected.people, low=expected.low, high=expected.high)


def _prior(new: CampaignPlan, cells: int) -> FloatArray:
    """Read the prior: one share for each cell or, with grades, for each cell at each grade."""
    prior = np.array(new.prior, dtype=np.float64)
    if new.grade_epsilon is None:
        return prior
    grades = 1 + len(new.thresholds)
    if prior.size == cells:  # nothing is known about grades: every grade gets the same share
        return np.tile(prior / grades, (grades, 1))
    if prior.size == grades * cells:
        return prior.reshape(grades, cells)
    expected = f"should have {cells} entries, one for each cell, or {grades * cells}, regular visitors first"
    raise InputError("prior", f"{prior.size} entries", expected)


def round_seats(new: CampaignPlan, plan: Plan, number: int) -> int:
    """Return how many people may take part in a round."""
    return plan.round_users()[number] if new.round_size is None else new.round_size

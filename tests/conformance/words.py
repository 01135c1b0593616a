"""Vectors of the bounds of e^x, and of the texts of a device."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from math import log
from typing import Any

import numpy as np

from crowdveil.area import Grid
from crowdveil.certify import certify
from crowdveil.certify.exponential import exponent_below, power_below
from crowdveil.client import explain
from crowdveil.client.device_status import AnswerStatus, describe_use_of_answers
from crowdveil.client.events import LedgerEntry, ReportKey
from crowdveil.formatting import exact, in_plain_words, percent_up, rounded_up, rounded_up_below
from crowdveil.limits import Charge, PrivacyLimits, Spent
from crowdveil.policy.solver.optimal import optimal_policy
from crowdveil.profile.place import Place
from crowdveil.vocabulary import ParticipantState
from crowdveil.wire import ParticipantStatus, Terms
from tests.conformance.messages import TERMS
from tests.conformance.places import PROTECTIONS, made_stacks
from tests.conformance.policies import double

Case = dict[str, Any]


def exponential_cases(generator: np.random.Generator) -> Iterator[Case]:
    """⌊εd 2^F⌋ and the whole number below e^{εd} 2^F."""
    for _ in range(300):
        epsilon = float(np.exp(generator.uniform(-12, 3)))
        squared_m = int(generator.integers(1, 1 << int(generator.integers(1, 34))))
        exponent = exponent_below(epsilon, squared_m)
        yield {
            "epsilon": double(epsilon),
            "squared_m": squared_m,
            "exponent": str(exponent),
            "power": str(power_below(exponent)),
        }


def word_cases(generator: np.random.Generator) -> Iterator[Case]:
    """Numbers and sentences, letter by letter."""
    reals = [
        0.0,
        1.0,
        0.1,
        0.5,
        1 / 3,
        1e16,
        1.5e16,
        123456789.0,
        1e-4,
        1e-5,
        0.125,
        2.5,
        1e22,
        5e-324,
        log(4),
        3 * log(4),
    ]
    reals += [0.03125, 0.00125, 999999.5, 1e6, 99999.95, 12345.678]
    reals += np.exp(generator.uniform(-20, 20, 300)).tolist()
    for value in reals:
        yield {
            "kind": "number",
            "value": double(value),
            "exact": exact(value),
            "general": f"{value:.6g}",
            "fixed": f"{value:.3f}",
            "percent": f"{value:.2%}",
            "percent_up": percent_up(value, 1) if value <= 1 else None,
            "rounded_up": rounded_up(value) if value > 0 else None,
            "rounded_up_below": rounded_up_below(value, value) if value > 0 else None,
            "plain_words": in_plain_words(value) if value > 0 else None,
        }
    yield from _panel_words()
    yield from _loss_words()
    yield from _ledger_words()
    yield from _policy_words()


NAMES = {3: "the library", 7: "the station"}
NEIGHBOURS_KM = (0.25, 1.0004, 2.5)
SPENT = (Spent(), Spent(log(4), log(64), 0, 1), Spent(2 * log(4), log(16), 1, 1200))


def _panel_words() -> Iterator[Case]:
    """Who asks, and what an answer was used for."""
    renewals_s = (1, 59, 60, 90, 120, 150, 210, 3_600, 5_400, 7_200, 9_000, 86_400, 129_600, 30 * 86_400, 2**31)
    changes: tuple[Case, ...] = (
        {},
        {"name": "L'air \\ \"d'hiver\""},
        {"panel": True, "rounds": 1},
        *({"panel": True, "rounds": rounds, "renewal_s": one} for one in renewals_s for rounds in (2, 12)),
    )
    for given in changes:
        terms = Terms.model_validate({**TERMS, **given})
        for number in {0, terms.rounds - 2, terms.rounds - 1} & {*range(terms.rounds)}:
            yield {
                "kind": "request",
                "name": terms.name,
                "rounds": terms.rounds,
                "panel": terms.panel,
                "renewal_s": terms.renewal_s,
                "round": number,
                "text": explain.describe_request(terms, number),
            }
    uses = ((0, ()), (1, ()), (1, (0,)), (4, ()), (4, (0, 3)), (1000, (999,)), (1000, range(968, 1000)))
    for selections, chosen in uses:
        state: ParticipantState = "selected" if chosen else "reported"
        status = ParticipantStatus.of("winter-air", 3, state, "A sensor", selections=selections, chosen=tuple(chosen))
        yield {
            "kind": "use",
            "selections": selections,
            "chosen": list(chosen),
            "text": describe_use_of_answers([AnswerStatus(0, status)]),
            "again": describe_use_of_answers([AnswerStatus(0, status), AnswerStatus(2, status)]),
        }


def _loss_words() -> Iterator[Case]:
    limits = PrivacyLimits()
    for epsilon in (log(2), log(4), 0.05, 3.0, 250.0):
        for number, spent in enumerate(SPENT):
            yield {
                "kind": "loss",
                "epsilon": double(epsilon),
                "spent": number,
                "text": explain.describe_loss(epsilon, spent, NEIGHBOURS_KM[number]),
                "figures": explain.loss_figures(epsilon, spent, NEIGHBOURS_KM[number]),
                "cost": explain.describe_cost(Charge(epsilon, epsilon, False), spent, limits),
            }
    for null_epsilon, grade_epsilon, lower in (
        (None, None, ()),
        (log(16), None, ()),
        (log(64), log(64), ()),
        (log(64), log(8), (0.2,)),
        (0.5, 3.0, (0.4, 0.2, 0.1)),
        (9.0, 0.01, ()),
    ):
        losses = {"null_epsilon": null_epsilon, "grade_epsilon": grade_epsilon}
        terms = Terms.model_validate({**TERMS, **losses, "lower_deltas": lower})
        for number, spent in enumerate(SPENT):
            yield {
                "kind": "presence",
                "null_epsilon": None if null_epsilon is None else double(null_epsilon),
                "grade_epsilon": None if grade_epsilon is None else double(grade_epsilon),
                "lower_deltas": lower,
                "spent": number,
                "text": explain.describe_presence(terms, spent),
                "without_place": explain.describe_presence(terms, spent, has_place=False),
                "figures": explain.presence_figures(terms, spent),
            }


def _ledger_words() -> Iterator[Case]:
    at = "2026-01-02T03:04:05+00:00"
    entries = [
        LedgerEntry(
            ReportKey("ab" * 32, "winter-air"),
            name="Winter air",
            server="https://crowd.example.org",
            charge=Charge(log(4), log(64), False),
            symbol=3,
            symbol_name="cell 17, grade 2",
            state="acknowledged",
            at=at,
        ),
        LedgerEntry(
            ReportKey("cd" * 32, "noise"),
            charge=Charge(0.5, 0.0, True),
            symbol=0,
            symbol_name="hit",
            state="refused",
            reason="too late",
            at=at,
        ),
        LedgerEntry(ReportKey("cd" * 32, "light"), state="joining", at=at),
        LedgerEntry(ReportKey("cd" * 32, "rain"), charge=Charge(0.1, 0.1, False), symbol=1, state="withdrawn", at=at),
    ]
    for number, spent in enumerate(SPENT):
        for span in ("lifetime", "twelve-months"):
            limits = PrivacyLimits(span=span)
            yield {
                "kind": "ledger",
                "spent": number,
                "span": span,
                "text": explain.describe_ledger(entries, spent, limits),
                "figures": explain.ledger_figures(entries, spent, limits),
            }


def _policy_words() -> Iterator[Case]:
    grid = Grid.from_bounds(48.1, 11.5, 48.15, 11.57, cell_km=1.0)
    policies = [
        optimal_policy(grid, None, [3, 12], epsilon_per_km=log(4), beta=0.1, completion=completion, **protection)
        for protection in PROTECTIONS
        for completion in ("equal", "informative")
    ]
    for policy in (*policies, *made_stacks(grid)):
        losses = {"null_epsilon": policy.null_epsilon, "grade_epsilon": policy.grade_epsilon}
        lower = [0.2] if policy.grades == 3 else []
        terms = Terms.model_validate({**TERMS, **losses, "lower_deltas": lower})
        places = [Place(cell, grade) for cell in (-1, 0, 3, 11, len(grid) - 1) for grade in range(policy.grades)]
        yield {
            "kind": "policy",
            "policy": base64.b64encode(policy.to_bytes()).decode(),
            "reports": [
                [
                    *place,
                    explain.describe_place(grid, place, terms),
                    explain.describe_report(policy, place),
                    explain.report_figures(policy, place),
                    explain.describe_place(grid, place, terms, excluded_here=True),
                    explain.describe_report(policy, place, NAMES),
                ]
                for place in places
                if place.cell >= 0 or place.grade == 0
            ],
            "information": explain.describe_information(policy),
            "information_figures": explain.information_figures(policy),
            "explained": certify(policy).explain(),
        }
    symbols = (
        "hit",
        "other",
        "outside",
        "grade 1",
        "grade 2",
        "cell 17",
        "cell 17, grade 1",
        "cell 17, grade 2",
        "cell 17, grade 3",
        "grade 3",
        "grade 4",
        "grade 7",
        "grade 0",
        "grade x",
        "place 3",
        "place 4",
        "place 3, grade 2",
        "cell x",
        "blue",
        "constructor",
    )
    for symbol in symbols:
        yield {
            "kind": "symbol",
            "name": symbol,
            "text": explain.describe_symbol(symbol),
            "named": explain.describe_symbol(symbol, NAMES),
        }
    yield {
        "kind": "constants",
        "texts": [
            *(explain.BORDER, explain.EDGE, explain.RECORD, explain.TOLD_BY_TAKING_PART),
            *(explain.BEING_CHOSEN, explain.ONCE),
            *explain.RULES.values(),
        ],
    }

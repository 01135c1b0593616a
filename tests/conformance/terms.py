"""Vectors of the bounds of e^x, of announcements checked against limits, and of the texts of a device."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from functools import partial
from math import log
from typing import Any

import numpy as np

from crowdveil.area import Grid, Hexagons, Towers
from crowdveil.certify import certify
from crowdveil.certify.exponential import exponent_below, power_below
from crowdveil.client import explain
from crowdveil.client.events import LedgerEntry
from crowdveil.client.ledger import check_lifetime
from crowdveil.client.privacy_limits import PrivacyLimits, check_announcement
from crowdveil.errors import CampaignRefused
from crowdveil.formatting import exact, in_plain_words, percent_up, rounded_up, rounded_up_below
from crowdveil.policy.solver.optimal import optimal_policy
from crowdveil.wire import Announcement
from tests.conformance.messages import INFO
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


def terms_cases() -> Iterator[Case]:
    """Announcements, honest and hostile, with what is said of them."""
    city = Grid.from_bounds(48.1, 11.5, 48.16, 11.58, cell_km=1.0)
    tiny = Grid.from_bounds(48.1, 11.5, 48.1005, 11.5005, cell_km=0.01)
    lone = city.subset([*range(18), len(city) - 1])
    lonely = Towers.from_positions(48 + np.append(np.arange(20) * 0.01, 1.0), np.full(21, 11.0))
    metres = {**city.describe(), "cell_m": 1}
    inflated = {"kind": "points", "centres_m": (1000 * city.xy_m).tolist()}
    for area in (
        city.describe(),
        tiny.describe(),
        lone.describe(),
        lonely.describe(),
        metres,
        inflated,
        Hexagons.from_bounds(40.70, -74.03, 40.75, -73.98, resolution=8).describe(),
        city.subset(range(10)).describe(),
        {"kind": "sphere"},
    ):
        yield _terms({"area": area})
    for change in (
        {"epsilon_per_km": 2.0},
        {"epsilon_per_km": 1e-9},
        {"targets": [1, 1]},
        {"targets": [10**6]},
        {"targets": list(range(len(city)))},
        {"delta": 1.0},
        {"null_epsilon": 2.5},
    ):
        yield _terms({"area": city.describe(), **change})
    for answered, spent, more, limit in (
        (0, 0.0, log(4), 3 * log(4)),
        (2, 2 * log(4), log(4), 3 * log(4)),
        (3, 3 * log(4), 1e-9, 3 * log(4)),
        (1, 3 * log(4), log(4), 3 * log(4)),
        (2, 2.5 * log(4), log(4), 3 * log(4)),
        (0, 1.0, log(4), 2.0),
        (0, 2.0, log(4), 2.0),
    ):
        yield {
            "kind": "lifetime",
            "answered": answered,
            "spent": double(spent),
            "more": double(more),
            "limit": double(limit),
            **_refusal(partial(check_lifetime, answered, spent, more, limit)),
        }


def _terms(change: Case) -> Case:
    announcement = Announcement.model_validate({**INFO, **change})
    refusal = _refusal(lambda: check_announcement(announcement, PrivacyLimits()))
    return {"kind": "terms", "info": announcement.to_bytes().decode(), **refusal}


def _refusal(check: Callable[[], object]) -> Case:
    """What a check says: the participant's words and the exact figures, or None where it passes."""
    try:
        check()
    except CampaignRefused as error:
        return {"refused": str(error), "figures": error.figures}
    return {"refused": None, "figures": None}


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
    for epsilon in (log(2), log(4), 0.05, 3.0, 250.0):
        for spent in (0.0, log(4)):
            yield {
                "kind": "loss",
                "epsilon": double(epsilon),
                "spent": double(spent),
                "text": explain.describe_loss(epsilon, spent),
                "figures": explain.loss_figures(epsilon, spent),
                "cost": explain.describe_cost(epsilon, spent, 3 * log(4)),
            }
    yield {"kind": "cost", "epsilon": double(1e-3), "text": explain.describe_cost(1e-3, 0.0, 3 * log(4))}
    entries = [
        LedgerEntry(
            "winter-air", epsilon_per_km=log(4), symbol=1, state="acknowledged", at="2026-01-02T03:04:05+00:00"
        ),
        LedgerEntry(
            "noise", epsilon_per_km=0.5, symbol=0, state="refused", reason="too late", at="2026-02-02T03:04:05+00:00"
        ),
    ]
    for spent in (1.886294, 3 * log(4)):
        yield {
            "kind": "ledger",
            "spent": double(spent),
            "text": explain.describe_ledger(entries, spent, 3 * log(4)),
            "figures": explain.ledger_figures(entries, spent, 3 * log(4)),
        }
    for answered, spent in ((0, 0.0), (0, 1.0), (0, 3 * log(4)), (1, log(4)), (1200, 3 * log(4))):
        text = explain.describe_use(answered, spent, 3 * log(4))
        yield {"kind": "use", "answered": answered, "spent": double(spent), "text": text}
    yield from _policy_words()


def _policy_words() -> Iterator[Case]:
    grid = Grid.from_bounds(48.1, 11.5, 48.15, 11.57, cell_km=1.0)
    for null_epsilon in (None, log(16)):
        for completion in ("equal", "informative"):
            policy = optimal_policy(
                grid,
                None,
                [3, 12],
                epsilon_per_km=log(4),
                beta=0.1,
                completion=completion,
                null_epsilon=null_epsilon,
            )
            found = certify(policy)
            witness = found.witness
            yield {
                "kind": "policy",
                "policy": base64.b64encode(policy.to_bytes()).decode(),
                "reports": [
                    [place, explain.describe_report(policy, place), explain.report_figures(policy, place)]
                    for place in (-1, 0, 3, 11, len(grid) - 1)
                ],
                "null": explain.describe_null(null_epsilon),
                "null_figures": explain.null_figures(null_epsilon),
                "explained": found.explain(),
                "worst": None if witness is None else [witness.cell, witness.other, witness.symbol],
            }

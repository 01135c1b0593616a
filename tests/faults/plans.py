"""Make small campaigns, and the operator who runs them."""

from __future__ import annotations

import secrets

import crowdveil as cv
from crowdveil.store import add_operator, open_store
from crowdveil.wire import PROTOCOL, CampaignPlan, secret_digest
from tests.limits.some_terms import LN4
from tests.town import square_town


def plan(
    users: int, rounds: int, round_size: int | None = None, area: cv.Area | None = None, **fields: object
) -> CampaignPlan:
    """Make a plan whose policies take little time."""
    chosen = area if area is not None else square_town(6)
    return CampaignPlan.model_validate(
        {
            "protocol": PROTOCOL,
            "name": "Noise map",
            "offer": "A coffee",
            "area": chosen.describe(),
            "targets": (14, 22),
            "epsilon_per_km": LN4,
            "delta": 0.5,
            "users": users,
            "wanted": max(1, users // 20),
            "rounds": rounds,
            "round_size": round_size,
            "enrolment": "open",
            "deadline_s": None,
            **fields,
        }
    )


def clear_plan(users: int, rounds: int, round_size: int) -> CampaignPlan:
    """Make such a plan in the clear form, in which reports may be NULL."""
    return plan(users, rounds, round_size, null_epsilon=None, grade_epsilon=None, beyond_default_limits=True)


def new_operator(database: str) -> str:
    """Create the database with an operator, and return the token."""
    token = secrets.token_urlsafe(32)
    with open_store(database) as store:
        add_operator(store, "operator", secret_digest(token))
    return token

"""Change half of schemathesis's requests to refer to things that exist, so that they pass the first check."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import schemathesis

NAMES = ("ann", "ann", "bob", "eve")
"""Operators that exist, and one who may; never the one whose token is used, who could remove themselves."""
CAMPAIGNS = ("noise", "noise", "noise-draft", "noise-paused", "noise-finished")
SPARE = "noise-spare"
"""A campaign that requests make and delete again; those above are needed until the end."""
PLAN = json.loads(os.environ.get("FUZZ_PLAN", "{}"))
TOKENS = os.environ.get("FUZZ_TOKENS", "0" * 12).split()
MOST = 2**53 - 1
EXTREMES: dict[str, tuple[object, ...]] = {
    "epsilon_per_km": (5e-324, 1e3, 1e308),
    "null_epsilon": (5e-324, 1e308),
    "grade_epsilon": (5e-324, 1e308),
    "beyond_default_limits": (True,),
    "users": (1, MOST),
    "wanted": (1, MOST),
    "rounds": (1, MOST),
    "round_size": (1, MOST),
    "deadline_s": (1, MOST),
    "confidence": (5e-324, 1 - 1e-16),
    "prior": ([0.0] * 16, [5e-324] * 16, [1.0] + [0.0] * 15),
}
"""Values that are valid by the schema and seldom generated."""
rng = random.Random(7)


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Name a campaign or an operator that exists, and a round or a token that may exist."""
    method, path = context.operation.method.upper(), context.operation.path
    if path_parameters is not None and path == "/v1/operator/campaigns/{campaign}" and method in ("PUT", "DELETE"):
        if rng.random() < 0.7:
            path_parameters["campaign"] = rng.choice((SPARE, SPARE, CAMPAIGNS[0]))
        return path_parameters
    if path_parameters is not None and path_parameters.get("name") == "operator":
        path_parameters["name"] = "ann"
    elif path_parameters is not None and "name" in path_parameters and rng.random() < 0.5:
        path_parameters["name"] = rng.choice(NAMES)
    if path_parameters is not None and "token" in path_parameters and rng.random() < 0.5:
        path_parameters["token"] = rng.choice(TOKENS)
    if path_parameters is not None and "campaign" in path_parameters and rng.random() < 0.5:
        path_parameters["campaign"] = rng.choice(CAMPAIGNS)
        if "number" in path_parameters and rng.random() < 0.5:
            path_parameters["number"] = rng.choice((0, 1))
    return path_parameters


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Use a valid plan with at most one generated field; seldom for previews, which take a second each."""
    often = 0.1 if context.operation.path.endswith("/preview") else 0.5
    if isinstance(body, dict) and "area" in body and rng.random() < often:
        changed = dict(PLAN)
        name = rng.choice(sorted(body))
        if name in EXTREMES and rng.random() < 0.5:
            changed[name] = rng.choice(EXTREMES[name])
        elif rng.random() < 0.7:
            changed[name] = body[name]
        return changed
    return body


@schemathesis.check
def only_the_paused_are_unavailable(context: Any, response: Any, case: Any) -> None:
    """Accept 503 only for a paused campaign."""
    if response.status_code == 503:
        assert b"/problems/paused" in response.content, "unavailable, and not because the campaign is paused"

"""Refuse requests: one exception, and one function that turns it into a problem document.

`RequestRefused` is not part of the tree in `crowdveil.errors`: it is an HTTP answer inside the server, caught by the
request guard, and no caller of the library ever sees it. A client raises `errors.ServerRefused` for the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fastapi import Response

from crowdveil.errors import InputError
from crowdveil.wire import PROBLEM_MEDIA_TYPE, Problem, ProblemKind

NOTHING: Mapping[str, str] = MappingProxyType({})
RETRY_AFTER_S = {"unavailable": 2, "paused": 30, "too-many-requests": 5, "no-seat": 2}
"""Seconds after which a client should try again, for problems that pass."""


class RequestRefused(Exception):
    """A request that is answered with a problem document."""

    def __init__(self, problem: Problem, headers: Mapping[str, str] = NOTHING) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.headers = headers


def refuse(kind: ProblemKind, detail: str | None = None) -> RequestRefused:
    """Make a refusal of a kind from the table of problems."""
    headers = {"www-authenticate": "Bearer"} if kind == "unauthorized" else NOTHING
    return RequestRefused(Problem.of(kind, detail), headers)


def refuse_input(error: InputError, kind: ProblemKind = "invalid") -> RequestRefused:
    """Make a refusal that names the field, the value and what would be right."""
    return RequestRefused(Problem.of_input(error, kind))


def refuse_change(error: InputError) -> RequestRefused:
    """Make the refusal of a change that the store does not accept: of the state, or since the campaign is gone."""
    return refuse_input(error, "not-found" if error.field == "campaign" else "wrong-state")


def answer(refused: RequestRefused) -> Response:
    """Make the HTTP response of a refusal."""
    headers = {"cache-control": "no-store", **refused.headers}
    wait_s = RETRY_AFTER_S.get(refused.problem.kind)
    if wait_s is not None:
        headers["retry-after"] = str(wait_s)
    return Response(refused.problem.to_bytes(), refused.problem.status, headers, PROBLEM_MEDIA_TYPE)

"""How a request is refused: one exception, and one way to turn anything that goes wrong into a problem document."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fastapi import Response

from crowdveil.errors import InputError
from crowdveil.wire import PROBLEM_MEDIA_TYPE, Problem, ProblemKind

NOTHING: Mapping[str, str] = MappingProxyType({})
RETRY_AFTER_S = {"unavailable": 2, "paused": 30, "too-many-requests": 5, "no-seat": 2}
"""When to ask again, where asking again helps."""


class RequestRefused(Exception):
    """A request that is answered with a problem."""

    def __init__(self, problem: Problem, headers: Mapping[str, str] = NOTHING) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.headers = headers


def refuse(kind: ProblemKind, detail: str | None = None) -> RequestRefused:
    """A refusal from the table of problems."""
    headers = {"www-authenticate": "Bearer"} if kind == "unauthorized" else NOTHING
    return RequestRefused(Problem.of(kind, detail), headers)


def refuse_input(error: InputError, kind: ProblemKind = "invalid") -> RequestRefused:
    """A refusal that names the field, the value and what would be right."""
    return RequestRefused(Problem.of_input(error, kind))


def answer(refused: RequestRefused) -> Response:
    """The problem as it is sent."""
    headers = {"cache-control": "no-store", **refused.headers}
    wait_s = RETRY_AFTER_S.get(refused.problem.kind)
    if wait_s is not None:
        headers["retry-after"] = str(wait_s)
    return Response(refused.problem.to_bytes(), refused.problem.status, headers, PROBLEM_MEDIA_TYPE)

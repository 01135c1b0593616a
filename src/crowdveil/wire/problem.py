"""Define every error that the server answers with over HTTP, in one table, as RFC 9457 problem documents."""

from __future__ import annotations

from typing import Literal, NamedTuple, Self, cast, get_args

from pydantic import model_validator

from crowdveil.errors import InputError
from crowdveil.wire.message import Message

PROBLEM_MEDIA_TYPE = "application/problem+json"
PREFIX = "/problems/"

ProblemKind = Literal[
    "malformed",
    "invalid",
    "unauthorized",
    "forbidden",
    "not-found",
    "method-not-allowed",
    "wrong-state",
    "last-owner",
    "no-seat",
    "unknown-participant",
    "report-conflict",
    "round-closed",
    "wrong-round",
    "wrong-policy",
    "wrong-symbol",
    "paused",
    "bad-invite",
    "too-many-seats",
    "too-large",
    "unsupported-media-type",
    "too-many-requests",
    "internal",
    "unavailable",
]


class ProblemType(NamedTuple):
    """The HTTP status and the title of a kind of problem."""

    status: int
    title: str


PROBLEMS: dict[ProblemKind, ProblemType] = {
    "malformed": ProblemType(400, "The request is not valid JSON"),
    "unauthorized": ProblemType(401, "A valid token is required"),
    "forbidden": ProblemType(403, "This token is for another role"),
    "bad-invite": ProblemType(403, "The invite is unknown or was already used"),
    "too-many-seats": ProblemType(403, "Too many people have joined from this network address; use another network"),
    "not-found": ProblemType(404, "Not found"),
    "unknown-participant": ProblemType(404, "The participant is unknown; request a seat first"),
    "method-not-allowed": ProblemType(405, "This address does not support that method"),
    "wrong-state": ProblemType(409, "The campaign's state does not allow this"),
    "last-owner": ProblemType(409, "An owner with a valid token has to stay"),
    "no-seat": ProblemType(409, "No seat is free at the moment; ask again when the next round opens"),
    "report-conflict": ProblemType(409, "A different report of this participant is already stored and stays"),
    "round-closed": ProblemType(409, "The round is closed; nothing was changed"),
    "wrong-round": ProblemType(409, "The participant's seat is in another round"),
    "wrong-policy": ProblemType(409, "The report was drawn from a policy other than the round's"),
    "too-large": ProblemType(413, "The request is too large"),
    "unsupported-media-type": ProblemType(415, "The media type of the request is not supported"),
    "invalid": ProblemType(422, "A field is not valid"),
    "wrong-symbol": ProblemType(422, "The round's policy does not have this symbol"),
    "too-many-requests": ProblemType(429, "Too many requests; wait, then send the same request again"),
    "internal": ProblemType(500, "The server failed"),
    "unavailable": ProblemType(503, "The server cannot store anything at the moment; send the same request again"),
    "paused": ProblemType(503, "The campaign is paused; send the same request again later"),
}
"""The status and title of every kind of problem; `Problem` refuses a document that contradicts them."""


class Problem(Message):
    """A refusal: what was wrong, with the value, and what would be right."""

    type: str
    title: str
    status: int
    detail: str
    field: str | None = None
    value: str | None = None
    """As it was read, shortened."""
    expected: str | None = None

    @classmethod
    def of(cls, kind: ProblemKind, detail: str | None = None) -> Self:
        """Make a problem of this kind; without a detail, the title is repeated."""
        status, title = PROBLEMS[kind]
        return cls(type=PREFIX + kind, title=title, status=status, detail=detail or title)

    @classmethod
    def of_input(cls, error: InputError, kind: ProblemKind = "invalid") -> Self:
        """Make a problem that names the field, the value and what would be right."""
        status, title = PROBLEMS[kind]
        return cls(
            type=PREFIX + kind,
            title=title,
            status=status,
            detail=str(error),
            field=error.field,
            value=error.shown,
            expected=error.expected,
        )

    @property
    def kind(self) -> ProblemKind:
        """Return the key of `PROBLEMS` that this problem has."""
        return cast(ProblemKind, self.type.removeprefix(PREFIX))

    @model_validator(mode="after")
    def _matches_the_table(self) -> Self:
        known = PROBLEMS.get(self.kind) if self.type.startswith(PREFIX) else None
        if known is None:
            raise ValueError(f"type should be {PREFIX} and one of {', '.join(get_args(ProblemKind))}")
        if known != (self.status, self.title):
            raise ValueError(f"status and title should be {known.status}, {known.title!r}")
        return self

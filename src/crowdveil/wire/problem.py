"""Everything that can go wrong over HTTP, in one table, as RFC 9457 problem documents."""

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
    "no-seat",
    "unknown-participant",
    "report-conflict",
    "round-closed",
    "wrong-round",
    "wrong-policy",
    "wrong-symbol",
    "paused",
    "bad-invite",
    "too-large",
    "unsupported-media-type",
    "too-many-requests",
    "internal",
    "unavailable",
]


class ProblemType(NamedTuple):
    """A problem's status and title."""

    status: int
    title: str


PROBLEMS: dict[ProblemKind, ProblemType] = {
    "malformed": ProblemType(400, "The request is not JSON of this protocol"),
    "unauthorized": ProblemType(401, "A valid token is needed"),
    "forbidden": ProblemType(403, "This token is for another role"),
    "bad-invite": ProblemType(403, "The invite is unknown, or was used by another device"),
    "not-found": ProblemType(404, "There is no such thing"),
    "unknown-participant": ProblemType(404, "There is no such participant; take_seat first"),
    "method-not-allowed": ProblemType(405, "This address does not answer that method"),
    "wrong-state": ProblemType(409, "The campaign is not in a state that allows this"),
    "no-seat": ProblemType(409, "No seat is free at the moment; ask again when the next round opens"),
    "report-conflict": ProblemType(409, "Another report of this participant was stored before; it stays"),
    "round-closed": ProblemType(409, "The round is closed; the report was not counted"),
    "wrong-round": ProblemType(409, "The participant's seat is in another round"),
    "wrong-policy": ProblemType(409, "The report was drawn from another policy than the round's"),
    "too-large": ProblemType(413, "The request is too large"),
    "unsupported-media-type": ProblemType(415, "The request is not of a media type that is read here"),
    "invalid": ProblemType(422, "A field does not fit"),
    "wrong-symbol": ProblemType(422, "The round's policy has no such symbol"),
    "too-many-requests": ProblemType(429, "Too many requests; wait and send the same again"),
    "internal": ProblemType(500, "The server failed"),
    "unavailable": ProblemType(503, "The server cannot store at the moment; send the same again"),
    "paused": ProblemType(503, "The campaign is paused; send the same again later"),
}
"""The one table; `Problem` refuses a document that contradicts it."""


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
        """A problem of the table; its title does where there is nothing more to say."""
        status, title = PROBLEMS[kind]
        return cls(type=PREFIX + kind, title=title, status=status, detail=detail or title)

    @classmethod
    def of_input(cls, error: InputError, kind: ProblemKind = "invalid") -> Self:
        """A problem that names the field, the value and what would be right."""
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
        """The entry of the table that this is."""
        return cast(ProblemKind, self.type.removeprefix(PREFIX))

    @model_validator(mode="after")
    def _as_in_the_table(self) -> Self:
        known = PROBLEMS.get(self.kind) if self.type.startswith(PREFIX) else None
        if known is None:
            raise ValueError(f"type should be {PREFIX} and one of {', '.join(get_args(ProblemKind))}")
        if known != (self.status, self.title):
            raise ValueError(f"status and title should be {known.status}, {known.title!r}")
        return self

"""Define the messages about operators: who they are, their tokens, and the log of what they did."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from crowdveil.vocabulary import ActivityAction, OperatorRole
from crowdveil.wire.message import CampaignId, Many, Message, OperatorName, Positive, Protocol, Secret, Whole

MAX_TOKEN_DAYS = 3_650
MAX_ACTIVITY = 200
"""Most lines of the log in one answer."""
TOKEN_ID = r"^[0-9a-f]{12}$"
TokenId = Annotated[str, Field(pattern=TOKEN_ID, description="Public id of a token, in hex")]
"""Names a token without telling it."""


class RoleChange(Message):
    """The role of an operator, who is added if there is none of this name."""

    protocol: Protocol
    role: OperatorRole


class OperatorView(Message):
    """An operator as owners see them."""

    protocol: Protocol
    name: OperatorName
    role: OperatorRole
    added: Whole
    """Seconds since 1970 (UTC)."""
    tokens: Whole
    """Number of tokens that are valid."""


class OperatorList(Message):
    """All operators, in the order of their names."""

    protocol: Protocol
    operators: Many[OperatorView]


class SignedIn(Message):
    """Who is signed in, and with which token."""

    protocol: Protocol
    name: OperatorName
    role: OperatorRole
    token: TokenId
    expires: Whole | None
    """When that token expires, in seconds since 1970 (UTC); None: never."""


class TokenRequest(Message):
    """Request a token."""

    protocol: Protocol
    days: Annotated[int, Field(ge=1, le=MAX_TOKEN_DAYS)] | None = None
    """Days after which it expires; None: never, or with the token that asks, if an owner did not ask."""


class NewToken(Message):
    """A new token, which cannot be shown again."""

    protocol: Protocol
    operator: OperatorName
    id: TokenId
    token: Secret
    expires: Whole | None
    """Seconds since 1970 (UTC); None: never."""


class TokenView(Message):
    """A token without the token."""

    id: TokenId
    made: Whole
    """Seconds since 1970 (UTC)."""
    expires: Whole | None
    """Seconds since 1970 (UTC); None: never."""


class TokenList(Message):
    """The tokens of an operator, the oldest first; expired ones are listed until the next one is made."""

    protocol: Protocol
    operator: OperatorName
    tokens: Many[TokenView]


class Activity(Message):
    """Something that an operator did."""

    number: Positive
    """Grows from one line to the next."""
    at: Whole
    """Seconds since 1970 (UTC)."""
    operator: OperatorName
    action: ActivityAction
    campaign: CampaignId | None
    detail: str


class ActivityList(Message):
    """Part of the activity log, the newest first."""

    protocol: Protocol
    activity: Many[Activity]
    earlier: Positive | None
    """What to ask for as `before` to read on; None: this is the end."""

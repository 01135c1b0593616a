"""What an operator and the server say to each other, and the record from which anyone repeats a selection."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, Strict, model_validator

from crowdveil.vocabulary import (
    DEFAULT_CONFIDENCE,
    DEFAULT_ROUNDS,
    Algorithm,
    CampaignState,
    Enrolment,
    Period,
    RoundState,
    Rule,
)
from crowdveil.wire.message import (
    AreaObject,
    CampaignId,
    Digest,
    Epsilon,
    Many,
    Message,
    Name,
    OfferText,
    Positive,
    Protocol,
    Secret,
    Share,
    Targets,
    Whole,
)

MAX_INVITES = 10_000
"""In one request; more take several."""


def _base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("should be base64") from None
    return text


Base64 = Annotated[str, AfterValidator(_base64)]
OpenShare = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
AuditRow = Annotated[tuple[Whole, Whole, Whole | None], Strict(False)]
"""Participant, round, symbol; None for NULL."""


class CampaignPlan(Message):
    """What an operator fixes before a campaign starts."""

    protocol: Protocol
    name: Name
    offer: OfferText
    area: AreaObject
    targets: Targets
    epsilon_per_km: Epsilon
    delta: Share
    """A place is frequent when its probability exceeds this."""
    rule: Rule = "random"
    period: Period = "week"
    enrolment: Enrolment = "open"
    users: Positive
    """N: how many may take part, over all rounds."""
    wanted: Positive | None = None
    """α: how many are to be selected; this or `share`."""
    share: OpenShare | None = None
    """α as a share of N."""
    rounds: Positive = DEFAULT_ROUNDS
    confidence: OpenShare = DEFAULT_CONFIDENCE
    """ρ, of algorithm-2 alone."""
    algorithm: Algorithm = "crowdveil"
    prior: Many[Share] | None = None
    """What is known of where people are, a share for each cell; None for nothing."""
    null_epsilon: Epsilon | None = None
    """ε₀: how much a reply may tell about having a frequent place at all; None lets devices say NULL in the clear."""
    round_size: Positive | None = None
    """Reports after which a round closes; None for users / rounds."""
    deadline_s: Positive | None = None
    """Seconds after which a round closes at the latest; None for never."""
    seed: Whole | None = None
    """Of the lottery among equals; None leaves it to the server, which publishes it with the selection."""

    @model_validator(mode="after")
    def _one_way_to_say_how_many(self) -> Self:
        if (self.wanted is None) == (self.share is None):
            raise ValueError("wanted or share should be given, and not both")
        return self

    @property
    def people_wanted(self) -> int:
        """α, whichever way it was said; at least one."""
        return self.wanted if self.wanted is not None else max(1, round((self.share or 0.0) * self.users))


class RoundView(Message):
    """A round as its operator watches it: counts, never rows."""

    number: Whole
    state: RoundState
    policy_hash: Digest | None
    size: Positive | None
    deadline: Whole | None
    """Seconds since 1970 (UTC)."""
    seated: Whole
    accepted: Whole
    """Reports stored, NULL among them."""
    refused: dict[str, Whole]
    """Reports refused, by reason."""


class CampaignView(Message):
    """A campaign as its operator watches it."""

    protocol: Protocol
    campaign: CampaignId
    state: CampaignState
    plan: CampaignPlan
    created: Whole
    """Seconds since 1970 (UTC)."""
    rounds: Many[RoundView]
    estimate: Many[Share] | None = None
    """π, the share of people in each cell as learned so far."""
    expected_coverage: Share | None = None
    """What the last policy is worth under that estimate."""
    selected: Whole | None = None
    """How many were selected; None before the selection."""


class Health(Message):
    """The server answers, and its database can be written to."""

    protocol: Protocol
    status: Literal["ok"]


class CampaignSummary(Message):
    """A campaign in the list of all."""

    campaign: CampaignId
    name: Name
    state: CampaignState
    created: Whole
    """Seconds since 1970 (UTC)."""


class CampaignList(Message):
    """All campaigns, the oldest first."""

    protocol: Protocol
    campaigns: Many[CampaignSummary]


class StateChange(Message):
    """Starts (or goes on after a pause), pauses or closes a campaign."""

    protocol: Protocol
    state: Literal["open", "paused", "closed"]


class InviteRequest(Message):
    """Asks for invites; each lets one device in."""

    protocol: Protocol
    count: Annotated[int, Field(ge=1, le=MAX_INVITES)]


class Invites(Message):
    """New invites. The server keeps their hashes alone, so they are shown this once."""

    protocol: Protocol
    invites: Many[Secret]


class PreviewPoint(Message):
    """What a campaign would be worth with other settings."""

    epsilon_per_km: Epsilon
    wanted: Positive
    expected_coverage: Share


class Preview(Message):
    """What a campaign promises before it starts, under the prior given or a uniform one."""

    protocol: Protocol
    cells: Positive
    people_wanted: Positive
    beta: Share
    """The share of the first round's reports that should select."""
    expected_coverage: Share
    """Σ_T π_t p_t / β: the chance that somebody selected has a target as their place."""
    by_chance: Share
    """The same for people chosen blindly, Σ_T π_t."""
    hit_probability: Many[Share]
    """Of each cell, in the first round."""
    private_from_epsilon_per_km: Epsilon
    """The least ε for which the first policy is certified, rounded up."""
    by_epsilon: Many[PreviewPoint]
    by_wanted: Many[PreviewPoint]


class SelectionRow(Message):
    """One row of an exported selection, best first; the fields are the columns of the CSV file."""

    rank: Whole
    participant: Whole
    round: Whole
    symbol: Whole
    chance: Share
    """That the participant's place is a target; 0 where the way does not compute it."""


class AuditRound(Message):
    """A closed round: the policy that everybody got, and how often each symbol came."""

    number: Whole
    policy: Base64
    """`Policy.to_bytes()`, in base64."""
    counts: Many[Whole]
    nulls: Whole

    @classmethod
    def of(cls, number: int, policy: bytes, counts: tuple[int, ...], nulls: int) -> Self:
        """A round's record from the policy's own bytes."""
        return cls(number=number, policy=base64.b64encode(policy).decode("ascii"), counts=counts, nulls=nulls)

    @property
    def policy_bytes(self) -> bytes:
        """The policy, for `Policy.from_bytes`."""
        return base64.b64decode(self.policy)


class AuditSelection(Message):
    """Who was selected, best first."""

    participants: Many[Whole]
    chances: Many[Share]
    hits: Whole
    """How many of them sent a selecting symbol."""
    short: Whole
    """How many fewer than were wanted."""

    @model_validator(mode="after")
    def _one_chance_each(self) -> Self:
        if len(self.participants) != len(self.chances):
            raise ValueError("participants and chances should be equally many")
        return self


class AuditRecord(Message):
    """All that is needed to repeat a selection bit for bit, and all that the server keeps."""

    protocol: Protocol
    campaign: CampaignId
    plan: CampaignPlan
    seed: Whole
    rounds: Many[AuditRound]
    rows: Many[AuditRow]
    """One for each participant who reported, by number."""
    selection: AuditSelection

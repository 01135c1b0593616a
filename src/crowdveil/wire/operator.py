"""Define the messages between an operator and the server."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

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
"""Largest number of invites in one request."""


OpenShare = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
"""A share strictly between 0 and 1."""


class CampaignPlan(Message):
    """All settings of a campaign, fixed before it starts."""

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
    """N: how many people may take part, over all rounds."""
    wanted: Positive | None = None
    """α: how many people to select; either this or `share`."""
    share: OpenShare | None = None
    """α as a share of N."""
    rounds: Positive = DEFAULT_ROUNDS
    confidence: OpenShare = DEFAULT_CONFIDENCE
    """ρ; applies only to algorithm-2."""
    algorithm: Algorithm = "crowdveil"
    prior: Many[Share] | None = None
    """π: the share of people in each cell, if it is known beforehand; None if it is not."""
    null_epsilon: Epsilon | None = None
    """ε₀: how much a report may reveal about having a frequent place at all; None asks for NULL in the clear."""
    round_size: Positive | None = None
    """Number of reports after which a round closes (default: users / rounds)."""
    deadline_s: Positive | None = None
    """Seconds after which a round closes at the latest (default: no deadline)."""
    seed: Whole | None = None
    """Seed of the lottery among equals (default: the server chooses one); published with the selection."""

    @model_validator(mode="after")
    def _either_wanted_or_share(self) -> Self:
        if (self.wanted is None) == (self.share is None):
            raise ValueError("either wanted or share should be given, not both")
        return self

    @property
    def people_wanted(self) -> int:
        """Return α, from `wanted` or from `share`; at least 1."""
        return self.wanted if self.wanted is not None else max(1, round((self.share or 0.0) * self.users))


class RoundView(Message):
    """A round as its operator sees it: counts, never single reports."""

    number: Whole
    state: RoundState
    policy_hash: Digest | None
    size: Positive | None
    deadline: Whole | None
    """Seconds since 1970 (UTC)."""
    seated: Whole
    accepted: Whole
    """Number of reports stored, including NULL."""
    refused: dict[str, Whole]
    """Number of reports refused, by reason."""


class CampaignView(Message):
    """A campaign as its operator sees it."""

    protocol: Protocol
    campaign: CampaignId
    state: CampaignState
    plan: CampaignPlan
    created: Whole
    """Seconds since 1970 (UTC)."""
    rounds: Many[RoundView]
    estimate: Many[Share] | None = None
    """π, the share of people in each cell as estimated so far."""
    expected_coverage: Share | None = None
    """Expected coverage of the last policy under that estimate."""
    selected: Whole | None = None
    """How many were selected; None before the selection."""


class Health(Message):
    """The server is running and its database can be written to."""

    protocol: Protocol
    status: Literal["ok"]


class CampaignSummary(Message):
    """A campaign in the list of all campaigns."""

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
    """Start, resume, pause or close a campaign."""

    protocol: Protocol
    state: Literal["open", "paused", "closed"]


class InviteRequest(Message):
    """Request invites; each is for one device."""

    protocol: Protocol
    count: Annotated[int, Field(ge=1, le=MAX_INVITES)]


class Invites(Message):
    """New invites. The server stores only their hashes and cannot show them again."""

    protocol: Protocol
    invites: Many[Secret]


class PreviewPoint(Message):
    """The expected coverage of a campaign with other settings."""

    epsilon_per_km: Epsilon
    wanted: Positive
    expected_coverage: Share


class Preview(Message):
    """What to expect of a campaign before it starts, under the given prior or a uniform one."""

    protocol: Protocol
    cells: Positive
    people_wanted: Positive
    beta: Share
    """β: the share of the first round's reports that select their sender."""
    expected_coverage: Share
    """Σ_T π_t p_t / β: the probability that a selected person's place is a target."""
    by_chance: Share
    """The same for people selected at random, Σ_T π_t."""
    hit_probability: Many[Share]
    """The probability that each cell sends `hit` in the first round."""
    private_from_epsilon_per_km: Epsilon
    """The smallest ε at which the first policy is certified, rounded up."""
    by_epsilon: Many[PreviewPoint]
    by_wanted: Many[PreviewPoint]


class RoundEstimate(Message):
    """The estimate once a round was closed."""

    round: Whole
    prior: Many[Share]
    """π, the share of people in each cell."""
    expected_coverage: Share


class Estimates(Message):
    """The estimates of a campaign, round by round."""

    protocol: Protocol
    rounds: Many[RoundEstimate]

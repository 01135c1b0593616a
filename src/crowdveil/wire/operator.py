"""Define the messages between an operator and the server."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from crowdveil.vocabulary import (
    DEFAULT_CONFIDENCE,
    DEFAULT_DEADLINE_S,
    DEFAULT_GRADE_EPSILON,
    DEFAULT_NULL_EPSILON,
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
    PublicKey,
    Secret,
    Seed,
    Share,
    Targets,
    Whole,
)
from crowdveil.wire.terms import check_protection

MAX_INVITES = 10_000
"""Largest number of invites in one request."""
INVITES_PER_PERSON = 10
"""A campaign has at most this many invites, used or not, for each person who may take part."""


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
    """A visitor is regular where the probability of a visit exceeds this."""
    rule: Rule = "random"
    period: Period = "week"
    enrolment: Enrolment = "invite"
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
    """π: the share of people in each cell, if it is known beforehand; None if it is not. With grades it may be joint:
    the shares of regular visitors of every cell, then those of occasional ones."""
    null_epsilon: Epsilon | None = DEFAULT_NULL_EPSILON
    """ε₀: how much a report may reveal about being outside the area; None asks for NULL in the clear."""
    grade_epsilon: Epsilon | None = DEFAULT_GRADE_EPSILON
    """ε₁: how much a report may reveal about how regular a visitor is; None: there are no grades."""
    round_size: Positive | None = None
    """Number of reports after which a round closes (default: users / rounds)."""
    deadline_s: Positive | None = DEFAULT_DEADLINE_S
    """Seconds after which a round closes at the latest; None: no deadline."""
    seed: Seed | None = None
    """Seed of the lottery among equals (default: the server chooses one); published with the selection."""
    beyond_default_limits: bool = False
    """Whether to create the campaign even if devices with the default limits will refuse it."""

    @model_validator(mode="after")
    def _either_wanted_or_share(self) -> Self:
        if (self.wanted is None) == (self.share is None):
            raise ValueError("either wanted or share should be given, not both")
        return self

    @model_validator(mode="after")
    def _grades_need_protection(self) -> Self:
        check_protection(self.null_epsilon, self.grade_epsilon)
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
    server_key: PublicKey
    terms_hash: Digest
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
    """New invites, and what an invite link names: the server stores only the invites' hashes, until they are used."""

    protocol: Protocol
    invites: Many[Secret]
    server_key: PublicKey
    terms_hash: Digest
    policy_hash: Digest | None
    """Hash of the only round's policy; None if there are several rounds, or the only one is not open yet."""


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
    """Σ_T π_t p_t / β: the probability that a selected person is a regular visitor of a target."""
    by_chance: Share
    """The same for people selected at random, Σ_T π_t."""
    hit_probability: Many[Share]
    """The probability that a regular visitor of each cell sends `hit` in the first round."""
    private_from_epsilon_per_km: Epsilon
    """The smallest ε at which the first policy is certified, rounded up."""
    by_epsilon: Many[PreviewPoint]
    by_wanted: Many[PreviewPoint]


class RoundEstimate(Message):
    """The estimate once a round was closed."""

    round: Whole
    prior: Many[Share]
    """π: of the people in the area, the share in each cell, whatever their grade; adds up to 1."""
    grade_shares: Many[Share]
    """Of all people, the share at each grade, regular visitors first; one entry where there are no grades."""
    outside_share: Share
    """Of all people, the share outside the area, or without a place in the clear form."""
    expected_coverage: Share


class Estimates(Message):
    """The estimates of a campaign, round by round."""

    protocol: Protocol
    rounds: Many[RoundEstimate]

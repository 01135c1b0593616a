"""Define the messages between an operator and the server."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, Strict, model_validator

from crowdveil.vocabulary import (
    DEFAULT_CONFIDENCE,
    DEFAULT_DEADLINE_S,
    DEFAULT_DELTA,
    DEFAULT_GRADE_EPSILON,
    DEFAULT_NULL_EPSILON,
    DEFAULT_ROUNDS,
    DEFAULT_RULE,
    Algorithm,
    CampaignState,
    Cover,
    Enrolment,
    Period,
    RoundState,
    Rule,
    grade_thresholds,
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
    OperatorName,
    Positive,
    Protocol,
    PublicKey,
    Secret,
    Seed,
    Share,
    TargetNames,
    Targets,
    Whole,
)
from crowdveil.wire.terms import (
    LowerDeltas,
    ProfileConstants,
    check_protection,
    check_renewal,
    check_target_names,
    check_thresholds,
)

MAX_INVITES = 10_000
"""Largest number of invites in one request."""
INVITES_PER_PERSON = 10
"""A campaign has at most this many invites, used or not, for each person who may take part."""


OpenShare = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
"""A share strictly between 0 and 1."""


Coordinates = Annotated[
    tuple[
        Annotated[float, Field(ge=-90, le=90, allow_inf_nan=False)],
        Annotated[float, Field(ge=-180, le=180, allow_inf_nan=False)],
    ],
    Strict(False),
]
"""Latitude and longitude, in degrees."""


class CampaignPlan(Message):
    """All settings of a campaign, fixed before it starts."""

    protocol: Protocol
    name: Name
    offer: OfferText
    area: AreaObject
    targets: Targets
    target_names: TargetNames | None = None
    """What the targets are called, in their order; participants read the names too. None: they have no names."""
    target_coordinates: Annotated[tuple[Coordinates, ...], Strict(False), Field(min_length=1)] | None = None
    """Where the targets are, each as latitude and longitude, for the exported selection; None: the cells' centres."""
    epsilon_per_km: Epsilon
    delta: Share = DEFAULT_DELTA
    """A visitor is regular where the probability of a visit exceeds this."""
    lower_deltas: LowerDeltas | None = None
    """Further thresholds below δ, one for each further grade; None: those of the default that lie below δ."""
    profile_constants: ProfileConstants | None = None
    """Constants of the devices' prediction, from `crowdveil fit`; None: those that devices have."""
    rule: Rule = DEFAULT_RULE
    period: Period = "week"
    enrolment: Enrolment = "invite"
    users: Positive
    """N: how many people may take part, over all rounds."""
    wanted: Positive | None = None
    """α: how many people to select, at any target; either this, `share` or `numbers`."""
    share: OpenShare | None = None
    """α as a share of N."""
    numbers: Annotated[tuple[Positive, ...], Strict(False), Field(min_length=1)] | None = None
    """How many people to select for each target, in the order of the targets."""
    panel: bool = False
    """Whether the answers serve any number of selections, each with targets and numbers of its own. The targets are
    then the places that may be asked for, everyone may answer in every round, and a later round renews the answers."""
    renewal_s: Positive | None = None
    """Of a panel: seconds from one round's opening to the next one's; None if there is one round."""
    rounds: Positive = DEFAULT_ROUNDS
    confidence: OpenShare = DEFAULT_CONFIDENCE
    """ρ; applies only to algorithm-2."""
    algorithm: Algorithm = "crowdveil"
    prior: Many[Share] | None = None
    """π: the share of people in each cell, if it is known beforehand; None if it is not. With grades it may be joint:
    the shares of regular visitors of every cell, then those of each further grade."""
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
    def _one_way_to_say_how_many(self) -> Self:
        check_renewal(self.panel, self.renewal_s, self.rounds)
        if self.renewal_s is not None and self.deadline_s is not None and self.renewal_s < self.deadline_s:
            raise ValueError(
                f"renewal_s = {self.renewal_s:,} should be at least deadline_s = {self.deadline_s:,}: a round should "
                "be closed before the next one opens"
            )
        if self.panel and self.seed is not None:
            raise ValueError("seed should be left out for a panel: from it, all later lotteries could be foretold")
        given = 3 - [self.wanted, self.share, self.numbers].count(None)
        if self.panel and given:
            raise ValueError("wanted, share and numbers should be left out for a panel; each selection says how many")
        if not self.panel and given != 1:
            raise ValueError("one of wanted, share and numbers should be given, and only one")
        return self

    @model_validator(mode="after")
    def _one_of_each_for_each_target(self) -> Self:
        check_target_names(self.targets, self.target_names)
        if self.target_coordinates is not None and len(self.target_coordinates) != len(self.targets):
            given, named = len(self.target_coordinates), len(self.targets)
            raise ValueError(f"target_coordinates has {given} places; should have one for each of {named} targets")
        if self.numbers is not None and len(self.numbers) != len(self.targets):
            given, named = len(self.numbers), len(self.targets)
            raise ValueError(f"numbers has {given} numbers; should have one for each of the {named} targets named")
        return self

    @model_validator(mode="after")
    def _grades_need_protection(self) -> Self:
        check_protection(self.null_epsilon, self.grade_epsilon)
        check_thresholds(self.delta, self.lower_deltas or (), self.grade_epsilon)
        return self

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Return the probabilities that divide the grades, falling; δ alone in the clear form."""
        if self.grade_epsilon is None:
            return (self.delta,)
        return grade_thresholds(self.delta, self.lower_deltas)

    @property
    def people_wanted(self) -> int:
        """Return α, from `wanted`, from `share` or as the sum of `numbers`; at least 1, and 0 for a panel."""
        if self.panel:
            return 0
        if self.numbers is not None:
            return sum(self.numbers)
        return self.wanted if self.wanted is not None else max(1, round((self.share or 0.0) * self.users))

    @property
    def cover(self) -> Cover:
        """Return what is to be covered: any target, each with the same number, or each with a number of its own."""
        if self.numbers is None:
            return "any"
        return "each" if len(set(self.numbers)) == 1 else "numbers"


class PanelRequest(Message):
    """What an operator asks of a panel: places, how many people, and how often one person may be chosen."""

    protocol: Protocol
    targets: Targets
    target_names: TargetNames | None = None
    """What the targets are called, in their order; None: they have no names."""
    target_coordinates: Annotated[tuple[Coordinates, ...], Strict(False), Field(min_length=1)] | None = None
    """Where the targets are, for the exported selection; None: the cells' centres."""
    wanted: Positive | None = None
    """α: how many people to select, at any target; either this or `numbers`."""
    numbers: Annotated[tuple[Positive, ...], Strict(False), Field(min_length=1)] | None = None
    """How many people to select for each target, in the order of the targets."""
    at_most: Positive | None = None
    """How often one person may be chosen, this time included; None: as often as it comes."""
    within_s: Positive | None = None
    """Only earlier selections of so many seconds count for `at_most`; None: all of the same answers."""
    other_cells: bool = False
    """Whether targets may be cells that are not among the panel's places, whose visitors are known less well."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.wanted is None) == (self.numbers is None):
            raise ValueError("one of wanted and numbers should be given, and only one")
        check_target_names(self.targets, self.target_names)
        for name in ("numbers", "target_coordinates"):
            given = getattr(self, name)
            if given is not None and len(given) != len(self.targets):
                named = len(self.targets)
                raise ValueError(f"{name} has {len(given)} entries; should have one for each of {named} targets")
        return self


People = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""An expected number of people."""


class ExpectedPeople(Message):
    """How many people are expected to come, with a 95 % interval in whole people."""

    people: People
    low: Whole
    high: Whole


class ExpectedPlace(Message):
    """What to expect at one place."""

    wanted: Positive | None
    """How many people are to be selected for it; None where people are wanted at any target."""
    selected: People
    """How many are expected to be selected for it, or, where people are wanted at any target, as their likeliest."""
    by_symbol: People
    """How many of these by the symbol that selects for it; the others fill up."""
    visitors: ExpectedPeople
    """How many of all who are selected are expected to come."""
    possible: People
    """How many of everybody who is invited are expected to come: no selection can have more visitors."""


class Expectation(Message):
    """What to expect of a campaign, in all and at each place, in the order of the plan's targets."""

    cover: Cover
    numbers: Many[Positive] | None
    """How many people are wanted at each target; None for any target."""
    selected: People
    visitors: ExpectedPeople
    """How many of the selected are expected to come to a target."""
    places: Many[ExpectedPlace]
    advice: Many[str] = ()
    """Of what is asked of a panel: places that cannot have their number or get almost nobody, and what would help."""


class SelectionView(Message):
    """A selection as its operator sees it; who was selected is exported as CSV."""

    protocol: Protocol
    number: Whole
    made: Whole
    """Seconds since 1970 (UTC)."""
    rounds: Whole
    """How many rounds were closed then."""
    request: PanelRequest | None
    """What was asked of a panel; None: what the plan asks for."""
    selected: Whole
    missing: Many[Whole]
    """How many people fewer than wanted were selected: for each target that has a number, otherwise in all."""


class SelectionList(Message):
    """All selections of a campaign, in the order in which they were made."""

    protocol: Protocol
    selections: Many[SelectionView]


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
    """Of those who are or will be selected, the share expected at a target under that estimate."""
    expectation: Expectation | None = None
    """People expected at each place under that estimate."""
    selections: Whole = 0
    """How many selections were made: one of a campaign that is asked once, any number of a panel."""
    selected: Whole | None = None
    """How many the last selection selected; None before the first."""
    operator: OperatorName | None = None
    """Who created the campaign; None once that operator was removed."""
    shared_with: Many[OperatorName] = ()
    """Operators with whom it is shared, in the order of their names."""
    failure: str | None = None
    """Why the server could not do the step that is due, such as opening a round; it tries again by itself."""
    finished: Whole | None = None
    """When it was finished, in seconds since 1970 (UTC); None before."""
    keep_days: Positive | None = None
    """Days after which this server deletes what is finished; None: it keeps that until an operator deletes it."""
    kept_until: Whole | None = None
    """When this server deletes the campaign, in seconds since 1970 (UTC); None: not before it is finished, or never."""


class ReplacedPlan(Message):
    """A draft with its new plan."""

    protocol: Protocol
    campaign: CampaignView
    invites_deleted: Whole
    """How many invites were deleted, because they named the old terms."""


class Health(Message):
    """The server is running and its database can be written to."""

    protocol: Protocol
    status: Literal["ok"]


class CampaignSummary(Message):
    """A campaign in the list of campaigns."""

    campaign: CampaignId
    name: Name
    state: CampaignState
    panel: bool
    created: Whole
    """Seconds since 1970 (UTC)."""
    operator: OperatorName | None = None
    """Who created it; None once that operator was removed."""
    failure: str | None = None
    """Why the server could not do the step that is due; it tries again by itself."""


class CampaignList(Message):
    """All campaigns that the operator sees, the oldest first."""

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
    """The probability that a selected person visits a target in the next period; visitors count by their grade."""
    by_chance: Share
    """The same for people selected at random."""
    hit_probability: Many[Share]
    """The probability that a regular visitor of each cell sends a symbol that selects in the first round."""
    private_from_epsilon_per_km: Epsilon
    """The smallest ε at which the first policy is certified, rounded up."""
    expectation: Expectation
    """People expected at each place."""
    advice: Many[str]
    """Places that cannot have their number or get almost nobody, and what would help."""
    covers: Many[Expectation]
    """The same with as many people at any target, the same number at each, and the plan's own numbers; or empty."""
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
    expected_coverage: Share | None
    """None for a panel, of which each selection asks for other places."""


class Estimates(Message):
    """The estimates of a campaign, round by round."""

    protocol: Protocol
    rounds: Many[RoundEstimate]

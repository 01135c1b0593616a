"""Define the exported selection, and the audit record from which anyone can repeat it."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Self

from pydantic import AfterValidator, Strict, model_validator

from crowdveil.vocabulary import Chosen
from crowdveil.wire.message import CampaignId, Digest, Many, Message, Positive, Protocol, Seed, Share, Whole
from crowdveil.wire.operator import CampaignPlan, PanelRequest
from crowdveil.wire.terms import RoundNotice, Terms


def _base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("should be base64") from None
    return text


Base64 = Annotated[str, AfterValidator(_base64)]
AuditRow = Annotated[tuple[Whole, Digest, Whole, Whole | None], Strict(False)]
"""Participant, commitment (the digest of the device's secret), round, symbol; None for NULL."""


class SelectionRow(Message):
    """One row of an exported selection; the fields are the columns of the CSV file.

    The best come first; where each target has a number of its own, target by target.
    """

    place: Positive
    """The target that the participant is selected for; counts from 1, in the order of the plan's targets."""
    name: str
    """What the target is called; empty if it has no name."""
    latitude: float | None
    """The target's place as the operator named it, or the centre of its cell; None for an area without geography."""
    longitude: float | None
    participant: Whole
    chance: Share
    """Probability that the participant comes to the target, or to any target if people are wanted at any."""
    chosen: Chosen
    """By the `symbol` that selects for the target, or `filled` up by the next best symbol."""


class AuditRound(Message):
    """A closed round: the policy that every participant used, and how often each symbol was reported."""

    number: Whole
    policy: Base64
    """`Policy.to_bytes()`, in base64."""
    counts: Many[Whole]
    nulls: Whole

    @classmethod
    def of(cls, number: int, policy: bytes, counts: tuple[int, ...], nulls: int) -> Self:
        """Make the record of a round from the bytes of its policy."""
        return cls(number=number, policy=base64.b64encode(policy).decode("ascii"), counts=counts, nulls=nulls)

    @property
    def policy_bytes(self) -> bytes:
        """Return the policy's bytes, for `Policy.from_bytes`."""
        return base64.b64decode(self.policy)


class AuditSelection(Message):
    """Who was selected, in order, for which target, and how."""

    participants: Many[Whole]
    targets: Many[Whole]
    """The target that each of them was selected for, as its position in the plan's targets, from 0."""
    chances: Many[Share]
    """The probability that each of them comes to the target, or to any if people are wanted at any."""
    chosen: Many[Chosen]
    """How each of them was selected: by the `symbol` that selects for the target, or `filled` up."""
    missing: Many[Whole]
    """How many people fewer than wanted were selected: for each target that has a number, otherwise in all."""
    request: PanelRequest | None
    """What was asked of a panel; None: what the plan asks for."""
    made: Whole
    """Seconds since 1970 (UTC)."""
    rounds: Whole
    """How many rounds were closed then."""
    seed: Seed
    """Seed of the lottery among equals: the lowest SHA-256 of "seed:commitment" wins."""

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if len({len(self.participants), len(self.targets), len(self.chances), len(self.chosen)}) != 1:
            raise ValueError("participants, targets, chances and chosen should have the same length")
        return self


class AuditRecord(Message):
    """All that is needed to repeat every selection exactly, and all that the server stores of the reports."""

    protocol: Protocol
    campaign: CampaignId
    plan: CampaignPlan
    terms: Terms
    """What was announced; `terms.seed_hash` fixes the seeds of all selections before the first report."""
    notices: Many[RoundNotice]
    """The signed notice of every round that was opened, by round."""
    rounds: Many[AuditRound]
    rows: Many[AuditRow]
    """One row for each participant who reported, by number."""
    selections: Many[AuditSelection]
    """In the order in which they were made."""

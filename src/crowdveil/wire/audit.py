"""Define the exported selection, and the audit record from which anyone can repeat it."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Self

from pydantic import AfterValidator, Strict, model_validator

from crowdveil.wire.message import CampaignId, Digest, Many, Message, Protocol, Seed, Share, Whole
from crowdveil.wire.operator import CampaignPlan
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
    """One row of an exported selection, in the order of selection; the fields are the columns of the CSV file."""

    rank: Whole
    participant: Whole
    round: Whole
    symbol: Whole
    chance: Share
    """Probability that the participant's place is a target; 0 where the algorithm does not compute it."""


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
    """Who was selected, in order."""

    participants: Many[Whole]
    chances: Many[Share]
    hits: Whole
    """How many of them sent a symbol that selects."""
    short: Whole
    """How many people fewer than wanted were selected."""

    @model_validator(mode="after")
    def _one_chance_each(self) -> Self:
        if len(self.participants) != len(self.chances):
            raise ValueError("participants and chances should have the same length")
        return self


class AuditRecord(Message):
    """All that is needed to repeat a selection exactly, and all that the server stores of the reports."""

    protocol: Protocol
    campaign: CampaignId
    plan: CampaignPlan
    terms: Terms
    """What was announced; `terms.seed_hash` fixes the seed before the first report."""
    seed: Seed
    """Seed of the lottery among equals: the lowest SHA-256 of "seed:commitment" wins."""
    notices: Many[RoundNotice]
    """The signed notice of every round that was opened, by round."""
    rounds: Many[AuditRound]
    rows: Many[AuditRow]
    """One row for each participant who reported, by number."""
    selection: AuditSelection

"""What a device and the server say to each other.

    device                                     server
    GET campaign                    →          CampaignInfo
    Enrolment (digest of a secret)  →          Seat           the same one again for the same digest
    GET the round's policy          →          Policy.to_bytes(); the seat names its hash
    Upload (one symbol, or NULL)    →          Receipt        the same one again for the same body
    GET status                      →          ParticipantStatus

A device gets its seat in the open round *before* it draws, because a value drawn for one round cannot be sent in
another, and drawing again would double the loss.

**Sizes tell nothing.** An upload is as long for one symbol as for any other and for NULL. A status takes `STATUS_BYTES`
whether selected or not; it must not be compressed on its way.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Annotated, Self

from pydantic import Field, model_validator

from crowdveil.errors import InputError
from crowdveil.vocabulary import CampaignState, Enrolment, ParticipantState, Period, Rule
from crowdveil.wire.message import (
    PROTOCOL,
    AreaObject,
    CampaignId,
    Digest,
    Epsilon,
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

NULL_SYMBOL = "nullnull"
"""NULL in the clear: as long as any symbol."""
SYMBOL_DIGITS = len(NULL_SYMBOL)
STATUS_BYTES = 4096
"""Size of every status; a constant of protocol 1."""


class Announcement(Message):
    """What anyone may know of a campaign, and all that a device needs to decide whether to take part."""

    protocol: Protocol
    campaign: CampaignId
    name: Name
    offer: OfferText
    area: AreaObject
    targets: Targets
    epsilon_per_km: Epsilon
    delta: Share
    """A place is frequent when its probability exceeds this."""
    rule: Rule
    period: Period
    null_epsilon: Epsilon | None = None
    """ε₀: how much a reply may tell about having a frequent place at all; None takes NULL in the clear."""
    enrolment: Enrolment
    rounds: Positive
    round: Whole | None
    """Number of the open round, from 0; None while none is open."""
    policy_hash: Digest | None
    """Hash of the open round's policy."""
    state: CampaignState

    @model_validator(mode="after")
    def _an_open_round_has_a_policy(self) -> Self:
        if (self.round is None) != (self.policy_hash is None):
            raise ValueError("round and policy_hash should be given together, or neither")
        return self


class SeatRequest(Message):
    """Asks for a seat. The device chooses a secret and sends its digest; asking again with it gives the same seat."""

    protocol: Protocol
    secret_digest: Digest
    invite: Secret | None = None
    """The invite's text, where the campaign asks for one; each seats one device."""


class Seat(Message):
    """Where a device belongs: it draws from this policy, once, and uploads in this round."""

    protocol: Protocol
    campaign: CampaignId
    participant: Whole
    round: Whole
    policy_hash: Digest


class Upload(Message):
    """One report. Its size is the same for every symbol and for NULL."""

    protocol: Protocol
    round: Whole
    policy_hash: Digest
    symbol: Annotated[str, Field(pattern=r"^([0-9]{8}|nullnull)$")]

    @classmethod
    def of(cls, seat: Seat, symbol: int | None) -> Self:
        """The upload of a drawn symbol, or of NULL for None."""
        if symbol is None:
            text = NULL_SYMBOL
        elif 0 <= symbol < 10**SYMBOL_DIGITS:
            text = f"{symbol:0{SYMBOL_DIGITS}d}"
        else:
            raise InputError("symbol", symbol, f"should be a whole number of up to {SYMBOL_DIGITS} digits, or None")
        return cls(protocol=PROTOCOL, round=seat.round, policy_hash=seat.policy_hash, symbol=text)

    @property
    def symbol_number(self) -> int | None:
        """The symbol; None for NULL."""
        return None if self.symbol == NULL_SYMBOL else int(self.symbol)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical form: what the receipt repeats."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


class Receipt(Message):
    """Says that an upload is stored for good; its digest lets the device check that it is the one it sent."""

    protocol: Protocol
    campaign: CampaignId
    participant: Whole
    round: Whole
    digest: Digest

    @classmethod
    def of(cls, campaign: str, participant: int, upload: Upload) -> Self:
        """The receipt of an upload, by the server that stored it or by the device that checks."""
        return cls(
            protocol=PROTOCOL, campaign=campaign, participant=participant, round=upload.round, digest=upload.digest
        )


class ParticipantStatus(Message):
    """How a participant stands. Always `STATUS_BYTES` long, so that who watches the line does not see who is chosen."""

    protocol: Protocol
    campaign: CampaignId
    participant: Whole
    state: ParticipantState
    offer: OfferText | None
    """For those who are selected; None for the others."""
    padding: Annotated[str, Field(max_length=STATUS_BYTES, pattern="^ *$")]

    @classmethod
    def of(cls, campaign: str, participant: int, state: ParticipantState, offer: str) -> Self:
        """A status of the right size; `offer` is the campaign's and goes to the selected alone."""
        shown = offer if state == "selected" else None
        bare = cls.model_construct(
            protocol=PROTOCOL, campaign=campaign, participant=participant, state=state, offer=shown, padding=""
        )
        return cls.model_validate({**dict(bare), "padding": " " * (STATUS_BYTES - len(bare.to_bytes()))})

    @model_validator(mode="after")
    def _the_offer_is_for_the_selected(self) -> Self:
        if (self.offer is not None) != (self.state == "selected"):
            raise ValueError("an offer should be there for the selected, and for nobody else")
        if len(self.to_bytes()) != STATUS_BYTES:
            raise ValueError(f"takes {len(self.to_bytes())} bytes; every status should take {STATUS_BYTES}")
        return self

"""Define the messages between a device and the server.

    device                                       server
    GET campaign                      →          Announcement   the terms, and the signed notice of the open round
    GET the round's policy            →          Policy.to_bytes(); the notice names its hash
    SeatRequest (digest of a secret)  →          Seat           the same seat again for the same digest
    Report (one symbol, or NULL)      →          Receipt        the same receipt again for the same body
    GET status                        →          ParticipantStatus
    DELETE the report                 →          Withdrawal     until the round is closed

A device gets its seat in the open round *before* it draws, because a symbol drawn for one round cannot be sent in
another, and a second draw would double the loss.

**Sizes reveal nothing.** A report has the same size for every symbol and for NULL. A status takes `STATUS_BYTES`
whether the participant is selected or not; it must not be compressed in transit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Self

from pydantic import Field, Strict, model_validator

from crowdveil.errors import InputError
from crowdveil.vocabulary import CampaignState, ParticipantState
from crowdveil.wire.message import PROTOCOL, CampaignId, Digest, Message, OfferText, Protocol, Secret, Whole
from crowdveil.wire.terms import RoundNotice, Terms

NULL_SYMBOL = "nullnull"
"""How NULL is sent in the clear: as long as any symbol."""
SYMBOL_DIGITS = len(NULL_SYMBOL)
STATUS_BYTES = 4096
"""Size of every status; fixed in protocol 1."""
MAX_CHOSEN_SHOWN = 32
"""A status names at most so many selections."""


class Announcement(Message):
    """What is public about a campaign, and all that a device needs to decide whether to take part."""

    protocol: Protocol
    terms: Terms
    notice: RoundNotice | None
    """The signed notice of the open round; None while none is open."""
    state: CampaignState

    @model_validator(mode="after")
    def _the_notice_is_of_these_terms(self) -> Self:
        notice, terms = self.notice, self.terms
        if notice is None:
            return self
        if (notice.campaign, notice.terms_hash) != (terms.campaign, terms.hash):
            raise ValueError("notice should be of the announced campaign and of the terms that are announced with it")
        if notice.round >= terms.rounds:
            raise ValueError(f"notice.round should be below {terms.rounds}, the number of rounds")
        return self


class SeatRequest(Message):
    """Request a seat. The device chooses a secret and sends its digest; the same digest gets the same seat."""

    protocol: Protocol
    secret_digest: Digest
    invite: Secret | None = None
    """The text of the invite, where the campaign requires one; each invite is for one device."""


class Seat(Message):
    """A device's place in a round: it draws from this policy once, and reports in this round."""

    plain = True

    protocol: Protocol
    campaign: CampaignId
    participant: Whole
    """A random number, which does not say when the seat was taken."""
    round: Whole
    policy_hash: Digest
    terms_hash: Digest


class Report(Message):
    """What a device sends, once. Its size is the same for every symbol and for NULL."""

    plain = True

    protocol: Protocol
    round: Whole
    policy_hash: Digest
    symbol: Annotated[str, Field(pattern=r"^([0-9]{8}|nullnull)$")]

    @classmethod
    def of(cls, seat: Seat, symbol: int | None) -> Self:
        """Make the report of a drawn symbol, or of NULL for None."""
        if symbol is None:
            text = NULL_SYMBOL
        elif 0 <= symbol < 10**SYMBOL_DIGITS:
            text = f"{symbol:0{SYMBOL_DIGITS}d}"
        else:
            raise InputError("symbol", symbol, f"should be a whole number of up to {SYMBOL_DIGITS} digits, or None")
        return cls(protocol=PROTOCOL, round=seat.round, policy_hash=seat.policy_hash, symbol=text)

    @property
    def symbol_number(self) -> int | None:
        """Return the symbol; None for NULL."""
        return None if self.symbol == NULL_SYMBOL else int(self.symbol)

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of the canonical form, which the receipt repeats."""
        return hashlib.sha256(self.to_bytes()).hexdigest()


class Receipt(Message):
    """Confirm that a report is stored permanently; by the digest, the device checks that it is its own report."""

    plain = True

    protocol: Protocol
    campaign: CampaignId
    participant: Whole
    round: Whole
    digest: Digest

    @classmethod
    def of(cls, campaign: str, participant: int, report: Report) -> Self:
        """Make the receipt of a report; the server does so to send it, the device to compare."""
        return cls(
            protocol=PROTOCOL, campaign=campaign, participant=participant, round=report.round, digest=report.digest
        )


class Withdrawal(Message):
    """Confirm that a participant's seat and report are forgotten; possible until the round is closed."""

    protocol: Protocol
    campaign: CampaignId
    participant: Whole


class ParticipantStatus(Message):
    """Say whether a participant was selected. Always `STATUS_BYTES` long, so that the size does not reveal who was."""

    protocol: Protocol
    campaign: CampaignId
    participant: Whole
    state: ParticipantState
    offer: OfferText | None
    """For those who are selected; None for the others."""
    selections: Whole
    """How many selections used the report so far; of a panel any number may follow."""
    chosen: Annotated[tuple[Whole, ...], Strict(False), Field(max_length=MAX_CHOSEN_SHOWN)]
    """The numbers of the selections that chose the participant, the last of them if there are many."""
    padding: Annotated[str, Field(max_length=STATUS_BYTES, pattern="^ *$")]

    @classmethod
    def of(
        cls,
        campaign: str,
        participant: int,
        state: ParticipantState,
        offer: str,
        *,
        selections: int = 0,
        chosen: Sequence[int] = (),
    ) -> Self:
        """Make a status of the right size; `offer` is the campaign's and is sent only to those who are selected."""
        bare = cls.model_construct(
            protocol=PROTOCOL,
            campaign=campaign,
            participant=participant,
            state=state,
            offer=offer if state == "selected" else None,
            selections=selections,
            chosen=tuple(chosen)[-MAX_CHOSEN_SHOWN:],
            padding="",
        )
        return cls.model_validate({**dict(bare), "padding": " " * (STATUS_BYTES - len(bare.to_bytes()))})

    @model_validator(mode="after")
    def _the_offer_is_for_the_selected(self) -> Self:
        if (self.offer is not None) != (self.state == "selected"):
            raise ValueError("an offer should be present for selected participants only")
        if bool(self.chosen) != (self.state == "selected"):
            raise ValueError("chosen should name a selection for selected participants only")
        if len(self.to_bytes()) != STATUS_BYTES:
            raise ValueError(f"takes {len(self.to_bytes())} bytes; should take {STATUS_BYTES}")
        return self

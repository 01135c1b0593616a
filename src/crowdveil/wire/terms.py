"""Define what a campaign fixes for its whole life, and the signed notice of each round.

The hash of the terms stands in every invite link, and so does the server's public key. A device that was given a link
therefore knows whether it sees the same campaign as everyone else; the policy of each round is bound to the terms by
a notice that the server signs. Two different notices for one round prove that the server showed different people
different campaigns (`notices.find_split`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final, Self

from pydantic import model_validator

from crowdveil.codec import canonical_json
from crowdveil.errors import InputError
from crowdveil.vocabulary import Enrolment, Period, Rule
from crowdveil.wire.message import (
    AreaObject,
    CampaignId,
    Digest,
    Epsilon,
    Message,
    Name,
    OfferText,
    Positive,
    Protocol,
    PublicKey,
    Share,
    Signature,
    Targets,
    Whole,
    real_digits,
)
from crowdveil.wire.signing import check_signature, sign

REALS: Final = ("delta", "epsilon_per_km", "grade_epsilon", "null_epsilon")
"""The real numbers of the terms; they are hashed as the digits of their doubles."""
NOTICE_PREFIX: Final = b"crowdveil round\n"
"""What every signed notice begins with, so that the signature is valid for nothing else."""


def check_protection(null_epsilon: float | None, grade_epsilon: float | None) -> None:
    """Refuse grades that are protected while being outside is not; raise a ValueError, which names both."""
    if grade_epsilon is not None and null_epsilon is None:
        raise ValueError("grade_epsilon needs null_epsilon; both should be null in the clear form")


class Terms(Message):
    """What a campaign promises its participants; fixed for the life of the campaign."""

    protocol: Protocol
    campaign: CampaignId
    server_key: PublicKey
    """The key that signs the notice of every round."""
    name: Name
    offer: OfferText
    area: AreaObject
    targets: Targets
    epsilon_per_km: Epsilon
    null_epsilon: Epsilon | None
    """ε₀: how much a report may reveal about being outside the area; None asks for NULL in the clear."""
    grade_epsilon: Epsilon | None
    """ε₁: how much a report may reveal about how regular a visitor is; None: there are no grades."""
    delta: Share
    """A visitor is regular where the probability of a visit exceeds this."""
    rule: Rule
    period: Period
    enrolment: Enrolment
    rounds: Positive
    seed_hash: Digest
    """SHA-256 of the seed of the lottery among equals; the seed is published with the selection."""

    @model_validator(mode="after")
    def _grades_need_protection(self) -> Self:
        check_protection(self.null_epsilon, self.grade_epsilon)
        return self

    @property
    def hash(self) -> str:
        """Return the SHA-256 of the canonical form, with every real number as the digits of its double."""
        fields = self.model_dump(mode="json")
        for name in REALS:
            if fields[name] is not None:
                fields[name] = real_digits(fields[name])
        return hashlib.sha256(canonical_json(fields).encode("ascii")).hexdigest()


class RoundNotice(Message):
    """Announce the policy of a round, signed by the server; there is one for each round, the same for everyone."""

    campaign: CampaignId
    terms_hash: Digest
    round: Whole
    policy_hash: Digest
    signature: Signature

    @classmethod
    def of(cls, terms: Terms, number: int, policy_hash: str, private_key: str) -> Self:
        """Make and sign the notice of a round."""
        fields = {"campaign": terms.campaign, "terms_hash": terms.hash, "round": number, "policy_hash": policy_hash}
        return cls.model_validate({**fields, "signature": sign(private_key, _signed_bytes(fields))})

    def verify(self, server_key: str) -> None:
        """Refuse a notice that this server did not sign (an InputError)."""
        try:
            check_signature(server_key, self.signature, _signed_bytes(self.model_dump(exclude={"signature"})))
        except InputError as error:
            raise InputError("notice.signature", self.signature[:12], error.expected) from None


def _signed_bytes(fields: Mapping[str, object]) -> bytes:
    return NOTICE_PREFIX + canonical_json(fields).encode("ascii")

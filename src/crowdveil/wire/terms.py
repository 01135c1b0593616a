"""Define what a campaign fixes for its whole life, and the signed notice of each round.

The hash of the terms stands in every invite link, and so does the server's public key. A device that was given a link
therefore knows whether it sees the same campaign as everyone else; the policy of each round is bound to the terms by
a notice that the server signs. Two different notices for one round prove that the server showed different people
different campaigns (`notices.find_split`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Final, Self

from pydantic import Field, Strict, model_validator

from crowdveil.codec import canonical_json
from crowdveil.errors import InputError
from crowdveil.vocabulary import MAX_PROFILE_CONSTANT, PROFILE_CONSTANTS, Enrolment, Period, Rule
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
    TargetNames,
    Targets,
    Whole,
    real_digits,
)
from crowdveil.wire.signing import check_signature, sign

REALS: Final = ("delta", "epsilon_per_km", "grade_epsilon", "lower_deltas", "null_epsilon", "profile_constants")
"""The real numbers of the terms; they are hashed as the digits of their doubles."""
MAX_LOWER_DELTAS: Final = 6
NOTICE_PREFIX: Final = b"crowdveil round\n"
"""What every signed notice begins with, so that the signature is valid for nothing else."""


def check_protection(null_epsilon: float | None, grade_epsilon: float | None) -> None:
    """Refuse grades that are protected while being outside is not; raise a ValueError, which names both."""
    if grade_epsilon is not None and null_epsilon is None:
        raise ValueError("grade_epsilon needs null_epsilon; both should be null in the clear form")


def check_thresholds(delta: float, lower_deltas: tuple[float, ...], grade_epsilon: float | None) -> None:
    """Refuse thresholds of grades that do not fall from δ on, or that are given without grades (a ValueError)."""
    if lower_deltas and grade_epsilon is None:
        raise ValueError("lower_deltas applies only to grades; it should be empty in the clear form")
    falling = (delta, *lower_deltas)
    if any(later >= earlier for earlier, later in pairwise(falling)):
        raise ValueError("lower_deltas should fall: each below the one before it, the first below delta")


def check_renewal(panel: bool, renewal_s: int | None, rounds: int) -> None:
    """Refuse renewals of what is not a panel, or rounds of a panel without a schedule (a ValueError)."""
    if renewal_s is not None and not panel:
        raise ValueError("renewal_s applies only to a panel")
    if panel and (renewal_s is None) != (rounds == 1):
        raise ValueError(f"renewal_s should say when a panel of {rounds} rounds renews, and be left out for one round")


def check_target_names(targets: tuple[int, ...], target_names: tuple[str, ...] | None) -> None:
    """Refuse names that are not one for each target (a ValueError)."""
    if target_names is not None and len(target_names) != len(targets):
        raise ValueError(
            f"target_names has {len(target_names)} names; should have one for each of {len(targets)} targets"
        )


LowerDeltas = Annotated[
    tuple[Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)], ...],
    Strict(False),
    Field(max_length=MAX_LOWER_DELTAS),
]
"""Thresholds below δ, each with a grade of its own; falling."""
ProfileConstants = Annotated[
    tuple[Annotated[float, Field(ge=-MAX_PROFILE_CONSTANT, le=MAX_PROFILE_CONSTANT, allow_inf_nan=False)], ...],
    Strict(False),
    Field(min_length=PROFILE_CONSTANTS, max_length=PROFILE_CONSTANTS),
]
"""Constants of the prediction that devices make (`profile.logistic`)."""


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
    target_names: TargetNames | None
    """What the targets are called, in their order; None: they have no names."""
    epsilon_per_km: Epsilon
    null_epsilon: Epsilon | None
    """ε₀: how much a report may reveal about being outside the area; None asks for NULL in the clear."""
    grade_epsilon: Epsilon | None
    """ε₁: how much a report may reveal about how regular a visitor is; None: there are no grades."""
    delta: Share
    """A visitor is regular where the probability of a visit exceeds this."""
    lower_deltas: LowerDeltas
    """Further thresholds below δ; each divides those who are not regular visitors into one more grade."""
    profile_constants: ProfileConstants | None
    """Constants of the devices' prediction, fitted by the operator; None: those that devices have."""
    rule: Rule
    period: Period
    enrolment: Enrolment
    rounds: Positive
    panel: bool
    """Whether an answer serves any number of selections, until it is renewed. The targets are the places that may be
    asked for; a later round renews the answers, and costs as much as the first."""
    renewal_s: Positive | None
    """Of a panel: seconds from one round's opening to the next one's; None if there is one round."""
    seed_hash: Digest
    """SHA-256 of the seed of the lottery among equals of the first selection, which is published with it; of a panel,
    each seed is the SHA-256 of the next selection's (`selection_seed`)."""

    @model_validator(mode="after")
    def _grades_need_protection(self) -> Self:
        check_protection(self.null_epsilon, self.grade_epsilon)
        check_thresholds(self.delta, self.lower_deltas, self.grade_epsilon)
        check_target_names(self.targets, self.target_names)
        check_renewal(self.panel, self.renewal_s, self.rounds)
        return self

    @property
    def grades(self) -> int:
        """Return how many grades of visitors there are; 1 stands for none."""
        return 1 if self.grade_epsilon is None else 2 + len(self.lower_deltas)

    @property
    def grade_spread(self) -> float:
        """Return the loss between the most and the least regular visitor of a place: ε₁ times the steps between."""
        return (self.grades - 1) * (self.grade_epsilon or 0.0)

    @property
    def thresholds(self) -> tuple[float, ...]:
        """Return the probabilities that divide the grades, falling."""
        return (self.delta, *self.lower_deltas)

    @property
    def hash(self) -> str:
        """Return the SHA-256 of the canonical form, with every real number as the digits of its double."""
        fields = self.model_dump(mode="json")
        for name in REALS:
            if isinstance(fields[name], list):
                fields[name] = [real_digits(one) for one in fields[name]]
            elif fields[name] is not None:
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

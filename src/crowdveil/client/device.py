"""The device: decides for itself, draws once, keeps what it drew, and sends nothing else.

    GET campaign, GET policy     the same bytes for everyone; checked against the caps, certified, explained in words
    POST seat                    only now does the server hear of this device, and only if its owner agreed
    draw, store                  under the ledger's lock, on the disk before the next line
    PUT report                   the same bytes until a receipt comes

What is sent, how long it is and in which order does not depend on the place, nor on whether there is one, but for NULL
in the clear; where NULL is protected, a device without a place draws a symbol like any other. Making the
profile and reading the explanation take time that may depend on it, so the seat is asked for on a beat: whole seconds
after the policy came. From then on only the draw is left, which takes equally long for all places.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from math import ceil
from pathlib import Path

from crowdveil.certify import Certificate
from crowdveil.client.events import LedgerEntry
from crowdveil.client.explain import describe_ledger, describe_loss, describe_null, describe_reply
from crowdveil.client.history import LocationHistory, place_to_report
from crowdveil.client.ledger import Ledger, check_lifetime
from crowdveil.client.participant_client import ParticipantClient, RetryPolicy
from crowdveil.client.privacy_limits import AnnouncedTerms, PrivacyLimits, check_policy, check_terms
from crowdveil.client.transport import Transport
from crowdveil.draw import draw
from crowdveil.errors import CampaignRefused, InputError, NoOpenRound, ServerRefused
from crowdveil.policy.policy import Policy
from crowdveil.profile import Periods
from crowdveil.vocabulary import NULL
from crowdveil.wire import PROTOCOL, Announcement, ParticipantStatus, Receipt, Seat, Upload

DAYS = {"day": 1, "week": 7}
SEAT_ATTEMPTS = 3
"""Rounds may advance while a device looks at one; it looks again, but not for ever."""


@dataclass(frozen=True)
class DeviceSettings:
    """What the device's owner decides."""

    limits: PrivacyLimits = field(default_factory=PrivacyLimits)
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    periods: int = 26
    """Weeks (or days, as the campaign asks) up to today that the profile is made from."""
    half_life_periods: float = 4.0
    """How many of them until a visit counts half."""
    beat_s: float = 1.0
    """The seat is asked for at a whole multiple of this after the policy came; 0 to ask at once."""


@dataclass(frozen=True, eq=False)
class Offer:
    """A campaign that passed every check: nothing was sent about this device yet."""

    info: Announcement
    terms: AnnouncedTerms
    policy: Policy
    certificate: Certificate
    round: int


class Device:
    """Takes part in campaigns for one person, over any transport, within its own caps."""

    def __init__(
        self,
        settings: DeviceSettings,
        ledger_path: str | Path,
        transport: Transport,
        *,
        random_bits: Callable[[int], int] = secrets.randbits,
        random_below: Callable[[int], int] = secrets.randbelow,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        today: Callable[[], date] = date.today,
        read_policy: Callable[[bytes], Policy] = Policy.from_bytes,
        check: Callable[[Policy, str, AnnouncedTerms], Certificate] = check_policy,
    ) -> None:
        """Open the device's ledger; `Ledger.create` makes one.

        `read_policy` and `check` are there for those who play many devices in one process and see the same policy as
        often; a device of its own leaves them as they are.
        """
        self.settings = settings
        self.ledger = Ledger(ledger_path)
        self._line = ParticipantClient(transport, settings.retry_policy, sleep)
        self._random_bits = random_bits
        self._random_below = random_below
        self._sleep = sleep
        self._monotonic = monotonic
        self._today = today
        self._read_policy = read_policy
        self._check = check

    def look(self, campaign: str) -> Offer:
        """Fetch what is announced and the policy, and check both; tells the server nothing but an interest."""
        info = self._line.campaign(campaign)
        if info.campaign != campaign:
            raise CampaignRefused(f"asked for campaign {campaign!r}, the server answered with {info.campaign!r}")
        limits = self.settings.limits
        terms = check_terms(info, limits)
        check_lifetime(self.ledger.spent_epsilon_per_km(), terms.epsilon_per_km, limits.lifetime_epsilon_per_km)
        if info.state != "open" or info.round is None or info.policy_hash is None:
            raise NoOpenRound(f"the campaign is {info.state} and has no open round; ask again later")
        policy = self._line.policy(campaign, info.round, self._read_policy)
        return Offer(info, terms, policy, self._check(policy, info.policy_hash, terms), info.round)

    def place(self, offer: Offer, history: LocationHistory) -> int:
        """The cell to draw from, or NULL; stays on the device."""
        days = DAYS[offer.info.period]
        start = self._today() - timedelta(days=days * self.settings.periods)
        return place_to_report(
            history,
            offer.terms.area,
            offer.terms.targets,
            periods=Periods(start, self.settings.periods, days),
            half_life_periods=self.settings.half_life_periods,
            delta=offer.info.delta,
            rule=offer.info.rule,
            random_below=self._random_below,
        )

    def explain(self, offer: Offer, cell: int) -> str:
        """What would leave the device, and what it could tell at most."""
        lines = [
            f"Campaign {offer.info.name!r}, round {offer.round + 1} of {offer.info.rounds}, asks for one reply.",
            describe_reply(offer.policy, cell),
            describe_null(offer.terms.null_epsilon),
            describe_loss(offer.terms.epsilon_per_km, self.ledger.spent_epsilon_per_km()),
            f"Checked on this device: {offer.certificate.explain()}",
            f"Everyone should be shown the same policy: {offer.policy.hash}.",
            "That you take part, when, and from which network address is visible to the server.",
        ]
        return "\n".join(lines)

    def join(
        self,
        campaign: str,
        history: LocationHistory,
        *,
        invite: str | None = None,
        agree: Callable[[str], bool] | None = None,
    ) -> LedgerEntry:
        """Take part once. Called again, it goes on where it stopped; what was drawn is never drawn again.

        `agree` is shown the explanation and may decline, before the server hears of this device; without it the caller
        has asked already.
        """
        entry = self.ledger.entry(campaign)
        if entry is None or entry.symbol is None:
            entry = self._take_seat_and_draw(campaign, history, invite, agree)
        return self._send(entry)

    def status(self, campaign: str) -> ParticipantStatus:
        """How this device stands in a campaign it joined."""
        entry = self.ledger.entry(campaign)
        if entry is None:
            raise InputError("campaign", campaign, "this device has not joined it")
        return self._line.status(campaign, entry.secret)

    def summary(self) -> str:
        """The ledger in words."""
        entries = list(self.ledger.entries().values())
        cap = self.settings.limits.lifetime_epsilon_per_km
        return describe_ledger(entries, self.ledger.spent_epsilon_per_km(), cap)

    # --- the steps of joining ---------------------------------------------------------------------------

    def _take_seat_and_draw(
        self, campaign: str, history: LocationHistory, invite: str | None, agree: Callable[[str], bool] | None
    ) -> LedgerEntry:
        for _ in range(SEAT_ATTEMPTS):
            offer = self.look(campaign)
            since = self._monotonic()
            cell = self.place(offer, history)
            if agree is not None and not agree(self.explain(offer, cell)):
                raise CampaignRefused(f"campaign {campaign}: declined by the device's owner; nothing was drawn or sent")
            self._wait_for_the_beat(since)
            seat = self._seat(campaign, invite)
            if (seat.round, seat.policy_hash) == (offer.round, offer.policy.hash):
                return self._draw(offer, cell)
        raise CampaignRefused(
            f"the seat is in round {seat.round + 1} under policy {seat.policy_hash[:12]}, but round {offer.round + 1} "
            f"under {offer.policy.hash[:12]} is announced to everyone; nothing was drawn"
        )

    def _wait_for_the_beat(self, since: float) -> None:
        beat = self.settings.beat_s
        if beat > 0:
            passed = self._monotonic() - since
            self._sleep(max(1, ceil(passed / beat)) * beat - passed)

    def _seat(self, campaign: str, invite: str | None) -> Seat:
        entry = self.ledger.begin(campaign, lambda: secrets.token_urlsafe(32))
        if not entry.policy_hash:
            seat = self._line.enrol(campaign, entry.secret, invite)
            if seat.campaign != campaign:
                raise CampaignRefused(
                    f"asked for a seat in {campaign!r}, the server answered with one in {seat.campaign!r}"
                )
            told = {"participant": seat.participant, "round": seat.round, "policy_hash": seat.policy_hash}
            entry = self.ledger.seat(campaign, told)
        return _seat_of(entry)

    def _draw(self, offer: Offer, cell: int) -> LedgerEntry:
        protected = offer.policy.null_weights is not None

        def once() -> int:
            # Where NULL is said in the clear, a device without a place rolls the same dice, and throws them away.
            place = cell if protected else max(cell, 0)
            symbol = draw(offer.policy, place, offer.certificate, self._random_bits)
            return NULL if cell == NULL and not protected else symbol

        cap = self.settings.limits.lifetime_epsilon_per_km
        return self.ledger.draw_once(offer.info.campaign, offer.terms.epsilon_per_km, cap, once)

    def _send(self, entry: LedgerEntry) -> LedgerEntry:
        if entry.state == "acknowledged":
            return entry
        if entry.state == "refused":
            raise CampaignRefused(f"campaign {entry.campaign}: {entry.reason}")
        seat = _seat_of(entry)
        upload = Upload.of(seat, None if entry.symbol == NULL else entry.symbol)
        try:
            receipt = self._line.report(entry.campaign, entry.secret, upload)
        except ServerRefused as error:
            self.ledger.refuse(entry.campaign, str(error))
            raise
        if receipt != Receipt.of(entry.campaign, seat.participant, upload):
            raise CampaignRefused(
                f"campaign {entry.campaign}: the receipt is for another report; it is not acknowledged"
            )
        return self.ledger.acknowledge(entry.campaign, receipt.digest)


def _seat_of(entry: LedgerEntry) -> Seat:
    return Seat(
        protocol=PROTOCOL,
        campaign=entry.campaign,
        participant=entry.participant,
        round=entry.round,
        policy_hash=entry.policy_hash,
    )

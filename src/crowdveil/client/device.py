"""Take part in campaigns for one person: check, explain, draw once, keep what was drawn, and send nothing else.

    GET campaign, GET policy     the same bytes for everyone; checked against the limits, certified, explained
    POST seat                    the first request about this device, and only if its owner agreed
    draw, store                  under the ledger's lock; on the disk before the next line
    PUT report                   the same bytes until a receipt comes

The content, size and order of the requests do not depend on the place, nor on whether there is one, except for NULL in
the clear. Where NULL is protected, a device without a place draws a symbol like any other. The time needed to make the
profile and to read the explanation may depend on the place, so the seat is requested at a whole number of seconds after
the policy arrived. After that only the draw remains, which takes equally long for all places.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from math import ceil
from pathlib import Path

from crowdveil.area import Area
from crowdveil.certify import Certificate
from crowdveil.client.events import LedgerEntry
from crowdveil.client.explain import (
    Explanation,
    describe_cost,
    describe_ledger,
    describe_loss,
    describe_null,
    describe_report,
    ledger_figures,
    loss_figures,
    null_figures,
    report_figures,
)
from crowdveil.client.history import LocationHistory, place_to_report
from crowdveil.client.ledger import Ledger
from crowdveil.client.participant_client import ParticipantClient
from crowdveil.client.privacy_limits import PrivacyLimits, check_announcement, check_policy
from crowdveil.client.retry import RetryPolicy
from crowdveil.client.transport import Transport
from crowdveil.draw import draw
from crowdveil.errors import CampaignRefused, InputError, NoOpenRound, OwnerDeclined, ServerRefused
from crowdveil.policy.policy import Policy
from crowdveil.profile import Periods
from crowdveil.vocabulary import NULL
from crowdveil.wire import PROTOCOL, Announcement, ParticipantStatus, Receipt, Report, Seat

DAYS = {"day": 1, "week": 7}
SEAT_ATTEMPTS = 3
"""A round may close while a device looks at it; the device then looks again, at most this often."""


@dataclass(frozen=True)
class DeviceSettings:
    """Settings of a device, decided by its owner."""

    limits: PrivacyLimits = field(default_factory=PrivacyLimits)
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    periods: int = 26
    """Number of weeks (or days, as the campaign asks) up to today that the profile is made from."""
    half_life_periods: float = 4.0
    """After how many of them a visit counts half."""
    seat_interval_s: float = 1.0
    """The seat is requested at a whole multiple of this after the policy arrived; 0 requests it at once."""


@dataclass(frozen=True, eq=False)
class CheckedCampaign:
    """A campaign that passed every check; nothing was sent about this device yet."""

    announcement: Announcement
    area: Area
    policy: Policy
    certificate: Certificate
    round: int


class Device:
    """Take part in campaigns for one person, over any transport, within the limits of its owner."""

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
        check: Callable[[Policy, Announcement, Area], Certificate] = check_policy,
    ) -> None:
        """Open the device's ledger; `Ledger.create` makes one.

        `read_policy` and `check` can be replaced to read and certify the same policy only once for many devices in one
        process; a single device keeps the defaults.
        """
        self.settings = settings
        self.ledger = Ledger(ledger_path)
        self._client = ParticipantClient(transport, settings.retry_policy, sleep)
        self._random_bits = random_bits
        self._random_below = random_below
        self._sleep = sleep
        self._monotonic = monotonic
        self._today = today
        self._read_policy = read_policy
        self._check = check

    def check_campaign(self, campaign: str) -> CheckedCampaign:
        """Fetch the announcement and the policy, and check both; the server learns only that someone asked."""
        announcement = self._client.campaign(campaign)
        if announcement.campaign != campaign:
            raise CampaignRefused(
                f"You asked for campaign {campaign!r}, but the server answered with {announcement.campaign!r}."
            )
        limits = self.settings.limits
        area = check_announcement(announcement, limits)
        self.ledger.check_lifetime(announcement.epsilon_per_km, limits.lifetime_epsilon_per_km)
        if announcement.state != "open" or announcement.round is None:
            raise NoOpenRound(f"The campaign is {announcement.state} and has no open round. Try again later.")
        policy = self._client.policy(campaign, announcement.round, self._read_policy)
        certificate = self._check(policy, announcement, area)
        return CheckedCampaign(announcement, area, policy, certificate, announcement.round)

    def place(self, checked: CheckedCampaign, history: LocationHistory) -> int:
        """Return the cell to draw from, or NULL; it stays on the device."""
        days = DAYS[checked.announcement.period]
        start = self._today() - timedelta(days=days * self.settings.periods)
        return place_to_report(
            history,
            checked.area,
            checked.policy.targets,
            periods=Periods(start, self.settings.periods, days),
            half_life_periods=self.settings.half_life_periods,
            delta=checked.announcement.delta,
            rule=checked.announcement.rule,
            random_below=self._random_below,
        )

    def explain(self, checked: CheckedCampaign, cell: int) -> Explanation:
        """Explain what would leave the device, what others can learn from it at most, and what it costs."""
        announcement = checked.announcement
        epsilon, spent = announcement.epsilon_per_km, self.ledger.spent_epsilon_per_km()
        text = [
            f"Campaign {announcement.name!r}, round {checked.round + 1} of {announcement.rounds}, asks for one answer.",
            describe_report(checked.policy, cell),
            describe_null(announcement.null_epsilon),
            *([] if cell == NULL else [describe_loss(epsilon, spent)]),
            "The organiser can see that you take part, when, and from which network address.",
            describe_cost(epsilon, spent, self.settings.limits.lifetime_epsilon_per_km),
        ]
        figures = [
            report_figures(checked.policy, cell),
            null_figures(announcement.null_epsilon),
            loss_figures(epsilon, spent),
            f"Checked on this device: {checked.certificate.explain()}",
            f"Policy, the same for everyone: {checked.policy.hash}.",
        ]
        return Explanation("\n".join(text), "\n".join(figures))

    def join(
        self,
        campaign: str,
        history: LocationHistory,
        *,
        invite: str | None = None,
        agree: Callable[[Explanation], bool] | None = None,
    ) -> LedgerEntry:
        """Take part once. A second call continues where the first one stopped; nothing is ever drawn twice.

        `agree` is given the explanation and may decline, before the server learns of this device. Without it, the
        caller has obtained the owner's agreement already.
        """
        entry = self.ledger.entry(campaign)
        if entry is None or entry.symbol is None:
            entry = self._take_seat_and_draw(campaign, history, invite, agree)
        return self._send(entry)

    def status(self, campaign: str) -> ParticipantStatus:
        """Ask the server whether this device was selected in a campaign that it joined."""
        entry = self.ledger.entry(campaign)
        if entry is None:
            raise InputError("campaign", campaign, "should be a campaign that this device has joined")
        return self._client.status(campaign, entry.secret)

    def summary(self) -> Explanation:
        """Describe what this device has answered so far, and how much of its owner's limit that used."""
        entries = list(self.ledger.entries().values())
        spent, limit = self.ledger.spent_epsilon_per_km(), self.settings.limits.lifetime_epsilon_per_km
        return Explanation(describe_ledger(entries, spent, limit), ledger_figures(entries, spent, limit))

    # --- the steps of joining ---------------------------------------------------------------------------

    def _take_seat_and_draw(
        self, campaign: str, history: LocationHistory, invite: str | None, agree: Callable[[Explanation], bool] | None
    ) -> LedgerEntry:
        for _ in range(SEAT_ATTEMPTS):
            checked = self.check_campaign(campaign)
            since = self._monotonic()
            cell = self.place(checked, history)
            if agree is not None and not agree(self.explain(checked, cell)):
                raise OwnerDeclined(f"You declined to answer campaign {campaign}. This phone sent nothing.")
            self._wait_for_interval(since)
            seat = self._seat(campaign, invite)
            if (seat.round, seat.policy_hash) == (checked.round, checked.policy.hash):
                return self._draw(checked, cell)
        raise CampaignRefused(
            "The server gave this phone other conditions than it announced to everyone. This phone did not answer.",
            f"The seat is in round {seat.round + 1} under policy {seat.policy_hash[:12]}, "
            f"but round {checked.round + 1} under {checked.policy.hash[:12]} is announced.",
        )

    def _wait_for_interval(self, since: float) -> None:
        interval_s = self.settings.seat_interval_s
        if interval_s > 0:
            passed = self._monotonic() - since
            self._sleep(max(1, ceil(passed / interval_s)) * interval_s - passed)

    def _seat(self, campaign: str, invite: str | None) -> Seat:
        entry = self.ledger.begin(campaign, lambda: secrets.token_urlsafe(32))
        if not entry.policy_hash:
            seat = self._client.take_seat(campaign, entry.secret, invite)
            if seat.campaign != campaign:
                raise CampaignRefused(
                    f"You asked to take part in {campaign!r}, but the server answered for {seat.campaign!r}."
                )
            body = {"participant": seat.participant, "round": seat.round, "policy_hash": seat.policy_hash}
            entry = self.ledger.seat(campaign, body)
        return _seat_of(entry)

    def _draw(self, checked: CheckedCampaign, cell: int) -> LedgerEntry:
        protected = checked.policy.null_weights is not None

        def once() -> int:
            # Where NULL is sent in the clear, a device without a place draws as well and ignores the result, so that
            # it takes as long as any other.
            place = cell if protected else max(cell, 0)
            symbol = draw(checked.policy, place, checked.certificate, self._random_bits)
            return NULL if cell == NULL and not protected else symbol

        limit = self.settings.limits.lifetime_epsilon_per_km
        return self.ledger.draw_once(checked.announcement.campaign, checked.announcement.epsilon_per_km, limit, once)

    def _send(self, entry: LedgerEntry) -> LedgerEntry:
        if entry.state == "acknowledged":
            return entry
        if entry.state == "refused":
            raise CampaignRefused(f"campaign {entry.campaign}: {entry.reason}")
        seat = _seat_of(entry)
        report = Report.of(seat, None if entry.symbol == NULL else entry.symbol)
        try:
            receipt = self._client.send_report(entry.campaign, entry.secret, report)
        except ServerRefused as error:
            self.ledger.refuse(entry.campaign, str(error))
            raise
        if receipt != Receipt.of(entry.campaign, seat.participant, report):
            raise CampaignRefused(
                f"The server's receipt in campaign {entry.campaign} is for another report than yours. Join again to "
                "send yours once more."
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

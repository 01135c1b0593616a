"""Take part in campaigns for one person: check, explain, draw once, keep what was drawn, and send nothing else.

    GET campaign, GET policy     the same bytes for everyone; checked against link, limits and ledger; explained
    POST seat                    the first request about this device, and only if its owner agreed
    draw, store                  under the ledger's lock; on the disk before the next line
    PUT report                   the same bytes until a receipt comes

The content, size and order of the requests do not depend on the place, nor on whether there is one, except for NULL in
the clear. In the protected form a device outside the area draws a symbol like any other. The time needed to make the
profile and to read the explanation may depend on the place, so the seat is requested at a whole number of seconds after
the policy arrived. After that only the draw remains, which takes equally long for all places.

What was drawn belongs to one server, known by its key and its address: secret and report are never sent to another.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from math import ceil
from pathlib import Path

from crowdveil.area import Area
from crowdveil.certify import Certificate
from crowdveil.client import explain
from crowdveil.client.device_status import AnswerStatus, DeviceStatus
from crowdveil.client.events import LedgerEntry, ReportKey
from crowdveil.client.excluded import ExcludedPlace, excluded_cells
from crowdveil.client.explain import Explanation
from crowdveil.client.history import LocationHistory, place_to_report
from crowdveil.client.invite_link import InviteLink
from crowdveil.client.ledger import DrawTerms, Ledger, utc_now
from crowdveil.client.participant_client import ParticipantClient
from crowdveil.client.retry import RetryPolicy
from crowdveil.client.transport import Transport
from crowdveil.draw import draw
from crowdveil.errors import CampaignRefused, InputError, InviteNeeded, NoOpenRound, OwnerDeclined, ServerRefused
from crowdveil.limits import Charge, Lattice, check_policy, check_terms
from crowdveil.limits.map_checks import NOT_TAKING_PART
from crowdveil.policy.policy import Policy
from crowdveil.profile.place import Place
from crowdveil.vocabulary import NULL
from crowdveil.wire import (
    PROTOCOL,
    Announcement,
    ParticipantStatus,
    Receipt,
    Report,
    RoundNotice,
    Seat,
    Terms,
    find_split,
)

SEAT_ATTEMPTS = 3
"""A round may close while a device looks at it; the device then looks again, at most this often."""
LINK = "your invite link names"
JOINED = "you were shown when you joined"


@dataclass(frozen=True)
class DeviceSettings:
    """Settings of a device, decided by its owner."""

    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    seat_interval_s: float = 1.0
    """The seat is requested at a whole multiple of this after the policy arrived; 0 requests it at once."""


@dataclass(frozen=True, eq=False)
class CheckedCampaign:
    """A campaign that passed every check; nothing was sent about this device yet."""

    announcement: Announcement
    notice: RoundNotice
    area: Area
    policy: Policy
    certificate: Certificate
    charge: Charge
    lattice: Lattice

    @property
    def terms(self) -> Terms:
        """Return what the campaign promises."""
        return self.announcement.terms

    @property
    def round(self) -> int:
        """Return the number of the open round."""
        return self.notice.round

    @property
    def key(self) -> ReportKey:
        """Return what this device's report in the campaign is known by."""
        return key_of(self.terms, self.round)


class Device:
    """Take part in campaigns for one person, over any transport, within the limits of its owner."""

    def __init__(
        self,
        settings: DeviceSettings,
        ledger_path: str | Path,
        transport: Transport,
        *,
        server: str | None = None,
        random_bits: Callable[[int], int] = secrets.randbits,
        random_below: Callable[[int], int] = secrets.randbelow,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        today: Callable[[], date] = date.today,
        clock: Callable[[], str] = utc_now,
        read_policy: Callable[[bytes], Policy] = Policy.from_bytes,
        check: Callable[[Policy, Announcement, Area], Certificate] = check_policy,
    ) -> None:
        """Open the device's ledger; `Ledger.create` makes one.

        `server` is the server's address (default: that of the transport). `read_policy` and `check` can be replaced to
        read and certify the same policy only once for many devices in one process; a single device keeps the defaults.
        """
        self.settings = settings
        self.ledger = Ledger(ledger_path, clock)
        self.server: str = getattr(transport, "url", "") if server is None else server
        self._client = ParticipantClient(transport, settings.retry_policy, sleep)
        self._random_bits = random_bits
        self._random_below = random_below
        self._sleep = sleep
        self._monotonic = monotonic
        self._today = today
        self._read_policy = read_policy
        self._check = check

    def check_campaign(self, campaign: str, link: InviteLink | None = None) -> CheckedCampaign:
        """Fetch the announcement and the policy, and check both; the server learns only that someone asked.

        With an invite link, the server's key, the terms and (if it names one) the policy have to be those of the link.
        """
        self.ledger.check_active()
        announcement = self._announcement(campaign, link)
        terms, notice = announcement.terms, announcement.notice
        limits = self.ledger.limits()
        area = check_terms(terms, limits)
        charge, lattice = Charge.of(terms, limits), Lattice.of(area)
        self.ledger.check(charge, lattice)
        if announcement.state != "open" or notice is None:
            raise NoOpenRound(f"The campaign is {announcement.state} and has no open round. Try again later.")
        self.ledger.check_round(key_of(terms, notice.round), terms.renewal_s)
        policy = self._client.policy(campaign, notice.round, self._read_policy)
        certificate = self._check(policy, announcement, area)
        return CheckedCampaign(announcement, notice, area, policy, certificate, charge, lattice)

    def place(self, checked: CheckedCampaign, history: LocationHistory) -> Place:
        """Return the place to draw from; it stays on the device, and is picked once per report.

        It is stored before it is returned, so that declining and asking again gives the same place.
        """
        return self.pick_place(checked, history)[0]

    def pick_place(self, checked: CheckedCampaign, history: LocationHistory) -> tuple[Place, bool]:
        """Return the same, and whether the place was picked earlier, so that this history changed nothing."""
        excluded, least_delta = list(self.ledger.excluded().values()), self.ledger.limits().delta
        kept = True

        def pick() -> Place:
            nonlocal kept
            kept = False
            return place_to_report(
                history,
                checked.area,
                checked.terms,
                least_delta=least_delta,
                today=self._today(),
                excluded=excluded,
                random_below=self._random_below,
            )

        never = excluded_cells(checked.area, excluded)
        return self.ledger.keep_place(checked.key, checked.terms.hash, never, pick), kept

    def explain(self, checked: CheckedCampaign, place: Place, *, kept: bool = False) -> Explanation:
        """Explain what would leave the device, what others can learn from it at most, and what it costs.

        `kept` says whether the place was picked earlier.
        """
        terms, policy, before = checked.terms, checked.policy, self.ledger.spent_ever()
        has_place, neighbour_km = place.cell != NULL, checked.area.nearest_neighbour_km
        excluded_here = bool(excluded_cells(checked.area, list(self.ledger.excluded().values())))
        text = [
            explain.describe_request(terms, checked.round),
            explain.describe_place(checked.area, place, terms, excluded_here=excluded_here),
            explain.describe_report(policy, place),
            explain.describe_information(policy),
            *([explain.describe_loss(terms.epsilon_per_km, before, neighbour_km)] if has_place else []),
            explain.describe_presence(terms, before, has_place=has_place),
            explain.EDGE,
            *([explain.RULES[terms.rule]] if has_place else []),
            explain.TOLD_BY_TAKING_PART,
            explain.RECORD,
            explain.describe_cost(checked.charge, self.ledger.spent(), self.ledger.limits()),
            *([explain.ONCE] if terms.panel else []),
        ]
        figures = [
            explain.report_figures(policy, place),
            explain.information_figures(policy),
            explain.loss_figures(terms.epsilon_per_km, before, neighbour_km),
            explain.presence_figures(terms, before),
            f"Checked on this device: {checked.certificate.explain()}",
            f"Policy, the same for everyone: {policy.hash}.",
            f"Terms: {terms.hash}. Server's key: {terms.server_key}.",
        ]
        return Explanation("\n".join(text), "\n".join(figures), kept)

    def join(
        self,
        campaign: str,
        history: LocationHistory,
        *,
        invite: str | None = None,
        link: InviteLink | None = None,
        agree: Callable[[Explanation], bool] | None = None,
    ) -> LedgerEntry:
        """Take part once. A second call continues where the first one stopped; nothing is ever drawn twice.

        `agree` is given the explanation and may decline, before the server learns of this device. Without it, the
        caller has obtained the owner's agreement already.
        """
        self._check_link(campaign, link)
        entry = self.ledger.find(campaign, self.server)
        if entry is None or entry.state == "joining":
            return self._send(self._take_seat_and_draw(campaign, history, _card(invite, link), link, agree))
        if entry.state == "drawn":
            self.ledger.check_active()
            self._announcement(campaign, link)
        return self._send(entry)

    def renew(
        self,
        campaign: str,
        history: LocationHistory,
        *,
        invite: str | None = None,
        link: InviteLink | None = None,
        agree: Callable[[Explanation], bool] | None = None,
    ) -> LedgerEntry:
        """Answer a panel again, in a later round than this device's last answer, no sooner than its schedule says.

        That is a new draw from a place picked anew, and costs as much as the first. The server cannot tell which of its
        earlier participants this is: the device shows it another secret.
        """
        entry = self._joined(campaign)
        if entry.state == "withdrawn":
            raise CampaignRefused(f"You left campaign {campaign}. This phone does not answer it again.")
        if entry.state in ("joining", "drawn"):  # it was interrupted; go on with it
            return self.join(campaign, history, invite=invite, link=link, agree=agree)
        self._check_link(campaign, link)
        announcement = self._announcement(campaign, link)
        if not announcement.terms.panel:
            raise CampaignRefused(f"Campaign {campaign} asks once, and you have answered it.")
        if announcement.notice is None or announcement.notice.round <= entry.key.report:
            raise NoOpenRound("There is nothing to renew now: your answer is still in use. Try again later.")
        return self._send(self._take_seat_and_draw(campaign, history, _card(invite, link), link, agree))

    def status(self, campaign: str) -> DeviceStatus:
        """Ask the server whether this device was selected in a campaign that it joined.

        Of a panel whose answer was renewed it asks for each answer, because selections used the earlier ones too.
        """
        newest = self._joined(campaign)
        mine = [
            one
            for one in self.ledger.entries().values()
            if (one.key[:2], one.server) == (newest.key[:2], self.server) and one.state != "withdrawn"
        ]
        if not mine:
            raise CampaignRefused(f"You left campaign {campaign}, so you cannot be selected in it.")
        found = [(one.key.report, self._status_of(one)) for one in sorted(mine, key=lambda one: one.key.report)]
        answers = tuple(AnswerStatus(number, status) for number, status in found if status is not None)
        if not answers:
            raise CampaignRefused(f"You have not answered campaign {campaign} yet: this phone has no seat in it.")
        return DeviceStatus(answers)

    def _status_of(self, entry: LedgerEntry) -> ParticipantStatus | None:
        """Ask what became of one answer; None if it was begun, but has no seat."""
        try:
            status = self._client.status(entry.campaign, entry.secret)
        except ServerRefused as error:
            if error.kind != "unknown-participant" or entry.state != "joining":
                raise
            return None
        if status.offer is not None and status.offer != entry.offer:
            raise CampaignRefused(
                "The server shows you another offer than it announced to everyone when you joined. Do not follow it.",
                f"It announced {entry.offer!r}.",
            )
        return status

    def leave(self, campaign: str) -> LedgerEntry:
        """Leave a campaign: have the server forget this device's seat and answer, and never answer it again.

        That is possible until the round is closed. What the answer cost stays charged, because the server saw it.
        """
        entry = self._joined(campaign)
        if entry.state == "withdrawn":
            return entry
        self.ledger.check_active()
        try:
            withdrawal = self._client.withdraw(campaign, entry.secret)
        except ServerRefused as error:
            if error.kind == "round-closed":
                raise CampaignRefused(
                    "It is too late to leave: the round is closed, and your answer has been counted with all others. "
                    "The answer stays in the organiser's record, so that the selection can be checked; your place was "
                    "never sent.",
                    error.detail,
                ) from None
            if error.kind != "unknown-participant":
                raise
        else:
            # A device that never received the answer to its request for a seat does not know its own number.
            mine = (campaign, entry.participant)
            if entry.participant >= 0 and (withdrawal.campaign, withdrawal.participant) != mine:
                raise CampaignRefused(
                    f"The server's confirmation in campaign {campaign} is for another participant than you. Leave "
                    "again to ask once more."
                )
        return self.ledger.withdraw(entry.key)

    def exclude(self, place: ExcludedPlace) -> None:
        """Never report from a place, such as the owner's home."""
        self.ledger.exclude(place)

    def summary(self) -> Explanation:
        """Describe what this device has sent so far, when and to whom, and how much of its owner's limit that used."""
        entries = list(self.ledger.entries().values())
        spent, limits = self.ledger.spent(), self.ledger.limits()
        return Explanation(
            explain.describe_ledger(entries, spent, limits), explain.ledger_figures(entries, spent, limits)
        )

    # --- who is on the other side -------------------------------------------------------------------------

    def _announcement(self, campaign: str, link: InviteLink | None) -> Announcement:
        """Fetch the announcement; refuse another server or other conditions than the link and the ledger know."""
        announcement = self._client.campaign(campaign)
        terms, notice = announcement.terms, announcement.notice
        if terms.campaign != campaign:
            raise CampaignRefused(
                f"You asked for campaign {campaign!r}, but the server answered with {terms.campaign!r}."
            )
        if notice is not None:
            try:
                notice.verify(terms.server_key)
            except InputError as error:
                raise CampaignRefused(
                    f"The server did not sign what it announces. {NOT_TAKING_PART}", str(error)
                ) from None
        if link is not None:
            _compare("server's key", link.key, terms.server_key, LINK)
            _compare("hash of the terms", link.terms_hash, terms.hash, LINK)
            if link.policy_hash is not None and notice is not None:
                _compare("policy", link.policy_hash, notice.policy_hash, LINK)
        entry = self.ledger.find(campaign, self.server)
        if entry is not None:
            _compare("server's key", entry.key.server_key, terms.server_key, JOINED)
            _compare("hash of the terms", entry.terms_hash, terms.hash, JOINED)
        mine = (one for one in self.ledger.entries().values() if one.key[:2] == (terms.server_key, campaign))
        elsewhere = next((one for one in mine if one.server != self.server), None)
        if elsewhere is not None:
            raise CampaignRefused(
                f"You joined campaign {campaign} on a server at another address. This phone answers there only.",
                f"It was joined at {elsewhere.server!r}, not at {self.server!r}.",
            )
        return announcement

    def _check_link(self, campaign: str, link: InviteLink | None) -> None:
        if link is not None and (link.campaign != campaign or (self.server and link.server != self.server)):
            asked = f"{campaign} at {self.server}"
            raise InputError("link", f"{link.campaign} at {link.server}", f"should be for {asked}")

    def _joined(self, campaign: str) -> LedgerEntry:
        entry = self.ledger.find(campaign, self.server)
        if entry is None:
            raise InputError("campaign", campaign, "this device has not joined it on this server")
        return entry

    # --- the steps of joining ---------------------------------------------------------------------------

    def _take_seat_and_draw(
        self,
        campaign: str,
        history: LocationHistory,
        invite: str | None,
        link: InviteLink | None,
        agree: Callable[[Explanation], bool] | None,
    ) -> LedgerEntry:
        notices: list[RoundNotice] = []
        for _ in range(SEAT_ATTEMPTS):
            checked = self.check_campaign(campaign, link)
            invite = self._invite_for(checked, invite)
            notices.append(checked.notice)
            split = find_split(notices, checked.terms.server_key)
            if split is not None:
                one, other = split
                raise CampaignRefused(
                    "The server signed two different announcements for the same round, by which people can be singled "
                    f"out. {NOT_TAKING_PART}",
                    f"Terms {one.terms_hash[:12]} and {other.terms_hash[:12]}, policies {one.policy_hash[:12]} and "
                    f"{other.policy_hash[:12]}.",
                )
            since = self._monotonic()
            place, kept = self.pick_place(checked, history)
            if agree is not None and not agree(self.explain(checked, place, kept=kept)):
                raise OwnerDeclined(f"You declined to answer campaign {campaign}. This phone sent nothing.")
            self._wait_for_interval(since)
            seat = self._seat(checked, invite)
            if seat.terms_hash != checked.terms.hash:
                break
            if (seat.round, seat.policy_hash) == (checked.round, checked.policy.hash):
                return self._draw(checked, place)
        raise CampaignRefused(
            "The server gave this phone other conditions than it announced to everyone. This phone did not answer.",
            f"The seat is in round {seat.round + 1} under policy {seat.policy_hash[:12]} and terms "
            f"{seat.terms_hash[:12]}, but round {checked.round + 1} under {checked.policy.hash[:12]} and "
            f"{checked.terms.hash[:12]} is announced.",
        )

    def _invite_for(self, checked: CheckedCampaign, given: str | None) -> str | None:
        """Return the invite that was given, or the one that this device took its earlier seat in the panel with."""
        if given is not None or checked.terms.enrolment == "open":
            return given
        entries = self.ledger.entries()
        known = [one.invite for one in entries.values() if one.key[:2] == checked.key[:2] and one.invite]
        if not known and checked.key not in entries:
            raise InviteNeeded("This campaign needs an invite link. Join with the link that you were given.")
        return known[-1] if known else None

    def _wait_for_interval(self, since: float) -> None:
        interval_s = self.settings.seat_interval_s
        if interval_s > 0:
            passed = self._monotonic() - since
            self._sleep(max(1, ceil(passed / interval_s)) * interval_s - passed)

    def _seat(self, checked: CheckedCampaign, invite: str | None) -> Seat:
        key, campaign = checked.key, checked.terms.campaign
        terms = checked.terms
        about = {"name": terms.name, "offer": terms.offer, "server": self.server, "terms_hash": terms.hash}
        entry = self.ledger.begin(key, lambda: secrets.token_urlsafe(32), about)
        if not entry.policy_hash:
            seat = self._client.take_seat(campaign, entry.secret, invite)
            if seat.campaign != campaign:
                raise CampaignRefused(
                    f"You asked to take part in {campaign!r}, but the server answered for {seat.campaign!r}."
                )
            if seat.terms_hash != checked.terms.hash:
                return seat
            body = {"participant": seat.participant, "round": seat.round, "policy_hash": seat.policy_hash}
            entry = self.ledger.seat(key, body if invite is None else {**body, "invite": invite})
        return _seat_of(entry)

    def _draw(self, checked: CheckedCampaign, place: Place) -> LedgerEntry:
        policy, protected = checked.policy, checked.policy.null_epsilon is not None

        def once() -> tuple[int, str]:
            # Where NULL is sent in the clear, a device without a place draws as well and ignores the result, so that
            # it takes as long as any other.
            cell = place.cell if protected else max(place.cell, 0)
            symbol = draw(policy, cell, checked.certificate, self._random_bits, grade=place.grade)
            if place.cell == NULL and not protected:
                return NULL, "outside"
            return symbol, policy.symbol_name(symbol)

        terms = DrawTerms(checked.charge, checked.lattice, checked.notice, checked.terms.renewal_s)
        return self.ledger.draw_once(checked.key, terms, once)

    def _send(self, entry: LedgerEntry) -> LedgerEntry:
        if entry.state == "acknowledged":
            return entry
        if entry.state == "refused":
            raise CampaignRefused(f"campaign {entry.campaign}: {entry.reason}")
        if entry.state == "withdrawn":
            raise CampaignRefused(f"You left campaign {entry.campaign}. This phone does not answer it again.")
        seat = _seat_of(entry)
        report = Report.of(seat, None if entry.symbol == NULL else entry.symbol)
        try:
            receipt = self._client.send_report(entry.campaign, entry.secret, report)
        except ServerRefused as error:
            self.ledger.refuse(entry.key, str(error))
            raise
        if receipt != Receipt.of(entry.campaign, seat.participant, report):
            raise CampaignRefused(
                f"The server's receipt in campaign {entry.campaign} is for another report than yours. Join again to "
                "send yours once more."
            )
        return self.ledger.acknowledge(entry.key, receipt.digest)


def key_of(terms: Terms, number: int) -> ReportKey:
    """Return what a device's report in a round is known by; every round of a panel asks for a new one."""
    return ReportKey(terms.server_key, terms.campaign, number if terms.panel else 0)


def _card(invite: str | None, link: InviteLink | None) -> str | None:
    """Return the invite that was given, otherwise the link's."""
    return link.invite if invite is None and link is not None else invite


def _compare(what: str, expected: str, found: str, known: str) -> None:
    if found != expected:
        raise CampaignRefused(
            f"This is not the campaign that {known}: the {what} differs. {NOT_TAKING_PART}",
            f"Expected {expected[:12]}, found {found[:12]}.",
        )


def _seat_of(entry: LedgerEntry) -> Seat:
    return Seat(
        protocol=PROTOCOL,
        campaign=entry.campaign,
        participant=entry.participant,
        round=entry.round,
        policy_hash=entry.policy_hash,
        terms_hash=entry.terms_hash,
    )

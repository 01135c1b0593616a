"""Make every request that a device sends to the server."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from crowdveil.client.retry import JSON, RetryingClient
from crowdveil.client.transport import HttpRequest
from crowdveil.policy.policy import Policy
from crowdveil.wire import (
    POLICY_MEDIA_TYPE,
    PROTOCOL,
    Announcement,
    ParticipantStatus,
    Receipt,
    Report,
    Seat,
    SeatRequest,
    Withdrawal,
    secret_digest,
)


class ParticipantClient(RetryingClient):
    """Make the requests of one device, over any transport."""

    advice = "Join again later; this phone keeps its answer and will send the same one"

    def campaign(self, campaign: str) -> Announcement:
        """Fetch what is announced to everyone."""
        return self.send(_get(_path(campaign)), Announcement.from_bytes)

    def policy(self, campaign: str, number: int, read: Callable[[bytes], Policy] = Policy.from_bytes) -> Policy:
        """Fetch the policy of a round."""
        return self.send(_get(_path(campaign, f"/rounds/{number}/policy"), POLICY_MEDIA_TYPE), read)

    def take_seat(self, campaign: str, secret: str, invite: str | None) -> Seat:
        """Request a seat; the same secret gets the same seat."""
        body = SeatRequest(protocol=PROTOCOL, secret_digest=secret_digest(secret), invite=invite).to_bytes()
        request = HttpRequest("POST", _path(campaign, "/seats"), {"accept": JSON, "content-type": JSON}, body)
        return self.send(request, Seat.from_bytes)

    def send_report(self, campaign: str, secret: str, report: Report) -> Receipt:
        """Send the report, as often as necessary and always with the same bytes."""
        headers = {"accept": JSON, "content-type": JSON, "authorization": f"Bearer {secret}"}
        request = HttpRequest("PUT", _path(campaign, "/report"), headers, report.to_bytes())
        return self.send(request, Receipt.from_bytes)

    def status(self, campaign: str, secret: str) -> ParticipantStatus:
        """Ask whether this device was selected."""
        headers = {"accept": JSON, "authorization": f"Bearer {secret}"}
        return self.send(HttpRequest("GET", _path(campaign, "/status"), headers), ParticipantStatus.from_bytes)

    def withdraw(self, campaign: str, secret: str) -> Withdrawal:
        """Ask the server to forget this device's seat and report."""
        headers = {"accept": JSON, "authorization": f"Bearer {secret}"}
        return self.send(HttpRequest("DELETE", _path(campaign, "/report"), headers), Withdrawal.from_bytes)


def _path(campaign: str, rest: str = "") -> str:
    return f"/v1/campaigns/{quote(campaign, safe='')}{rest}"


def _get(path: str, accept: str = JSON) -> HttpRequest:
    return HttpRequest("GET", path, {"accept": accept})

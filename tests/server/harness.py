"""Run the real application on a real store without sockets, for single requests and as a transport for devices."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import ExitStack
from math import log
from types import TracebackType
from typing import Any, Self

import httpx
from anyio.from_thread import start_blocking_portal

from crowdveil.certify import certify
from crowdveil.client import HttpReply, HttpRequest
from crowdveil.draw import draw
from crowdveil.policy.policy import Policy
from crowdveil.server import settings as server_settings
from crowdveil.server.app import create_app
from crowdveil.server.previews import Previews
from crowdveil.server.scheduler import SchedulerEvent, step
from crowdveil.store import Store, add_operator
from crowdveil.vocabulary import NULL
from crowdveil.wire import (
    PROTOCOL,
    Announcement,
    CampaignPlan,
    CampaignView,
    Problem,
    Report,
    Seat,
    SeatRequest,
    StateChange,
    secret_digest,
)
from tests.town import square_town

TOKEN = "operators-token"
NAME = "coffee"
AREA = square_town(4)
TARGETS = (5,)
NOW = 1_700_000_000
NEVER_S = 1e6
"""A limit that no test reaches, however busy the machine is."""
SEED = "5eed" * 16
JSON = {"content-type": "application/json"}
AS_OPERATOR = {"authorization": f"Bearer {TOKEN}"}


def plan(**changes: Any) -> CampaignPlan:
    """A small campaign that anyone may join: 12 people in 2 rounds, 3 wanted."""
    given: dict[str, Any] = {
        "protocol": PROTOCOL,
        "name": "Coffee",
        "offer": "A coffee",
        "area": AREA.describe(),
        "targets": TARGETS,
        "epsilon_per_km": log(4),
        "delta": 0.5,
        "users": 12,
        "wanted": 3,
        "rounds": 2,
        "seed": SEED,
        "enrolment": "open",
        "deadline_s": None,
        **changes,
    }
    return CampaignPlan.model_validate(given)


CLEAR: dict[str, Any] = {"null_epsilon": None, "grade_epsilon": None, "beyond_default_limits": True}
"""Changes to a plan in the clear form, which default devices refuse."""


class ServerHarness:
    """A server in this process; its scheduler advances when a test calls `step`."""

    def __init__(
        self,
        store: Store,
        settings: server_settings.ServerSettings | None = None,
        client: str = "127.0.0.1",
        previews: Previews | None = None,
    ):
        add_operator(store, "operator", secret_digest(TOKEN))
        self.store = store
        self.now = NOW
        self.settings = settings or server_settings.ServerSettings(announcement_age_s=0)
        self.app = create_app(
            store,
            self.settings,
            clock=lambda: self.now,
            previews=previews or Previews(timeout_s=NEVER_S, curves_s=NEVER_S),
        )
        transport = httpx.ASGITransport(self.app, client=(client, 50_000), raise_app_exceptions=False)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://server")
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._portal = self._open.enter_context(start_blocking_portal())
        self._open.enter_context(self._portal.wrap_async_context_manager(self.app.router.lifespan_context(self.app)))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.__exit__(kind, error, at)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> httpx.Response:
        """Send one request; a body is JSON unless a header says otherwise."""
        sent = dict(JSON) if body is not None else {}
        sent |= {name.replace("_", "-"): text for name, text in headers.items()}
        return self._request(method, path, body, sent)

    def operate(self, method: str, path: str, body: bytes | None = None) -> httpx.Response:
        """Send a request as the operator."""
        return self.ask(method, f"/v1/operator{path}", body, **AS_OPERATOR)

    def step(self, seconds: int = 0) -> list[SchedulerEvent]:
        """Run one step of the scheduler, some seconds later."""
        self.now += seconds
        return step(self.store, self.now, self.settings.keep_days)

    def start(self, new: CampaignPlan | None = None, name: str = NAME) -> None:
        """Create a campaign, start it, and open its first round."""
        assert self.operate("PUT", f"/campaigns/{name}", (new or plan()).to_bytes()).status_code == 200
        assert self.change("open", name).status_code == 200
        assert [one.event for one in self.step() if one.campaign == name] == ["round-opened"]

    def change(self, state: str, name: str = NAME) -> httpx.Response:
        body = StateChange.model_validate({"protocol": PROTOCOL, "state": state}).to_bytes()
        return self.operate("PUT", f"/campaigns/{name}/state", body)

    def view(self, name: str = NAME) -> CampaignView:
        return CampaignView.from_bytes(self.operate("GET", f"/campaigns/{name}").content)

    def take_seat(self, secret: str, name: str = NAME, invite: str | None = None) -> httpx.Response:
        body = SeatRequest(protocol=PROTOCOL, secret_digest=secret_digest(secret), invite=invite).to_bytes()
        return self.ask("POST", f"/v1/campaigns/{name}/seats", body)

    def send_report(self, secret: str, report: Report, name: str = NAME) -> httpx.Response:
        return self.ask("PUT", f"/v1/campaigns/{name}/report", report.to_bytes(), authorization=f"Bearer {secret}")

    def report(self, secret: str, symbol: int | None, name: str = NAME) -> httpx.Response:
        """Take a seat and report."""
        seat = Seat.from_bytes(self.take_seat(secret, name).content)
        return self.send_report(secret, Report.of(seat, symbol), name)

    def withdraw(self, secret: str, name: str = NAME) -> httpx.Response:
        return self.ask("DELETE", f"/v1/campaigns/{name}/report", authorization=f"Bearer {secret}")

    def announcement(self, name: str = NAME) -> Announcement:
        return Announcement.from_bytes(self.ask("GET", f"/v1/campaigns/{name}").content)

    def take_part(self, secret: str, place: int, random_bits: Callable[[int], int], grade: int = 0) -> httpx.Response:
        """Take a seat, draw from the round's policy and report, as a device does that trusts the server."""
        answer = self.take_seat(secret)
        if answer.status_code != 200:
            return answer
        seat = Seat.from_bytes(answer.content)
        found = self.ask("GET", f"/v1/campaigns/{NAME}/rounds/{seat.round}/policy")
        policy = Policy.from_bytes(found.content)
        if place == NULL and policy.null_epsilon is None:
            return self.send_report(secret, Report.of(seat, None))
        symbol = draw(policy, place, certify(policy), random_bits, grade=grade)
        return self.send_report(secret, Report.of(seat, symbol))

    def send(self, request: HttpRequest) -> HttpReply:
        """Send a request of a device, as its transport."""
        answer = self._request(request.method, request.path, request.body or None, dict(request.headers))
        return HttpReply(answer.status_code, {k.lower(): v for k, v in answer.headers.items()}, answer.content)

    def stream(self, method: str, path: str, parts: AsyncIterator[bytes]) -> httpx.Response:
        """Send a request without a content-length header."""
        return self._request(method, path, parts, dict(JSON))

    def take_seat_later(self, secret: str) -> Future[httpx.Response]:
        """Request a seat without waiting for the answer."""
        body = SeatRequest(protocol=PROTOCOL, secret_digest=secret_digest(secret)).to_bytes()
        path = f"/v1/campaigns/{NAME}/seats"
        return self._portal.start_task_soon(lambda: self.client.post(path, content=body, headers=JSON))

    def preview_later(self, new: CampaignPlan) -> Future[httpx.Response]:
        """Ask for a preview without waiting for the answer."""
        path, headers = "/v1/operator/preview?curves=no", {**JSON, **AS_OPERATOR}
        return self._portal.start_task_soon(lambda: self.client.post(path, content=new.to_bytes(), headers=headers))

    def _request(
        self, method: str, path: str, body: bytes | AsyncIterator[bytes] | None, headers: dict[str, str]
    ) -> httpx.Response:
        return self._portal.call(lambda: self.client.request(method, path, content=body, headers=headers))


def kind_of(answer: httpx.Response) -> str:
    """Return the kind of problem that an answer is."""
    assert answer.headers["content-type"] == "application/problem+json"
    problem = Problem.from_bytes(answer.content)
    assert problem.status == answer.status_code
    return problem.kind

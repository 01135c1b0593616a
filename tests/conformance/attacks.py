"""Vectors of attacks: what a hostile server offers one device, step by step, and what the device in Python did.

Each case is one device with a new ledger and the default limits. In each step some server, at some address, announces a
campaign, hands out a policy and gives a seat; the device answers, or refuses with the words that are recorded.
"""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np

import crowdveil as cv
from crowdveil.client import InviteLink
from crowdveil.codec import canonical_json
from crowdveil.errors import CrowdveilError
from crowdveil.wire import PROTOCOL
from tests.attacks.dealing import ONE, OTHER, THREE, link_to
from tests.attacks.hostile_policies import LN64, naming, question
from tests.attacks.hostile_server import HostileServer
from tests.attacks.locating import kept, question_of_halves, squares
from tests.attacks.people import device

Case = dict[str, Any]
PROFILE = {0: 0.9}
KEYS = ("07" * 32, "08" * 32)
NOW = "2026-06-01T12:00:00+00:00"
ELSEWHERE = "https://other.example.org"


@dataclass
class Recorder:
    """A device that is attacked, and what it did."""

    path: Path
    server: HostileServer = field(default_factory=lambda: HostileServer(KEYS[0]))
    steps: list[Case] = field(default_factory=list)

    def ask(
        self,
        campaign: str,
        policy: cv.Policy | None = None,
        *,
        server: HostileServer | None = None,
        link: InviteLink | None = None,
        seat: dict[str, Any] | None = None,
        at: str = NOW,
        **changes: Any,
    ) -> None:
        """Offer a campaign (or what was offered last), and record what comes of it.

        The device joins, or renews if it has answered already.
        """
        who = server or self.server
        if policy is not None:
            who.offer(campaign, policy, **changes)
        offered = who.offered[campaign]
        given = {**{name: offered.notice[name] for name in ("round", "policy_hash", "terms_hash")}, **(seat or {})}
        refused, renew = None, False
        try:
            mine = device(self.path, _Scripted(who, campaign, given), clock=lambda: at)
            entry = mine.ledger.find(campaign, who.url)
            renew = changes.get("panel", False) and entry is not None
            (mine.renew if renew else mine.join)(campaign, PROFILE, link=link)
        except CrowdveilError as error:
            refused = str(error)
        announced = {"protocol": PROTOCOL, "terms": offered.terms, "notice": offered.notice, "state": "open"}
        self.steps.append(
            {
                "url": who.url,
                "campaign": campaign,
                "at": at,
                "renew": renew,
                "announcement": json.dumps(announced),
                "policy": base64.b64encode(offered.policy_bytes).decode(),
                "seat": given,
                "link": None if link is None else asdict(link),
                "refused": refused,
            }
        )


class _Scripted:
    """The transport of one step: the hostile server, with the seat of the step; everyone is participant 7."""

    def __init__(self, server: HostileServer, campaign: str, seat: dict[str, Any]) -> None:
        self.url = server.url
        self._server = server
        self._seat = canonical_json({"protocol": PROTOCOL, "campaign": campaign, "participant": 7, **seat}).encode()

    def send(self, request: Any) -> Any:
        reply = self._server.send(request)
        if request.path.endswith("/seats"):
            return replace(reply, body=self._seat)
        if request.path.endswith("/report"):
            receipt = json.loads(reply.body) | {"participant": 7}
            return replace(reply, body=canonical_json(receipt).encode())
        return reply


def attack_cases() -> Iterator[Case]:
    """All of them."""
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, play) in enumerate(ATTACKS.items()):
            recorder = Recorder(Path(folder) / str(number))
            play(recorder)
            yield {"name": name, "steps": recorder.steps}


def _maps_of_houses(recorder: Recorder) -> None:
    towers = cv.Towers.from_positions(*squares(4, 4, 5000).centres(), reach_km=0.03)
    recorder.ask("towers", naming(towers))
    recorder.ask("kept", naming(kept(squares(80, 80, 250), 20)))
    recorder.ask("fine", naming(squares(6, 6, 200)))
    recorder.ask("few", naming(squares(3, 5, 1000)))
    fine = cv.Hexagons.from_bounds(5.95, -4.05, 6.05, -3.95, resolution=10)
    recorder.ask("hexagons", question(fine, lambda cells: cells >= 0, 1.0))


def _stripes(null_epsilon: float | None, times: int) -> Callable[[Recorder], None]:
    def play(recorder: Recorder) -> None:
        city = squares(8, 8, 250)
        row, column = np.divmod(np.arange(len(city)), city.columns)
        for number in range(times):
            half = city.subset(np.flatnonzero((row if number % 2 else column) >> number // 2 % 3 & 1))
            policy = question(half, lambda cells: cells >= 0, 1e-9, null_epsilon)
            recorder.ask(f"stripes-{number}", policy)

    return play


def _shifted(recorder: Recorder) -> None:
    for number, by in enumerate((0, 668, 0, -668, 1000)):
        recorder.ask(f"shifted-{number}", question_of_halves(squares(4, 4, 2000, (by, by))))


def _limits(recorder: Recorder) -> None:
    changes: list[dict[str, Any]] = [{"delta": 0.001}, {"delta": 0.2}, {"epsilon_per_km": 1.0}, {"targets": [3]}]
    for number, change in enumerate(changes):
        recorder.ask(f"terms-{number}", ONE, **change)
    recorder.ask("thresholds", THREE, lower_deltas=[1e-9])
    area = squares(6, 6, 1000)
    recorder.ask("steep", naming(area, 1.5))
    recorder.ask("loud", naming(area, null_epsilon=log(65)))
    recorder.ask("graded", naming(area, grade_epsilon=log(65)))


def _broken_policies(recorder: Recorder) -> None:
    recorder.ask("too-steep", replace(naming(squares(6, 6, 1000)), epsilon_per_km=1.0))
    recorder.ask("too-loud", replace(naming(squares(6, 6, 1000)), null_epsilon=2.0))
    recorder.ask("too-graded", replace(ONE, grade_epsilon=1.0))
    recorder.server.offer("other", ONE)
    recorder.server.offered["other"].policy_bytes = OTHER.to_bytes()
    recorder.ask("other")


def _singled_out(recorder: Recorder) -> None:
    recorder.server.offer("noise", ONE)
    link = link_to(recorder.server)
    recorder.ask("noise", OTHER, link=link)
    impostor = HostileServer(KEYS[1], recorder.server.url)
    recorder.ask("noise", ONE, server=impostor, link=link)
    recorder.server.offer("noise", ONE)
    recorder.server.offered["noise"].notice["signature"] = impostor.offered["noise"].notice["signature"]
    recorder.ask("noise", link=link)
    recorder.ask("noise", ONE, link=link)


def _changing(recorder: Recorder) -> None:
    recorder.server.offer("noise", ONE)
    recorder.ask("noise", seat={"terms_hash": "0" * 64})
    recorder.ask("noise", ONE, offer="Nothing")
    recorder.ask("noise", OTHER)
    recorder.ask("seat", ONE, seat={"policy_hash": "0" * 64})
    recorder.ask("seat", ONE)


def _rounds_that_go_back(recorder: Recorder) -> None:
    panel: dict[str, Any] = {"panel": True, "rounds": 4, "renewal_s": 90 * 86_400}
    recorder.ask("panel", ONE, number=1, seat={"policy_hash": "0" * 64}, **panel)
    recorder.ask("panel", ONE, number=0, **panel)


def _rounds_too_soon(recorder: Recorder) -> None:
    panel: dict[str, Any] = {"panel": True, "rounds": 4, "renewal_s": 90 * 86_400}
    recorder.ask("panel", ONE, number=0, **panel)
    recorder.ask("panel", ONE, number=1, **panel)
    recorder.ask("panel", ONE, number=1, at="2026-08-21T11:59:59+00:00", **panel)
    recorder.ask("panel", ONE, number=2, at="2026-08-21T12:00:00+00:00", **panel)
    recorder.ask("panel", ONE, number=1, at="2026-08-21T12:00:00+00:00", **panel)
    recorder.ask("panel", ONE, number=2, at="2026-11-10T12:00:00+00:00", **panel)
    recorder.ask("panel", ONE, number=2, at="2026-11-19T12:00:00+00:00", **panel)


def _elsewhere(recorder: Recorder) -> None:
    recorder.ask("noise", ONE)
    copy = HostileServer(KEYS[0], ELSEWHERE)
    copy.offer("noise", ONE)
    recorder.ask("noise", server=copy)
    other = HostileServer(KEYS[1], ELSEWHERE)
    recorder.ask("noise", ONE, server=other)
    recorder.ask("noise", ONE, server=HostileServer(KEYS[1], recorder.server.url))


ATTACKS: dict[str, Callable[[Recorder], None]] = {
    "maps of houses": _maps_of_houses,
    "NULL in the clear": _stripes(None, 2),
    "fourteen campaigns at ε₀ = ln 16": _stripes(log(16), 14),
    "six campaigns at ε₀ = ln 64": _stripes(LN64, 6),
    "shifted grids": _shifted,
    "terms beyond the limits": _limits,
    "policies that break their promise": _broken_policies,
    "someone singled out": _singled_out,
    "terms that change": _changing,
    "a panel that goes back a round": _rounds_that_go_back,
    "a panel that renews too soon": _rounds_too_soon,
    "another server": _elsewhere,
}

"""Let people take part by raw requests, with places drawn around the targets."""

from __future__ import annotations

import time
from secrets import token_hex

import httpx
import numpy as np

import crowdveil as cv
from crowdveil.area import Area
from crowdveil.vocabulary import NULL
from crowdveil.wire import PROTOCOL, Announcement, Report, Seat, SeatRequest, secret_digest

JSON = {"content-type": "application/json"}
PATIENCE_S = 30.0


class Crowd:
    """People who join a campaign; their places are likelier the nearer they are to the targets."""

    def __init__(self, url: str, campaign: str, seed: int = 5, token: str | None = None) -> None:
        """Open a connection; with an operator's token, people join by invite."""
        self._client = httpx.Client(base_url=url, timeout=20)
        self._campaign, self._token = campaign, token
        self._invites: list[str] = []
        self._path = f"/v1/campaigns/{campaign}"
        self._generator = np.random.default_rng(seed)
        self._certified: tuple[str, cv.Policy, cv.Certificate] | None = None

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def info(self) -> Announcement:
        return Announcement.from_bytes(self._client.get(self._path).content)

    def join(self, people: int, nulls: int = 0) -> int:
        """Let people report, in whichever round is open; fewer do if the campaign ends before."""
        done = 0
        late = time.monotonic() + PATIENCE_S
        while done < people:
            info = self.info()
            if info.state in ("closed", "finished"):
                break
            if info.notice is None or info.state != "open" or not self._report(info, null=done < nulls):
                assert time.monotonic() < late, f"{done} of {people} reported, then nothing: {info.state}"
                time.sleep(0.05)
                continue
            done += 1
        return done

    def mistake(self) -> int:
        """Send a report without a seat and one for a wrong policy; return the status of the last refusal."""
        assert self.info().notice is not None
        secret = token_hex(16)
        seat = self._seat(secret)
        assert seat is not None
        wrong = Report.of(seat, 0).model_copy(update={"policy_hash": "0" * 64})
        return self._send_report(secret, wrong).status_code

    def _report(self, info: Announcement, null: bool) -> bool:
        secret = token_hex(16)
        seat = self._seat(secret)
        if seat is None:
            return False
        policy, certificate = self._policy(seat)
        place = NULL if null else self._place(info)
        symbol = None
        if policy.null_epsilon is not None or not null:
            symbol = int(cv.draw_many(policy, [place], certificate, self._generator)[0])
        return self._send_report(secret, Report.of(seat, symbol)).status_code == 200

    def _seat(self, secret: str) -> Seat | None:
        body = SeatRequest(protocol=PROTOCOL, secret_digest=secret_digest(secret), invite=self._invite()).to_bytes()
        answer = self._client.post(f"{self._path}/seats", content=body, headers=JSON)
        return Seat.from_bytes(answer.content) if answer.status_code == 200 else None

    def _invite(self) -> str | None:
        if self._token is None:
            return None
        if not self._invites:
            with cv.HttpTransport(str(self._client.base_url)) as transport:
                self._invites = list(cv.Operator(transport, self._token).invites(self._campaign, 50).invites)
        return self._invites.pop()

    def _send_report(self, secret: str, report: Report) -> httpx.Response:
        headers = {**JSON, "authorization": f"Bearer {secret}"}
        return self._client.put(f"{self._path}/report", content=report.to_bytes(), headers=headers)

    def _policy(self, seat: Seat) -> tuple[cv.Policy, cv.Certificate]:
        if self._certified is None or self._certified[0] != seat.policy_hash:
            policy = cv.Policy.from_bytes(self._client.get(f"{self._path}/rounds/{seat.round}/policy").content)
            self._certified = (seat.policy_hash, policy, cv.certify(policy))
        return self._certified[1:]

    def _place(self, info: Announcement) -> int:
        area = Area.from_description(info.terms.area)
        near = np.exp(-area.distances_km(list(info.terms.targets)).min(axis=0) / 2.5)
        return int(self._generator.choice(len(area), p=near / near.sum()))

"""Several processes answer at one address: they share a database and a scheduler, are replaced, and end together."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx
import pytest

from crowdveil.errors import InputError
from crowdveil.server.settings import ServerSettings
from crowdveil.server.workers import MAX_WORKERS, check_workers, share_of
from crowdveil.store import add_operator, open_store
from crowdveil.wire import PROTOCOL, CampaignView, Report, Seat, SeatRequest, StateChange, secret_digest
from tests.server.harness import AS_OPERATOR, JSON, NAME, TOKEN, plan

WORKERS = 2
SERVE = """
import json, sys
from crowdveil.server.run import serve
url, workers, proxies = json.loads(sys.argv[1])
serve(url, workers=workers, trusted_proxies=proxies, ready=lambda at: print(at, flush=True))
"""
POSTGRESQL = "postgresql://somebody@somewhere/something"


class Serving:
    """A server with workers, in processes of its own."""

    def __init__(self, url: str, log: Path, proxies: list[str]) -> None:
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-c", SERVE, json.dumps([url, WORKERS, proxies])],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        self._log = log
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def others(self, module: str) -> list[int]:
        """Return the processes of the server's session that run a module."""
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                session = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
                command = (entry / "cmdline").read_bytes()
                if session == self.process.pid and module.encode() in command:
                    found.append(int(entry.name))
        return found

    def workers(self) -> list[int]:
        return self.others("crowdveil.server.workers")

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text(encoding="utf-8").splitlines()]

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> httpx.Response:
        """Ask on a connection of its own, which the system gives to any of the workers."""
        given = {**(JSON if body else {}), **headers}
        return httpx.request(method, f"{self.address}{path}", content=body, headers=given, timeout=60)


@contextmanager
def serving(url: str, log: Path, proxies: list[str] | None = None) -> Iterator[Serving]:
    server = Serving(url, log, proxies or [])
    try:
        yield server
    finally:
        server.process.send_signal(signal.SIGTERM)
        try:
            server.process.communicate(timeout=60)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(server.process.pid, signal.SIGKILL)


def wait_until(true: Callable[[], bool], what: str, within_s: float = 60.0) -> None:
    until = monotonic() + within_s
    while not true():
        assert monotonic() < until, f"after {within_s:g} s still not: {what}"
        sleep(0.05)


def open_round(server: Serving) -> int | None:
    """The number of the open round; None while the next policy is being made."""
    notice = server.ask("GET", f"/v1/campaigns/{NAME}").json().get("notice")
    return None if notice is None else int(notice["round"])


def take_part(server: Serving, secret: str) -> int:
    body = SeatRequest(protocol=PROTOCOL, secret_digest=secret_digest(secret)).to_bytes()
    seat = Seat.from_bytes(server.ask("POST", f"/v1/campaigns/{NAME}/seats", body).raise_for_status().content)
    report = Report.of(seat, 0).to_bytes()
    sent = server.ask("PUT", f"/v1/campaigns/{NAME}/report", report, authorization=f"Bearer {secret}")
    assert sent.raise_for_status().json()["participant"] == seat.participant
    return seat.participant


def test_workers_share_a_campaign_are_replaced_and_end_together(postgresql: Callable[[], str], tmp_path: Path) -> None:
    url = postgresql()
    with open_store(url) as store:
        add_operator(store, "operator", secret_digest(TOKEN))
    with serving(url, tmp_path / "log") as server:
        assert len(server.workers()) == WORKERS
        assert len(server.others("crowdveil.server.scheduler")) == 1
        server.ask("PUT", f"/v1/operator/campaigns/{NAME}", plan().to_bytes(), **AS_OPERATOR).raise_for_status()
        change = StateChange(protocol=PROTOCOL, state="open").to_bytes()
        server.ask("PUT", f"/v1/operator/campaigns/{NAME}/state", change, **AS_OPERATOR).raise_for_status()
        wait_until(lambda: open_round(server) == 0, "the first round is open")

        with ThreadPoolExecutor(6) as pool:
            first = list(pool.map(lambda one: take_part(server, f"device {one}"), range(6)))
        assert len(set(first)) == 6
        # Whichever worker is asked, it counts for all of them.
        for _ in range(8):
            assert 'crowdveil_reports_total{outcome="accepted"} 6.0' in server.ask("GET", "/metrics").text
        wait_until(lambda: open_round(server) == 1, "the second round is open")

        before = server.workers()
        for pid in before:  # also the one that has the scheduler
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda pid=pid: pid not in server.workers() and len(server.workers()) == WORKERS, "replaced")  # type: ignore[misc]
        assert not set(before) & set(server.workers())
        wait_until(lambda: len(server.others("crowdveil.server.scheduler")) == 1, "there is one scheduler")
        for number in range(6, 12):
            take_part(server, f"device {number}")
        view = f"/v1/operator/campaigns/{NAME}"

        def finished() -> bool:
            return CampaignView.from_bytes(server.ask("GET", view, None, **AS_OPERATOR).content).state == "finished"

        wait_until(finished, "the campaign is finished")
        assert sum(one["event"] == "child-ended" for one in server.events()) >= WORKERS
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
        wait_until(lambda: server.workers() == server.others("scheduler") == [], "nothing is left behind")
        assert server.events()[-1]["event"] == "stopped"


@pytest.mark.long
def test_requests_that_have_begun_are_answered_and_workers_outlive_nobody(
    postgresql: Callable[[], str], tmp_path: Path
) -> None:
    url = postgresql()
    with serving(url, tmp_path / "log", ["127.0.0.1"]) as server:
        host, _, port = server.address.removeprefix("http://").partition(":")
        began = [socket.create_connection((host, int(port)), timeout=30) for _ in range(8)]
        body = b" " * 100
        head = b"POST /v1/campaigns/x/seats HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        for line in began:
            line.sendall(head + b"content-length: %d\r\n\r\n" % len(body) + body[:50])
        sleep(0.5)
        server.process.send_signal(signal.SIGTERM)
        sleep(0.5)
        for line in began:
            line.sendall(body[50:])
            assert line.recv(4096).startswith(b"HTTP/1.1 400")
            line.close()
        assert server.process.wait(60) == 0
    with serving(url, tmp_path / "log") as server:
        server.process.kill()
        server.process.wait()
        wait_until(lambda: server.workers() == [], "without the first process there are no workers")


def test_workers_together_allow_no_more_than_the_limits() -> None:
    settings = ServerSettings(requests_per_minute=601, failures_per_minute=20, seats_per_address=2)
    share = share_of(settings, 3)
    assert (share.requests_per_minute, share.failures_per_minute, share.seats_per_address) == (200, 6, 1)
    assert share_of(settings, 1) == settings
    assert share.body_bytes == settings.body_bytes


@pytest.mark.parametrize("number", [-1, 0, MAX_WORKERS + 1])
def test_a_number_of_workers_that_cannot_be_is_refused(number: int) -> None:
    with pytest.raises(InputError, match=f"workers = {number}: should be from 1 to 64"):
        check_workers(number, POSTGRESQL)


def test_on_sqlite_one_process_serves() -> None:
    check_workers(1, "sqlite:///x.sqlite")
    check_workers(2, POSTGRESQL)
    with pytest.raises(InputError, match=r"should be 1 on SQLite.*name a PostgreSQL database for more"):
        check_workers(2, "sqlite:///x.sqlite")

"""Connections to a real server: half-sent requests are cut off, and only a named proxy says where a request is from."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx
import pytest

from crowdveil.server.request_guard import HEADERS

REQUEST_S = 2.0
SERVE = """
import json, sys
from crowdveil.server.run import serve
from crowdveil.server.settings import ServerSettings
url, settings, proxies = json.loads(sys.argv[1])
serve(url, settings=ServerSettings(**settings), trusted_proxies=proxies, ready=lambda at: print(at, flush=True))
"""
HALF = {
    "nothing": b"",
    "an empty line": b"\r\n",
    "half a request line": b"GET /hea",
    "half of the headers": b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ",
    "half of a body": b"POST /v1/campaigns/coffee/seats HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    b"content-length: 100\r\n\r\n{",
    "a body in pieces": b"POST /v1/campaigns/coffee/seats HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n",
    "an operator's body": b"PUT /v1/operator/campaigns/coffee HTTP/1.1\r\nhost: x\r\nauthorization: Bearer guess\r\n"
    b"content-type: application/json\r\ncontent-length: 8000000\r\n\r\n{",
}


@contextmanager
def serving(folder: Path, settings: dict[str, Any], proxies: list[str]) -> Iterator[str]:
    """Run a server process; yield its address."""
    order = json.dumps([f"sqlite:///{folder}/store.sqlite", settings, proxies])
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, order], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def connect(url: str) -> socket.socket:
    host, _, port = url.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=30)


def closed_after(line: socket.socket, since: float) -> float:
    """Wait until the server closes a connection; return the seconds since then."""
    try:
        while line.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return monotonic() - since


def slowest_answer(url: str, times: int) -> float:
    """Ask a few times, while others keep the server busy; return the longest time that an answer took."""
    took_s = []
    for _ in range(times):
        began = monotonic()
        assert httpx.get(f"{url}/healthz", timeout=10).status_code == 200
        took_s.append(monotonic() - began)
    return max(took_s)


@contextmanager
def many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.long
def test_eleven_hundred_half_sent_requests_are_cut_off_while_the_server_goes_on(tmp_path: Path) -> None:
    with serving(tmp_path, {"request_s": REQUEST_S}, []) as url, many_files():
        kinds = [*HALF.values()]
        began = monotonic()
        lines = []
        for number in range(1100):
            line = connect(url)
            line.sendall(kinds[number % len(kinds)])
            lines.append(line)
        opened_s = monotonic() - began
        with ThreadPoolExecutor(1) as beside:
            answering = beside.submit(slowest_answer, url, 5)
            last = max(closed_after(line, began) for line in lines)
            answered_s = answering.result()
        for line in lines:
            line.close()
        assert answered_s < 8
        assert last < opened_s + REQUEST_S + 5
        assert httpx.get(f"{url}/healthz", timeout=10).status_code == 200


@pytest.mark.parametrize(
    "what",
    [
        "half of the headers",
        pytest.param("half of a body", marks=pytest.mark.long),
        pytest.param("an empty line", marks=pytest.mark.long),
    ],
)
def test_whoever_sends_a_byte_now_and_then_is_cut_off_too(tmp_path: Path, what: str) -> None:
    with serving(tmp_path, {"request_s": REQUEST_S}, []) as url:
        with connect(url) as line:
            began = monotonic()
            line.sendall(HALF[what])
            line.settimeout(0.2)
            while monotonic() < began + 20:
                try:
                    line.sendall(b"\r\n" if what == "an empty line" else b" ")
                    if not line.recv(4096):
                        break
                except TimeoutError:
                    continue
                except OSError:
                    break
            assert monotonic() - began < REQUEST_S + 5
        # The same, after a request that was answered.
        with connect(url) as line:
            line.sendall(b"GET /v1/ping HTTP/1.1\r\nhost: x\r\n\r\n")
            assert line.recv(4096).startswith(b"HTTP/1.1 204")
            line.sendall(HALF[what])
            assert closed_after(line, monotonic()) < REQUEST_S + 6


def test_headers_that_were_prepared_are_sent_once_and_before_a_connection_is_closed(tmp_path: Path) -> None:
    with serving(tmp_path, {}, []) as url:
        kept = {name.lower(): value for name, value in httpx.get(f"{url}/v1/ping").headers.items()}
        assert kept == HEADERS | {"cache-control": "no-store"}
        closed = httpx.get(f"{url}/v1/ping", headers={"connection": "close"}).headers
        assert dict(closed) == kept | {"connection": "close"}
        with connect(url) as line:  # several requests at once are answered one after the other
            line.sendall(b"GET /v1/ping HTTP/1.1\r\nhost: x\r\n\r\n" * 3)
            received = b""
            while received.count(b"\r\n\r\n") < 3:
                received += line.recv(65_536)
            assert received.count(b"HTTP/1.1 204 No Content\r\n") == 3
            assert b"content-length" not in received


@pytest.mark.long
def test_a_large_body_over_a_slow_line_arrives(tmp_path: Path) -> None:
    size = 400_000
    with serving(tmp_path, {"request_s": 1.0}, []) as url, connect(url) as line:
        began = monotonic()
        line.sendall(
            b"PUT /v1/operator/campaigns/coffee HTTP/1.1\r\nhost: x\r\nauthorization: Bearer guess\r\n"
            b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % size
        )
        for _ in range(20):
            line.sendall(b" " * (size // 20))
            sleep(0.15)
        assert monotonic() - began > 2.5
        assert line.recv(4096).startswith(b"HTTP/1.1 401")


def test_only_a_named_proxy_says_where_a_request_comes_from(tmp_path: Path) -> None:
    def asked(url: str, forwarded: str, times: int = 1) -> list[int]:
        headers = {"x-forwarded-for": forwarded}
        return [httpx.get(f"{url}/v1/ping", headers=headers).status_code for _ in range(times)]

    few = {"requests_per_minute": 3}
    with serving(tmp_path, few, ["127.0.0.1"]) as url:
        assert asked(url, "203.0.113.9", 4) == [204, 204, 204, 429]
        assert asked(url, "203.0.113.10") == [204]
        assert asked(url, "198.51.100.1, 203.0.113.9") == [429]  # what the client itself claimed does not count
        assert asked(url, "127.0.0.1, 203.0.113.9") == [429]
    with serving(tmp_path, few, ["10.0.0.0/8"]) as url:
        assert set(asked(url, "203.0.113.9", 6)) == {204}  # this peer is no proxy, so it is this machine that asks
    with serving(tmp_path, few, []) as url:
        assert set(asked(url, "203.0.113.9", 6)) == {204}


def test_the_files_of_a_server_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with serving(tmp_path, {}, []) as url:
            assert httpx.get(f"{url}/healthz").status_code == 200
            modes = {one.name: one.stat().st_mode & 0o777 for one in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert set(modes) == {"store.sqlite", "store.sqlite-wal", "store.sqlite-shm"}
    assert set(modes.values()) == {0o600}

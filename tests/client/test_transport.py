"""Requests over real HTTP on loopback: nothing added, nothing followed, and no plain HTTP to anyone else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic

import pytest

import crowdveil as cv
from crowdveil.client import Device, HttpReply, HttpRequest, HttpTransport, Ledger, transport
from crowdveil.errors import ServerUnreachable
from tests.client.fake_server import FakeServer, small_policy, without_waiting


@contextmanager
def listening(answer: FakeServer) -> Iterator[str]:
    """Put a fake server on a port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = answer.send(HttpRequest(self.command, self.path, headers, body))
            self.send_response(reply.status)
            for name, value in {**reply.headers, "content-length": str(len(reply.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST = do_PUT = _any  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.server_port}"
        finally:
            listener.shutdown()
            thread.join()


def test_the_same_device_joins_over_http(tmp_path: Path) -> None:
    server = FakeServer(small_policy())
    Ledger.create(tmp_path / "ledger")
    with listening(server) as url, HttpTransport(url + "/") as http:
        assert Device(without_waiting(), tmp_path / "ledger", http).join("noise", {8: 1.0}).state == "acknowledged"
    told = {name for request in server.requests for name in request.headers}
    assert told <= {
        *("host", "connection", "user-agent", "accept", "accept-encoding"),
        *("content-type", "content-length", "authorization"),
    }
    assert {request.headers["user-agent"] for request in server.requests} == {"crowdveil-device"}
    assert {request.headers["accept-encoding"] for request in server.requests} == {"identity"}


def test_redirects_are_not_followed_and_cookies_not_kept() -> None:
    server = FakeServer(small_policy())
    cookie = {"set-cookie": "id=7", "location": "http://127.0.0.2/elsewhere"}
    server.interfere = lambda _, __: HttpReply(302, cookie)
    with listening(server) as url, HttpTransport(url) as http:
        for _ in range(2):
            assert http.send(HttpRequest("GET", "/v1/campaigns/noise")).status == 302
    assert len(server.requests) == 2
    assert not any("cookie" in request.headers for request in server.requests)


def test_an_unreachable_server_and_an_endless_reply_are_the_same_error(monkeypatch: pytest.MonkeyPatch) -> None:
    server = FakeServer(small_policy())
    monkeypatch.setattr(transport, "MAX_REPLY_BYTES", 100)
    with (
        listening(server) as url,
        HttpTransport(url) as http,
        pytest.raises(ServerUnreachable, match="longer than 100 bytes"),
    ):
        http.send(HttpRequest("GET", "/v1/campaigns/noise/rounds/0/policy"))
    with HttpTransport(url) as http, pytest.raises(ServerUnreachable, match="ConnectError"):
        http.send(HttpRequest("GET", "/"))


def test_a_long_reply_is_read_whole_with_its_headers_in_lower_case(monkeypatch: pytest.MonkeyPatch) -> None:
    server = FakeServer(small_policy())
    long = bytes(range(256)) * 4096
    server.interfere = lambda _, __: HttpReply(503, {"Retry-After": "7"}, long)
    monkeypatch.setattr(transport, "MAX_REPLY_BYTES", len(long))
    with listening(server) as url, HttpTransport(url) as http:
        reply = http.send(HttpRequest("GET", "/"))
    assert reply.body == long
    assert reply.headers["retry-after"] == "7"


def test_only_a_proxy_that_is_named_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy from the environment would see where a device's requests go."""
    server = FakeServer(small_policy())
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with listening(server) as url:
        with HttpTransport(url) as http:
            assert http.send(HttpRequest("GET", "/v1/campaigns/noise")).status == 200
        with HttpTransport("http://127.0.0.2:9", proxy=url) as http:
            http.send(HttpRequest("GET", "/v1/campaigns/noise"))
    assert [request.path for request in server.requests] == [
        "/v1/campaigns/noise",
        "http://127.0.0.2:9/v1/campaigns/noise",
    ]


def test_a_server_that_does_not_answer_in_time_is_unreachable() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        HttpTransport(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.1) as http,
    ):
        began = monotonic()
        with pytest.raises(ServerUnreachable, match="ReadTimeout"):
            http.send(HttpRequest("GET", "/"))
        assert monotonic() - began < 3


def test_only_the_slashes_at_the_end_of_an_address_are_dropped() -> None:
    assert transport.check_url("https://crowd.example.org/X/") == "https://crowd.example.org/X"


@pytest.mark.parametrize(
    "url", ["https://crowd.example.org", "http://127.0.0.1:8080", "http://[::1]:1", "http://localhost"]
)
def test_https_and_this_machine_are_reached(url: str) -> None:
    assert transport.check_url(url + "/") == url


@pytest.mark.parametrize(
    "url",
    [
        "http://crowd.example.org",
        "http://10.0.0.1",
        "http://localhost.example.org",
        "ftp://crowd.example.org",
        "crowd.example.org",
        "https://",
        "https://user:pass@crowd.example.org",
        "https://crowd.example.org/?a=1",
        "https://crowd.example.org:port",
        "",
    ],
)
def test_an_unencrypted_or_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(cv.InputError, match="url = "):
        transport.check_url(url)

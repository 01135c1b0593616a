"""How a device reaches a server: one method, so that the network, a server in the same process and a fault injector
are the same to it.

    class InProcess:
        def __init__(self, server): self.server = server
        def send(self, request): return HttpReply(*self.server.answer(request.method, request.path, request.body))

A transport answers with whatever status came, or raises `ServerUnreachable`; it never repeats a request by itself,
because only the device knows what may be sent twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from types import MappingProxyType
from typing import Protocol
from urllib.parse import urlsplit

import httpx

from crowdveil.errors import InputError, ServerUnreachable

TIMEOUT_S = 20.0
MAX_REPLY_BYTES = 1 << 26
"""A policy of a million cells fits; a reply without end does not."""
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class HttpRequest:
    """What leaves the device, all of it."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=lambda: NOTHING, repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class HttpReply:
    """What came back; header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=lambda: NOTHING, repr=False)
    body: bytes = field(default=b"", repr=False)


class Transport(Protocol):
    """Carries one request and brings its reply."""

    def send(self, request: HttpRequest) -> HttpReply:
        """Send once; raise NoAnswerError when no reply came."""
        ...


class HttpTransport:
    """Requests over HTTPS, or over plain HTTP to this very machine.

    Nothing but the request is told: no cookies, no referrer, no library version. Redirects are not followed: the
    server is the one that was named. Proxies and passwords of the environment are not used; name a proxy if need be.
    """

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S, proxy: str | None = None) -> None:
        self.url = check_url(url)
        headers = {"user-agent": "crowdveil-device", "accept-encoding": "identity"}
        self._client = httpx.Client(
            headers=headers, timeout=timeout_s, follow_redirects=False, trust_env=False, proxy=proxy
        )

    def send(self, request: HttpRequest) -> HttpReply:
        """Send once, and read at most `MAX_REPLY_BYTES`."""
        try:
            with self._client.stream(
                request.method, self.url + request.path, headers=dict(request.headers), content=request.body
            ) as answer:
                body = bytearray()
                for chunk in answer.iter_raw():
                    body += chunk
                    if len(body) > MAX_REPLY_BYTES:
                        raise ServerUnreachable(f"{request.path}: the reply is longer than {MAX_REPLY_BYTES:,} bytes")
                return HttpReply(answer.status_code, {k.lower(): v for k, v in answer.headers.items()}, bytes(body))
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise ServerUnreachable(f"{self.url}: no answer ({type(error).__name__}: {error})") from None
        finally:
            self._client.cookies.clear()

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def __enter__(self) -> HttpTransport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_url(url: str) -> str:
    """Return a server's address without its last slash; refuse what would send reports in the clear."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except (TypeError, ValueError):
        raise InputError("url", url, "should be an address such as https://crowd.example.org") from None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment or "@" in parts.netloc:
        raise InputError("url", url, "should be an address such as https://crowd.example.org")
    if parts.scheme == "http" and not _is_loopback(host):
        raise InputError("url", url, "should begin with https://; plain http is for this machine alone (127.0.0.1)")
    return url.rstrip("/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False

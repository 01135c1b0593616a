"""Send requests to a server, through one method, so that a device works alike over the network, with a server in the
same process, and with a fault injector.

    class InProcess:
        def __init__(self, server): self.server = server
        def send(self, request): return HttpReply(*self.server.answer(request.method, request.path, request.body))

A transport returns whatever status the server answered with, or raises `ServerUnreachable`. It never retries, because
only the device knows what may be sent twice.
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
"""Largest reply; a policy of a million cells fits, and an endless reply is cut off."""
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class HttpRequest:
    """A request: everything that leaves the device."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=lambda: NO_HEADERS, repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True)
class HttpReply:
    """A reply; header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=lambda: NO_HEADERS, repr=False)
    body: bytes = field(default=b"", repr=False)


class Transport(Protocol):
    """Sends one request and returns its reply."""

    def send(self, request: HttpRequest) -> HttpReply:
        """Send a request once; raise ServerUnreachable if no reply came."""
        ...


class HttpTransport:
    """Send requests over HTTPS, or over plain HTTP to this machine.

    Nothing else is sent: no cookies, no referrer, no version of a library. Redirects are not followed, so requests go
    only to the named server. Proxies and passwords from the environment are ignored; a proxy can be named.
    """

    def __init__(self, url: str, *, timeout_s: float = TIMEOUT_S, proxy: str | None = None) -> None:
        self.url = check_url(url)
        headers = {"user-agent": "crowdveil-device", "accept-encoding": "identity"}
        self._client = httpx.Client(
            headers=headers, timeout=timeout_s, follow_redirects=False, trust_env=False, proxy=proxy
        )

    def send(self, request: HttpRequest) -> HttpReply:
        """Send a request once, and read at most `MAX_REPLY_BYTES`."""
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
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> HttpTransport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_url(url: str) -> str:
    """Return the address of a server without a final slash; refuse one that would send reports unencrypted."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except (TypeError, ValueError):
        raise InputError("url", url, "should be an address such as https://crowd.example.org") from None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment or "@" in parts.netloc:
        raise InputError("url", url, "should be an address such as https://crowd.example.org")
    if parts.scheme == "http" and not _is_loopback(host):
        raise InputError("url", url, "should begin with https://; plain http is only for this machine (127.0.0.1)")
    return url.rstrip("/")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False

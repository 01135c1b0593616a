"""Put a proxy in front of the server, as in hotels and data centres."""

from __future__ import annotations

import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import httpx

WELCOME = "Welcome to our hotel"


class Proxy(ThreadingHTTPServer):
    """Forwards requests except those that it answers itself; while it is not `free`, it answers nothing."""

    daemon_threads = True

    def __init__(self, behind: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind = behind
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.free = Event()
        self.pass_on()

    def pass_on(self) -> None:
        """Forward every request from now on."""
        self.own, self.status = "$.", 0
        self.free.set()

    def answer(self, own: str, status: int) -> None:
        """Answer requests for paths with this pattern by a page of the proxy from now on."""
        self.own, self.status = own, status

    def __enter__(self) -> Proxy:
        Thread(target=self.serve_forever).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.free.set()
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Proxy

    def do_GET(self) -> None:
        self.server.free.wait()
        if re.search(self.server.own, self.path):
            self._send(self.server.status, {"content-type": "text/html"}, f"<h1>{WELCOME}</h1>".encode())
        else:
            given = httpx.get(self.server.behind + self.path)
            kept = {name: given.headers[name] for name in PASSED if name in given.headers}
            self._send(given.status_code, kept, given.content)

    def _send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


PASSED = ("content-type", "cache-control", "service-worker-allowed")

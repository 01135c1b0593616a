"""Run a server at an address, in one process or in several, until a signal stops it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from crowdveil.server.logs import log, set_up
from crowdveil.server.process import listen, serve_on
from crowdveil.server.settings import ServerSettings
from crowdveil.server.workers import serve_with_workers


def serve(
    database_url: str,
    host: str = "127.0.0.1",
    port: int = 0,
    settings: ServerSettings | None = None,
    *,
    tile_url: str | None = None,
    trusted_proxies: Sequence[str] = (),
    workers: int = 1,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; running requests are answered first.

    `ready` is called with the address once the server accepts connections. Port 0 takes any free port. The address of a
    client is read from the header X-Forwarded-For only if one of the `trusted_proxies` has sent it. With several
    `workers`, which need PostgreSQL, so many processes answer requests at one address.
    """
    set_up()
    settings = settings or ServerSettings()
    options: dict[str, Any] = {"tile_url": tile_url, "trusted_proxies": list(trusted_proxies)}
    if workers != 1:
        serve_with_workers(database_url, host, port, settings, workers, options, ready)
        return
    with listen(host, port) as listening:
        serve_on(listening, database_url, settings, **options, ready=ready)
        log().info("stopped")

"""Answer every request with two letters, by uvicorn alone: what a server in Python can do on this machine."""

from __future__ import annotations

import sys
from typing import Any

import uvicorn

HEADERS = [(b"content-type", b"text/plain"), (b"content-length", b"2")]


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Be the smallest ASGI application."""
    if scope["type"] == "lifespan":
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": b"ok"})


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), http="httptools", loop="uvloop", log_level="warning", access_log=False)

"""Serve the operator's console and the participant's page, which are built into the package.

All files are read at the start. They load nothing from other hosts: the content security policy forbids it, except for
map tiles of a tile server that the server's operator named.
"""

from __future__ import annotations

import gzip
import mimetypes
import re
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request, Response

from crowdveil.errors import InputError
from crowdveil.server.page_files import FOLDER, NOT_BUILT, content_policy
from crowdveil.server.refusals import refuse

TILES = b'<meta name="crowdveil-tiles" content="">'
"""Where the pages read the address of a tile server."""
TYPES = {".webmanifest": "application/manifest+json", ".js": "text/javascript", ".svg": "image/svg+xml"}
_TILES = re.compile(r"(https?)://(\{s\}\.)?([A-Za-z0-9.-]+(?::\d+)?)/((?:[A-Za-z0-9./_@?=&%-]|\{[zxyr]\})*)")


@dataclass(frozen=True)
class PageFile:
    """A file of the pages."""

    data: bytes
    media_type: str

    @classmethod
    def of(cls, name: str, data: bytes) -> PageFile:
        """Tell the type of a file by its name."""
        return cls(data, TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream")

    @cached_property
    def compressed(self) -> bytes:
        """The same at the highest level, from when it is first asked for."""
        return gzip.compress(self.data, 9, mtime=0)


def add_pages(app: FastAPI, tile_url: str | None, folder: Path = FOLDER) -> None:
    """Add the routes of the pages; if they were not built, the routes say how to build them."""
    routes = APIRouter(include_in_schema=False)
    files = _read(folder, tile_url)
    headers = {"content-security-policy": _headed(tile_url), "cache-control": "no-cache"}

    @routes.get("/")
    async def start() -> Response:
        return Response(status_code=307, headers={"location": "/console"})

    @routes.get("/console")
    @routes.get("/console/")
    async def console(request: Request) -> Response:
        return _send(files.get("console.html"), request.headers.get("accept-encoding", ""), headers)

    @routes.get("/join")  # the page then says that the link names no campaign
    @routes.get("/join/")
    @routes.get("/join/{campaign}")
    @routes.get("/join/{campaign}/")
    async def join(request: Request) -> Response:
        # No tiles here: requesting the tile of a place would reveal the place.
        own = {**headers, "content-security-policy": _headed(None)}
        return _send(files.get("join.html"), request.headers.get("accept-encoding", ""), own)

    @routes.get("/pages/{name:path}")
    async def part(name: str, request: Request) -> Response:
        # The service worker is below /pages/ and also serves /join/, so that the page starts without a network.
        more = {"service-worker-allowed": "/"}
        if "/" in name:  # these files are named by a hash of their content
            more["cache-control"] = "public, max-age=31536000, immutable"
        return _send(files.get(name), request.headers.get("accept-encoding", ""), {**headers, **more})

    app.include_router(routes)


def check_tiles(tile_url: str) -> str:
    """Return the address of a tile server, or refuse what is not one."""
    found = _TILES.fullmatch(tile_url)
    if found is None or not all(part in found[4] for part in ("{z}", "{x}", "{y}")):
        raise InputError("tiles", tile_url, "should be an address such as https://tiles.example.org/{z}/{x}/{y}.png")
    return tile_url


def _headed(tile_url: str | None) -> str:
    """Return the policy as a header says it; that nobody may frame the page cannot be said in the page itself."""
    return f"{content_policy(tile_url)}; frame-ancestors 'none'"


def _read(folder: Path, tile_url: str | None) -> dict[str, PageFile]:
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            data = path.read_bytes()
            if tile_url is not None and name.endswith(".html"):
                data = data.replace(TILES, TILES.replace(b'""', f'"{escape(tile_url)}"'.encode()))
            found[name] = PageFile.of(name, data)
    return found


def _send(file: PageFile | None, request_encoding: str, headers: dict[str, str]) -> Response:
    if file is None:
        raise refuse("not-found", NOT_BUILT)
    sent = {**headers, "vary": "accept-encoding"}
    if "gzip" in request_encoding:
        return Response(file.compressed, media_type=file.media_type, headers={**sent, "content-encoding": "gzip"})
    return Response(file.data, media_type=file.media_type, headers=sent)

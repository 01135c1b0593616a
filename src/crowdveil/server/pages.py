"""The operator's console and the participant's page, as they were built into the package.

All files are read at the start. They load nothing from other hosts: the content security policy forbids it, but for
map tiles where the operator of the server named a tile server.
"""

from __future__ import annotations

import gzip
import mimetypes
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import APIRouter, FastAPI, Request, Response

from crowdveil.errors import InputError
from crowdveil.server.refusals import refuse

FOLDER = Path(__file__).parent / "pages"
TILES = b'<meta name="crowdveil-tiles" content="">'
"""Where the pages look for a tile server's address."""
TYPES = {".webmanifest": "application/manifest+json", ".js": "text/javascript", ".svg": "image/svg+xml"}
_TILES = re.compile(r"(https?)://(\{s\}\.)?([A-Za-z0-9.-]+(?::\d+)?)/((?:[A-Za-z0-9./_@?=&%-]|\{[zxyr]\})*)")


@dataclass(frozen=True)
class File:
    """A file of the pages, and the same compressed."""

    data: bytes
    packed: bytes
    media_type: str

    @classmethod
    def of(cls, name: str, data: bytes) -> File:
        """Compressed once, as well as possible."""
        kind = TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        return cls(data, gzip.compress(data, 9, mtime=0), kind)


def add_pages(app: FastAPI, tile_url: str | None, folder: Path = FOLDER) -> None:
    """Serve the pages; where they were not built, their addresses say how to."""
    routes = APIRouter(include_in_schema=False)
    files = _read(folder, tile_url)
    headers = {"content-security-policy": content_policy(tile_url), "cache-control": "no-cache"}

    @routes.get("/")
    async def start() -> Response:
        return Response(status_code=307, headers={"location": "/console"})

    @routes.get("/console")
    @routes.get("/console/")
    async def console(request: Request) -> Response:
        return _send(files.get("console.html"), request.headers.get("accept-encoding", ""), headers)

    @routes.get("/join")  # which says that it names no campaign
    @routes.get("/join/")
    @routes.get("/join/{campaign}")
    @routes.get("/join/{campaign}/")
    async def join(request: Request) -> Response:
        # No tiles here: asking for the tile of a place would reveal where it is.
        own = {**headers, "content-security-policy": content_policy(None)}
        return _send(files.get("join.html"), request.headers.get("accept-encoding", ""), own)

    @routes.get("/pages/{name:path}")
    async def part(name: str, request: Request) -> Response:
        # What lets the participant's page start without a network lives below /pages/, and serves /join/ too.
        more = {"service-worker-allowed": "/"}
        if "/" in name:  # named by their content
            more["cache-control"] = "public, max-age=31536000, immutable"
        return _send(files.get(name), request.headers.get("accept-encoding", ""), {**headers, **more})

    app.include_router(routes)


def check_tiles(tile_url: str) -> str:
    """Return a tile server's address, or say what one looks like."""
    found = _TILES.fullmatch(tile_url)
    if found is None or not all(part in found[4] for part in ("{z}", "{x}", "{y}")):
        raise InputError("tiles", tile_url, "should be an address such as https://tiles.example.org/{z}/{x}/{y}.png")
    return tile_url


def content_policy(tile_url: str | None) -> str:
    """What the pages may load: themselves, and tiles if there are any."""
    # {s} stands for one of several hosts, a.tiles.example.org and so on.
    tiles = "" if tile_url is None else " {0.scheme}://{0.netloc}".format(urlsplit(tile_url.replace("{s}", "*")))
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:{tiles}; "
        "connect-src 'self'; worker-src 'self'; manifest-src 'self'; font-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _read(folder: Path, tile_url: str | None) -> dict[str, File]:
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            data = path.read_bytes()
            if tile_url is not None and name.endswith(".html"):
                data = data.replace(TILES, TILES.replace(b'""', f'"{escape(tile_url)}"'.encode()))
            found[name] = File.of(name, data)
    return found


def _send(file: File | None, request_encoding: str, headers: dict[str, str]) -> Response:
    if file is None:
        raise refuse("not-found", "there is no such page; if none is there, `make web` builds them")
    sent = {**headers, "vary": "accept-encoding"}
    if "gzip" in request_encoding:
        return Response(file.packed, media_type=file.media_type, headers={**sent, "content-encoding": "gzip"})
    return Response(file.data, media_type=file.media_type, headers=sent)

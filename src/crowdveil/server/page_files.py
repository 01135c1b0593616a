"""Say where the built pages are, and what they may load and connect to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

FOLDER = Path(__file__).parent / "pages"
"""The pages as `make web` builds them into the package."""
NOT_BUILT = "this installation has no pages; `make web` builds them in a clone, `make wheel` puts them into a wheel"


def content_policy(tile_url: str | None = None, connect: Sequence[str] = ()) -> str:
    """Return the content security policy of a page.

    It loads only from its own site, and map tiles from the tile server; it connects to its own site and to those in
    `connect`.
    """
    # {s} stands for one of several hosts, a.tiles.example.org and so on.
    tiles = "" if tile_url is None else " {0.scheme}://{0.netloc}".format(urlsplit(tile_url.replace("{s}", "*")))
    connections = " ".join(["'self'", *connect])
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:{tiles}; "
        f"connect-src {connections}; worker-src 'self'; manifest-src 'self'; font-src 'self'; "
        "base-uri 'none'; form-action 'none'"
    )

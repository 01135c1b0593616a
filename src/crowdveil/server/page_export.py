"""Write the participant's page as a folder that any site can serve, for campaigns on any server.

The page that guards a participant should not come from the server that it guards against. The exported page keeps one
ledger for all servers, in the browser, under the site that serves it. It is the same bytes whoever exports it, from the
same version and for the same servers: the manifest lists the SHA-256 of every file, and the SHA-256 of the manifest
stands for the whole. Whoever publishes a page publishes that hash, and anyone can export the page again and compare.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

from crowdveil.codec import write_atomically
from crowdveil.errors import FileFormatError, InputError
from crowdveil.server.page_files import FOLDER, NOT_BUILT, content_policy

SOURCE, PAGE, PREFIX = "join.html", "index.html", "/pages/"
EXPORT = '<meta name="crowdveil-export" content="">'
"""Where the page reads which servers it is for; on a server's own page this is empty."""
ANY_SERVER = "any"
ANY_CONNECTION = ("https:", "http://127.0.0.1:*", "http://localhost:*")
"""Any server that devices accept: others than those on the same machine need TLS."""
BESIDE = ("sw.js", "manifest.webmanifest", "icon.svg", "icon-maskable.svg")
"""Files that the page needs although it does not list them as parts."""
_PARTS = re.compile(r'<meta name="crowdveil-parts" content="([^"]*)">')


@dataclass(frozen=True)
class ExportedPage:
    """The files of an exported page, by their names."""

    files: dict[str, bytes]

    @property
    def manifest(self) -> str:
        """List the SHA-256 and the name of every file, sorted by name, as `sha256sum` does."""
        lines = (f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(self.files.items()))
        return "".join(lines)

    @property
    def hash(self) -> str:
        """Return the SHA-256 of the manifest, which stands for the whole page."""
        return hashlib.sha256(self.manifest.encode()).hexdigest()

    def write(self, folder: Path) -> Path:
        """Write the files into a new or empty folder, and the manifest beside it; return the manifest's path."""
        beside = folder.with_name(f"{folder.name}.sha256")
        for name, data in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        write_atomically(beside, lambda temporary: temporary.write_bytes(self.manifest.encode()))
        return beside


def export_page(servers: Sequence[str] = (), built: Path = FOLDER) -> ExportedPage:
    """Make the participant's page for these servers, or for any server if none is named."""
    origins = sorted({check_origin(server) for server in servers})
    if not (built / SOURCE).is_file():
        raise FileFormatError(f"page: {NOT_BUILT}")
    source = (built / SOURCE).read_text("utf-8")
    parts = _PARTS.search(source)
    if parts is None or EXPORT not in source:
        raise FileFormatError(f"{SOURCE}: these pages were built by another version; `make web` builds them again")
    names = [name.removeprefix(PREFIX) for name in parts[1].split()]
    files = {name: (built / name).read_bytes() for name in (*names, *BESIDE)}
    files[PAGE] = _page(source, origins).encode()
    files["manifest.webmanifest"] = _web_manifest(files["manifest.webmanifest"])
    return ExportedPage(files)


def check_origin(server: str) -> str:
    """Return the origin of a server, or refuse what is not one."""
    parts = urlsplit(server)
    plain = parts.netloc and not (parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc)
    if parts.scheme not in ("http", "https") or not plain or not re.fullmatch(r"[A-Za-z0-9.:\[\]-]+", parts.netloc):
        raise InputError("server", server, "should be an address such as https://campaigns.example.org, without a path")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _page(source: str, origins: list[str]) -> str:
    """Make the page work in any folder, and state in it which servers it may connect to."""
    policy = content_policy(connect=origins or ANY_CONNECTION)
    told = f'<meta name="crowdveil-export" content="{escape(" ".join(origins) or ANY_SERVER)}"'
    told = f'{told} data-version="{escape(version("crowdveil"))}">'
    # The policy has to stand before anything that it governs.
    first = '<meta charset="utf-8" />'
    head = f'{first}\n    <meta http-equiv="content-security-policy" content="{policy}" />'
    return (
        source.replace(first, head, 1).replace(EXPORT, told).replace(f'"{PREFIX}', '"./').replace(f" {PREFIX}", " ./")
    )


def _web_manifest(data: bytes) -> bytes:
    """Make the manifest for installing the page speak of the folder it is in."""
    document = json.loads(data)
    document.update({"id": "./", "start_url": "./", "scope": "./"})
    for icon in document["icons"]:
        icon["src"] = icon["src"].removeprefix(PREFIX)
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()

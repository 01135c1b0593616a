"""The participant's page as a folder for any site."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from crowdveil.errors import FileFormatError, InputError
from crowdveil.server.page_export import EXPORT, check_origin, export_page

PAGE = f"""<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="crowdveil-parts" content="/pages/assets/join-1.js /pages/assets/worker-2.js">
    {EXPORT}
    <link rel="manifest" href="/pages/manifest.webmanifest" />
    <script type="module" crossorigin src="/pages/assets/join-1.js"></script>
  </head>
</html>
"""
MANIFEST = {"id": "/join/", "start_url": "/join/_", "scope": "/join/", "icons": [{"src": "/pages/icon.svg"}]}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "built"
    (folder / "assets").mkdir(parents=True)
    (folder / "join.html").write_text(PAGE)
    (folder / "console.html").write_text("the operator's")
    for name in (
        "assets/join-1.js",
        "assets/worker-2.js",
        "assets/console-3.js",
        "sw.js",
        "icon.svg",
        "icon-maskable.svg",
    ):
        (folder / name).write_text(f"// {name}")
    (folder / "manifest.webmanifest").write_text(json.dumps(MANIFEST))
    return folder


def test_the_page_has_its_own_parts_with_relative_addresses_and_nothing_of_the_console(built: Path) -> None:
    page = export_page(built=built)
    expected = {"index.html", "assets/join-1.js", "assets/worker-2.js", "sw.js", "manifest.webmanifest"}
    assert set(page.files) == expected | {"icon.svg", "icon-maskable.svg"}
    text = page.files["index.html"].decode()
    assert "/pages/" not in text.replace("./assets", "")
    assert 'src="./assets/join-1.js"' in text
    assert 'content="./assets/join-1.js ./assets/worker-2.js"' in text
    manifest = json.loads(page.files["manifest.webmanifest"])
    assert manifest == {"id": "./", "start_url": "./", "scope": "./", "icons": [{"src": "icon.svg"}]}


def test_the_content_policy_names_the_servers_or_allows_any_with_tls(built: Path) -> None:
    any_server = export_page(built=built).files["index.html"].decode()
    assert "connect-src 'self' https: http://127.0.0.1:* http://localhost:*;" in any_server
    assert '<meta name="crowdveil-export" content="any"' in any_server
    named = export_page(["https://b.example", "https://A.example/", "https://b.example"], built).files["index.html"]
    assert b"connect-src 'self' https://a.example https://b.example;" in named
    assert b'<meta name="crowdveil-export" content="https://a.example https://b.example"' in named
    assert named.index(b"content-security-policy") < named.index(b"<script")


def test_two_exports_are_the_same_bytes_and_the_manifest_is_beside(built: Path, tmp_path: Path) -> None:
    one, two = export_page(built=built), export_page(built=built)
    assert one.hash == two.hash
    for name in ("one", "two"):
        manifest = export_page(built=built).write(tmp_path / name)
        assert manifest == tmp_path / f"{name}.sha256"
        assert hashlib.sha256(manifest.read_bytes()).hexdigest() == one.hash
        for line in manifest.read_text().splitlines():
            digest, file = line.split("  ")
            assert hashlib.sha256((tmp_path / name / file).read_bytes()).hexdigest() == digest
    (built / "assets" / "worker-2.js").write_text("// altered")
    assert export_page(built=built).hash != one.hash


def test_pages_that_were_not_built_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="make web"):
        export_page(built=tmp_path)


@pytest.mark.parametrize(
    "server",
    ["campaigns.example.org", "https://a.example/join", "ftp://a.example", "https://a.example;x", "https://u@a"],
)
def test_what_is_no_origin_is_refused(server: str) -> None:
    with pytest.raises(InputError, match="without a path"):
        check_origin(server)

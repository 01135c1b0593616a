"""The wheel: every room, the pages if they are built, and the extras that pyproject.toml names."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = Path("src/crowdveil/server/pages")
BUILD = "import sys, hatchling.build as build; build.build_wheel(sys.argv[1]); build.build_sdist(sys.argv[1])"


class Built:
    """A wheel, a source archive, and what the build said."""

    def __init__(self, folder: Path, said: str) -> None:
        (wheel,) = folder.glob("*.whl")
        (source,) = folder.glob("*.tar.gz")
        with zipfile.ZipFile(wheel) as archive:
            self.names = set(archive.namelist())
            (metadata,) = (name for name in self.names if name.endswith(".dist-info/METADATA"))
            self.metadata: Message = Parser().parsestr(archive.read(metadata).decode())
        with tarfile.open(source) as archive:
            self.source_names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
        self.said = said


def build(folder: Path, pages: bool) -> Built:
    """Build from a copy of what a build reads, with or without pages."""
    copy, out = folder / "copy", folder / "out"
    copy.mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore", "tests/__init__.py"):
        (copy / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "pages"))
    if pages:
        (copy / PAGES / "assets").mkdir(parents=True)
        for name in ("console.html", "join.html", "assets/join.js"):
            (copy / PAGES / name).write_text("built", encoding="ascii")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(out)], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return Built(out, done.stdout + done.stderr)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("with-pages"), pages=True)


pytestmark = pytest.mark.xdist_group("wheel")


def test_a_wheel_holds_every_module_and_nothing_else(built: Built) -> None:
    source = ROOT / "src"
    modules = {path.relative_to(source).as_posix() for path in source.rglob("*.py")}
    inside = {name for name in built.names if name.endswith(".py")}
    assert inside == modules
    tops = {name.split("/")[0] for name in built.names}
    assert tops == {"crowdveil", f"crowdveil-{built.metadata['Version']}.dist-info"}
    assert "crowdveil/py.typed" in built.names


def test_a_wheel_and_a_source_archive_hold_the_built_pages(built: Built) -> None:
    for name in ("console.html", "join.html", "assets/join.js"):
        assert f"crowdveil/server/pages/{name}" in built.names
        assert f"src/crowdveil/server/pages/{name}" in built.source_names
    assert "make wheel" not in built.said


def test_a_build_without_pages_says_how_to_get_them(tmp_path: Path) -> None:
    bare = build(tmp_path, pages=False)
    assert not any(name.startswith("crowdveil/server/pages/") for name in bare.names)
    assert "`make wheel` builds and includes them" in bare.said


def test_a_source_archive_can_be_built_from(built: Built) -> None:
    assert {"pyproject.toml", "hatch_build.py", "src/crowdveil/__init__.py"} <= built.source_names


def test_the_metadata_names_the_extras(built: Built) -> None:
    assert built.metadata.get_all("Provides-Extra") == sorted(
        ["all", "batch", "bench", "dev", "docs", "examples", "plots", "server", "spark"]
    )
    needs = built.metadata.get_all("Requires-Dist") or []
    core = [one for one in needs if "extra ==" not in one]
    assert any(one.startswith("numpy") for one in core)
    assert not any(one.startswith(("fastapi", "matplotlib", "duckdb", "crowdveil")) for one in core)
    assert any(one.startswith("psycopg[binary]") and "'server'" in one for one in needs)
    assert built.metadata["License-Expression"] == "Apache-2.0"

"""What the package imports is declared: in the core, or in the extra of the room that imports it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent.parent
SOURCE = ROOT / "src" / "crowdveil"

EXTRAS_OF_ROOMS = {"server": "server", "store": "server", "plots": "plots", "batch": "batch"}
"""Rooms that need an extra; every other room is part of the core."""

EXTRAS_OF_MODULES = {
    "batch/spark_engine.py": "spark",
    "traces/csv_scan.py": "batch",
    "traces/parquet.py": "batch",
    "traces/scan.py": "batch",
    "traces/table_scan.py": "batch",
    "simulate/people.py": "batch",
    "simulate/large.py": "batch",
}
"""Modules that need another extra than their room."""

ANY_EXTRA = {"cli"}
"""Rooms of the core that may import the libraries of every extra, but only within functions."""

NEED_EXTRAS = {"paper"}
"""Rooms that draw what they compute; only the command line imports them."""

NOT_IMPORTED = {
    "httptools": "uvicorn's parser, chosen by name",
    "psycopg": "SQLAlchemy's driver of PostgreSQL, chosen by name",
    "tzdata": "read by zoneinfo where the system has no time zones",
    "uvloop": "uvicorn's event loop, chosen by name",
}
"""What is declared although no module imports it, and why."""


class Imported(NamedTuple):
    """A library that a module imports."""

    module: str
    """Path below `src/crowdveil`."""
    library: str
    within_function: bool


@cache
def project() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        found: dict[str, Any] = tomllib.load(file)["project"]
    return found


@cache
def declared(extra: str | None) -> frozenset[str]:
    """Return the distributions of the core, or of the core and an extra, with those of the extras it includes."""
    if extra is None:
        return frozenset(canonicalize_name(Requirement(one).name) for one in project()["dependencies"])
    found = set(declared(None))
    for one in map(Requirement, project()["optional-dependencies"][extra]):
        found |= {canonicalize_name(one.name)} - {"crowdveil"}
        if one.name == "crowdveil":
            found = found.union(*(declared(inner) for inner in one.extras))
    return frozenset(found)


@cache
def imported() -> tuple[Imported, ...]:
    """Return every import of a library that is not Python's own."""
    found = set()
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).as_posix()
        for name, within in imports_of(path):
            library = name.split(".")[0]
            if library not in sys.stdlib_module_names and library != "crowdveil":
                found.add(Imported(module, library, within))
    return tuple(sorted(found))


@cache
def imports_of(path: Path) -> frozenset[tuple[str, bool]]:
    return frozenset(names(ast.parse(path.read_text(encoding="utf-8")), False))


def names(node: ast.AST, within: bool) -> Iterator[tuple[str, bool]]:
    """Return the imported names below a node, and whether each import waits for a call or for a type checker."""
    if isinstance(node, ast.Import):
        yield from ((one.name, within) for one in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module is not None:
        yield from ((f"{node.module}.{one.name}", within) for one in node.names)
    waits = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
        isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
    )
    for child in ast.iter_child_nodes(node):
        yield from names(child, within or waits)


def extra_of(module: str) -> str | None:
    return EXTRAS_OF_MODULES.get(module, EXTRAS_OF_ROOMS.get(module.split("/")[0]))


@cache
def installed() -> Mapping[str, list[str]]:
    return packages_distributions()


def distributions(library: str) -> frozenset[str]:
    """Return the distributions that contain a module; one that is not installed has the module's name."""
    return frozenset(map(canonicalize_name, installed().get(library, [library])))


def file_of(name: str) -> Path | None:
    """Return the file of one of our modules; the name may go on with what the module defines."""
    for dotted in (name, name.rpartition(".")[0]):
        path = SOURCE.parent / dotted.replace(".", "/")
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
    return None


@pytest.mark.parametrize("one", imported(), ids=lambda one: f"{one.module}-{one.library}")
def test_what_a_module_imports_is_declared_where_the_module_belongs(one: Imported) -> None:
    allowed = set(declared(extra_of(one.module)))
    if one.within_function and one.module.split("/")[0] in ANY_EXTRA:
        allowed |= declared("all") | declared("spark")
    where = extra_of(one.module) or "the core"
    assert distributions(one.library) & allowed, f"{one.module} imports {one.library}: declare it for {where}"


def starts() -> list[str]:
    """Return what can be imported with the core alone."""
    rooms = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    core = rooms - set(EXTRAS_OF_ROOMS) - NEED_EXTRAS - {"__init__"}
    return [
        "crowdveil",
        "crowdveil.cli.app",
        "crowdveil.simulate.compare",
        *(f"crowdveil.{one}" for one in sorted(core)),
    ]


@pytest.mark.parametrize("start", starts())
def test_the_core_is_imported_without_any_extra(start: str) -> None:
    """Follow the imports that are made at once, those of the packages on the way included."""
    via: dict[str, str] = {start: ""}
    waiting = [start]
    while waiting:
        name = waiting.pop()
        file = file_of(name)
        if file is None:
            continue
        for other in (one for one, within in imports_of(file) if not within):
            library = other.split(".")[0]
            if library == "crowdveil":
                parts = other.split(".")
                new = {".".join(parts[: end + 1]) for end in range(len(parts))} - set(via)
                via |= dict.fromkeys(new, name)
                waiting += new
            elif library not in sys.stdlib_module_names:
                assert distributions(library) & declared(None), f"{_way(via, name)} imports {library}"


def _way(via: Mapping[str, str], name: str) -> str:
    steps = [name]
    while via[steps[-1]]:
        steps.append(via[steps[-1]])
    return " → ".join(reversed(steps))


def test_what_is_declared_is_imported() -> None:
    used = {name for one in imported() for name in distributions(one.library)} | set(NOT_IMPORTED)
    unused = (declared("all") | declared("spark")) - used
    assert not unused, "if it is used by name, say so in NOT_IMPORTED"


def test_the_exceptions_are_still_needed() -> None:
    everything = declared("all") | declared("spark")
    assert set(NOT_IMPORTED) <= everything
    for path in [*EXTRAS_OF_ROOMS, *EXTRAS_OF_MODULES, *ANY_EXTRA, *NEED_EXTRAS]:
        assert (SOURCE / path).exists(), f"{path} has moved"


def test_all_is_everything_but_spark() -> None:
    assert declared("all") == declared("server") | declared("plots") | declared("batch")
    assert not {"pyspark", "py4j"} & declared("all")


def test_every_extra_that_a_text_names_exists() -> None:
    for path in [*SOURCE.rglob("*.py"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]:
        for named in re.findall(r"(?:crowdveil|\.)\[([a-z]+(?:,[a-z]+)*)\]['\"`]", path.read_text(encoding="utf-8")):
            unknown = set(named.split(",")) - set(project()["optional-dependencies"])
            assert not unknown, f"{path.relative_to(ROOT)} names an extra that does not exist"


def test_the_core_has_no_library_of_an_extra() -> None:
    for heavy in ("alembic", "duckdb", "fastapi", "matplotlib", "pandas", "polars", "pyarrow", "sqlalchemy", "uvicorn"):
        assert heavy not in declared(None)


@pytest.mark.parametrize(
    ("lock", "extra"),
    [("", "dev"), ("-core", None), ("-bench", "bench"), ("-spark", "spark"), ("-spark", "all"), ("-docs", "docs")],
)
def test_every_declared_dependency_is_locked(lock: str, extra: str | None) -> None:
    text = (ROOT / f"requirements{lock}.lock").read_text(encoding="utf-8")
    pinned = {canonicalize_name(name) for name in re.findall(r"^([A-Za-z0-9._-]+)==", text, re.MULTILINE)}
    wanted = declared(extra) - declared(None) if extra == "docs" else declared(extra)
    assert wanted <= pinned, "run `make lock`"


def test_the_core_is_locked_to_the_versions_that_are_tested() -> None:
    tested = pins(ROOT / "requirements.lock")
    for name, versions in pins(ROOT / "requirements-core.lock").items():
        assert versions <= tested[name]


def pins(lock: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([a-z0-9._-]+)==([^ ;]+)", lock.read_text(encoding="utf-8"), re.MULTILINE):
        found.setdefault(name, set()).add(version)
    return found

"""Who may import whom, read from the source: the rooms of the architecture, without cycles."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "crowdveil"
ANYONE = {"errors", "arrays", "codec", "dataframes", "extras", "formatting", "vocabulary"}
"""What every room may import."""

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "vocabulary": set(),
    "formatting": set(),
    "arrays": {"errors"},
    "codec": {"arrays", "errors"},
    "dataframes": {"arrays", "errors"},
    "extras": {"errors"},
    "area": set(),
    "traces": {"area"},
    "profile": {"area", "traces"},
    "policy": {"area"},
    "certify": {"area", "policy"},
    "draw": {"certify", "policy"},
    "prior": {"area", "policy"},
    "wire": set(),
    "campaign": {"area", "certify", "policy", "prior", "wire"},
    "store": {"campaign", "policy", "prior"},
    "limits": {"area", "certify", "policy", "wire"},
    "client": {"area", "certify", "draw", "limits", "policy", "profile", "traces", "wire"},
    "server": {"area", "campaign", "certify", "limits", "store", "wire"},
    "batch": {"area", "profile", "traces"},
    "simulate": {"area", "batch", "campaign", "certify", "draw", "policy", "prior", "profile", "traces"},
    "plots": {"area", "policy", "simulate"},
    "notebook": {"certify", "plots", "policy", "simulate"},
    "paper": {
        "area", "campaign", "certify", "draw", "plots", "policy", "prior", "profile", "simulate", "traces",
    },
    "front_door": {
        "area", "batch", "campaign", "certify", "client", "draw", "limits", "plots", "policy", "prior", "profile",
        "simulate", "traces", "wire", "notebook",
    },
    "cli": {
        "area", "batch", "campaign", "certify", "client", "draw", "limits", "paper", "plots", "policy", "prior",
        "profile", "server", "simulate", "store", "traces", "wire",
    },
    "__init__": {"front_door"},
    "__main__": {"cli"},
}  # fmt: skip
"""The rooms, each with the rooms before it that it may know; a room that is not listed fails the test."""

POLICY_VALUE = {"crowdveil.policy.policy", "crowdveil.policy.checks"}
ONLY_VALUES = {
    "certify": POLICY_VALUE,
    "draw": POLICY_VALUE,
    "prior": POLICY_VALUE,
    "store": {*POLICY_VALUE, "crowdveil.campaign.selection"},
    "limits": POLICY_VALUE,
    "client": POLICY_VALUE,
}
"""Rooms that know of `policy` (and the store of `campaign`) nothing but the value and its checks: the checker cannot
share a bug of the maker, and a device cannot make policies."""

BEHIND_THE_VALUE = {
    "crowdveil.policy",
    *POLICY_VALUE,
    *(f"crowdveil.policy.{name}" for name in ("encoding", "files", "fixed_point", "peaks")),
}
"""All of `policy` that the value itself reaches: nothing in there makes policies."""

HEAVY = {
    "alembic": {"store"},
    "cryptography": {"wire"},
    "duckdb": {"batch", "traces"},
    "fastapi": {"server"},
    "h3": {"area"},
    "highspy": {"policy"},
    "httpx": {"client"},
    "ibis": {"batch"},
    "matplotlib": {"plots"},
    "narwhals": {"dataframes"},
    "pandas": {"batch"},
    "prometheus_client": {"server"},
    "psycopg": set(),
    "pyarrow": {"batch", "simulate"},
    "pydantic": {"wire"},
    "pyspark": {"batch"},
    "rich": {"cli"},
    "sqlalchemy": {"store"},
    "starlette": {"server"},
    "typer": {"cli"},
    "uvicorn": {"server"},
}
"""The rooms that know each heavy library."""


@cache
def modules() -> dict[str, Path]:
    """Every module by its dotted name."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def imports(name: str) -> frozenset[str]:
    """Every module that a module imports, wherever in the file: lazy imports count."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(modules()[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative imports hide where a name comes from"
            assert node.module is not None
            inner = {f"{node.module}.{one.name}" for one in node.names}
            found |= {one if one in modules() else node.module for one in inner}
    return frozenset(found - {name})


def room_of(name: str) -> str:
    """The folder or module at the top."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def own(name: str) -> list[str]:
    return [one for one in imports(name) if one.split(".")[0] == "crowdveil"]


@pytest.mark.parametrize("name", modules())
def test_a_module_imports_only_what_its_room_may_know(name: str) -> None:
    room = room_of(name)
    assert room in MAY_IMPORT, f"{room} is a new room: say in MAY_IMPORT what it may know"
    allowed = MAY_IMPORT[room] | {room} | (set() if room in ANYONE else ANYONE)
    for other in own(name):
        assert room_of(other) in allowed, f"{name} imports {other}"


@pytest.mark.parametrize("room", ONLY_VALUES)
def test_some_rooms_know_a_policy_only_as_a_value(room: str) -> None:
    limited = {one.split(".")[1] for one in ONLY_VALUES[room]}
    for name in modules():
        if room_of(name) == room:
            for other in own(name):
                assert room_of(other) not in limited or other in ONLY_VALUES[room], f"{name} imports {other}"


def reached_from(name: str) -> set[str]:
    """Every module that a module imports, directly or through others, and the module itself."""
    reached, waiting = set(), [name]
    while waiting:
        one = waiting.pop()
        reached.add(one)
        waiting += [other for other in own(one) if other in modules() and other not in reached]
    return reached


def test_the_checker_and_the_draw_reach_nothing_that_makes_policies() -> None:
    for name in modules():
        if room_of(name) in ("certify", "draw"):
            makers = {one for one in reached_from(name) if room_of(one) == "policy"} - BEHIND_THE_VALUE
            assert not makers, f"{name} reaches {sorted(makers)}"


def test_the_table_of_rooms_is_the_tree() -> None:
    assert set(MAY_IMPORT) == {room_of(name) for name in modules()}


def test_the_server_never_sees_traces_or_profiles() -> None:
    for name in modules():
        if room_of(name) in ("server", "store"):
            private = {one for one in reached_from(name) if room_of(one) in ("traces", "profile", "simulate", "batch")}
            assert not private, f"{name} reaches {sorted(private)}"


def test_nothing_imports_the_command_line_and_only_it_imports_the_paper() -> None:
    for name in modules():
        for other in own(name):
            assert room_of(other) != "cli" or room_of(name) in ("cli", "__main__"), f"{name} imports {other}"
            assert room_of(other) != "paper" or room_of(name) in ("cli", "paper"), f"{name} imports {other}"


def cycles(graph: dict[str, set[str]]) -> list[str]:
    """Nodes that can reach themselves."""
    found = []
    for start in graph:
        seen: set[str] = set()
        waiting = list(graph[start])
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting += graph.get(one, set())
        if start in seen:
            found.append(start)
    return found


def test_no_module_imports_itself_through_others() -> None:
    assert cycles({name: set(own(name)) for name in modules()}) == []


def test_no_room_imports_itself_through_others() -> None:
    graph: dict[str, set[str]] = {}
    for name in modules():
        graph.setdefault(room_of(name), set()).update({room_of(other) for other in own(name)} - {room_of(name)})
    assert cycles(graph) == []


def test_the_search_for_cycles_finds_one() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]


@pytest.mark.parametrize("library", HEAVY)
def test_few_rooms_know_each_heavy_library(library: str) -> None:
    rooms = {room_of(name) for name in modules() if any(one.split(".")[0] == library for one in imports(name))}
    assert rooms == HEAVY[library]


def test_one_module_knows_the_solver_of_linear_programs() -> None:
    users = [name for name in modules() if "highspy" in imports(name)]
    assert users == ["crowdveil.policy.solver.linear_program"]


def type_alias(node: ast.stmt) -> str | None:
    """The name X that a statement gives to a type: `X: TypeAlias = ...`, `X = Literal[...]`, `X = dict[...] | None`."""
    if isinstance(node, ast.AnnAssign):
        marked = isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias"
        return node.target.id if marked and isinstance(node.target, ast.Name) else None
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return None
    name, value = node.targets[0].id, node.value
    while isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
        value = value.left
    return name if isinstance(value, ast.Subscript) and not name.isupper() else None


def definitions() -> list[tuple[str, str]]:
    """Public classes and type aliases with the modules that define them.

    The options of a verb are `Annotated` names too, and belong to that verb: those of the command line do not count.
    """
    found = []
    for module, path in modules().items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            option = room_of(module) == "cli" and isinstance(node, ast.Assign) and "Annotated" in ast.dump(node.value)
            name = node.name if isinstance(node, ast.ClassDef) else None if option else type_alias(node)
            if name is not None and not name.startswith("_"):
                found.append((name, module))
    return found


def test_the_search_for_type_aliases_finds_every_kind() -> None:
    written = """
One: TypeAlias = int
Two = Literal["x"]
Three = Callable[[int], None] | None
Four = dict[str, int]
NUMBERS = table["x"]
count = 1
"""
    assert [type_alias(node) for node in ast.parse(written).body] == ["One", "Two", "Three", "Four", None, None]


def test_no_public_class_or_type_name_means_two_things() -> None:
    places: dict[str, list[str]] = {}
    for name, module in definitions():
        places.setdefault(name, []).append(module)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_null_is_defined_once() -> None:
    found = []
    for module, path in modules().items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            found += [module for one in targets if isinstance(one, ast.Name) and one.id == "NULL"]
    assert found == ["crowdveil.vocabulary"]


def test_the_heavy_parts_of_scipy_wait_until_they_are_used() -> None:
    """They take longer to load than all the rest; a phone or a help text has no use for them."""
    verbs = ", ".join(name for name in modules() if name.startswith("crowdveil.cli."))
    script = f"import sys, crowdveil.client, {verbs}; print([m for m in sys.modules if m.startswith('scipy.')])"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    for part in ("optimize", "sparse", "spatial", "special", "stats"):
        assert f"'scipy.{part}'" not in loaded

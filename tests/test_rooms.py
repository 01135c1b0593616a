"""Who may import whom, read from the source."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "crowdveil"
ANYONE = {"crowdveil.errors", "crowdveil.arrays", "crowdveil.formatting"}
"""What every room may use."""

MAY_IMPORT = {
    "area": {"crowdveil.area"},
    "policy": {"crowdveil.area", "crowdveil.policy"},
    "certify": {"crowdveil.area", "crowdveil.policy.policy", "crowdveil.certify"},
    "traces": {"crowdveil.area", "crowdveil.traces"},
    "profile": {"crowdveil.area", "crowdveil.traces.visits", "crowdveil.profile"},
    "profile/batch": {"crowdveil.area", "crowdveil.profile.place", "crowdveil.profile", "crowdveil.traces"},
    "place.py": {"crowdveil.profile"},
    "prior.py": {"crowdveil.area", "crowdveil.policy.policy"},
    "selection.py": {"crowdveil.policy.policy", "crowdveil.prior"},
    "campaign.py": {"crowdveil.area", "crowdveil.policy", "crowdveil.prior", "crowdveil.campaign.selection"},
    "planning.py": {"crowdveil.area", "crowdveil.campaign", "crowdveil.campaign.selection", "crowdveil.wire"},
    "audit.py": {
        "crowdveil.campaign",
        "crowdveil.certify",
        "crowdveil.campaign.from_wire",
        "crowdveil.policy.policy",
        "crowdveil.prior",
        "crowdveil.campaign.selection",
        "crowdveil.wire",
    },
    "report.py": {"crowdveil.area", "crowdveil.certify", "crowdveil.profile.place", "crowdveil.policy.policy"},
    "client": {
        "crowdveil.area",
        "crowdveil.certify",
        "crowdveil.client",
        "crowdveil.profile.place",
        "crowdveil.policy.policy",
        "crowdveil.profile",
        "crowdveil.draw",
        "crowdveil.traces.visits",
        "crowdveil.wire",
    },
    "wire": {"crowdveil.area.area", "crowdveil.wire"},
    "store": {"crowdveil.policy.policy", "crowdveil.prior", "crowdveil.campaign.selection", "crowdveil.store"},
    "server": {
        "crowdveil.area",
        "crowdveil.campaign",
        "crowdveil.certify",
        "crowdveil.campaign.from_wire",
        "crowdveil.server",
        "crowdveil.store",
        "crowdveil.wire",
    },
    "picture.py": {"crowdveil.area", "crowdveil.policy.policy"},
    "errors.py": set(),
    "arrays.py": set(),
    "words.py": set(),
    "study": {"crowdveil"},
    "cli": {"crowdveil"},
    "__init__.py": {"crowdveil"},
    "__main__.py": {"crowdveil.cli"},
}
HEAVY: dict[str, set[str]] = {
    "alembic": {
        "store/database.py",
        "store/migrations/env.py",
        "store/migrations/versions/0001_first.py",
        "store/migrations/versions/0002_estimates.py",
    },
    "duckdb": {"profile/batch/duckdb_engine.py", "traces/parquet.py"},
    "fastapi": {
        "server/app.py",
        "server/campaigns.py",
        "server/operations.py",
        "server/operators.py",
        "server/pages.py",
        "server/participants.py",
        "server/refusals.py",
        "server/requests.py",
    },
    "ibis": {
        "cli/profile.py",
        "profile/batch/cells.py",
        "profile/batch/duckdb_engine.py",
        "profile/batch/engine.py",
        "profile/batch/fixes.py",
        "profile/batch/graph.py",
        "profile/batch/spark_engine.py",
    },
    "highspy": {"policy/master.py"},
    "httpx": {"client/transport.py"},
    "h3": {"area/hexagons.py"},
    "matplotlib": {"picture.py", "study/charts.py"},
    "prometheus_client": {"server/metrics.py"},
    "psycopg": set(),
    "pandas": {"profile/batch/spark_engine.py"},
    "pyarrow": {
        "profile/batch/cells.py",
        "profile/batch/duckdb_engine.py",
        "profile/batch/inputs.py",
        "profile/batch/spark_engine.py",
        "profile/batch/store.py",
        "study/people.py",
    },
    "pyspark": {"profile/batch/spark_engine.py"},
    "pydantic": {
        "wire/message.py",
        "wire/operator.py",
        "wire/participant.py",
        "wire/problem.py",
        "wire/schemas.py",
        "wire/shape.py",
    },
    "sqlalchemy": {
        "store/campaigns.py",
        "store/database.py",
        "store/lists.py",
        "store/migrations/versions/0001_first.py",
        "store/migrations/versions/0002_estimates.py",
        "store/participants.py",
        "store/reports.py",
        "store/rounds.py",
        "store/schema.py",
        "store/selections.py",
    },
    "starlette": {"server/app.py", "server/gate.py"},
    "uvicorn": {"server/run.py"},
}
"""The few modules that know each heavy library."""


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@cache
def imports(path: Path) -> set[str]:
    """Every module that a file imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide where a name comes from"
            assert node.module is not None
            found.add(node.module)
    return found


def room_of(path: Path) -> str:
    """The folder or module at the top; a batch makes the whole trip from traces to places, so it has its own."""
    parts = path.relative_to(SOURCE).parts
    return "profile/batch" if parts[:2] == ("profile", "batch") else parts[0]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_imports_only_what_its_room_may_know(path: Path) -> None:
    room = room_of(path)
    assert room in MAY_IMPORT, f"{room} is a new room: say in MAY_IMPORT what it may know"
    allowed = MAY_IMPORT[room] | ANYONE
    for name in imports(path):
        if name.split(".")[0] == "crowdveil":
            assert any(name == known or name.startswith(known + ".") for known in allowed), f"{path} imports {name}"


def test_nothing_imports_the_command_line() -> None:
    for path in modules():
        if room_of(path) not in ("cli", "__main__.py"):
            assert not any(f"{name}.".startswith("crowdveil.cli.") for name in imports(path)), path


def test_nothing_but_the_command_line_imports_studies() -> None:
    """Studies know where simulated people really are; nothing that real people use may."""
    for path in modules():
        if room_of(path) not in ("cli", "study"):
            assert not any(name.startswith("crowdveil.study") for name in imports(path)), path


@pytest.mark.parametrize("library", HEAVY)
def test_few_modules_know_each_heavy_library(library: str) -> None:
    users = {str(p.relative_to(SOURCE)) for p in modules() if any(n.split(".")[0] == library for n in imports(p))}
    assert users == HEAVY[library]


def test_the_checker_sees_nothing_of_the_makers_of_policies() -> None:
    makers = {p.stem for p in (SOURCE / "policy").glob("*.py")} - {"policy", "__init__"}
    assert len(makers) > 10
    for path in (SOURCE / "certify").glob("*.py"):
        for name in imports(path):
            assert not any(name == f"crowdveil.policy.{maker}" for maker in makers), f"{path} imports {name}"
            assert name not in ("crowdveil", "crowdveil.policy"), f"{path} imports {name}"


def test_the_heavy_parts_of_scipy_wait_until_they_are_used() -> None:
    """They take longer to load than all the rest; a phone or a help text has no use for them."""
    script = "import sys, crowdveil.cli, crowdveil.client; print([m for m in sys.modules if m.startswith('scipy.')])"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    for part in ("optimize", "sparse", "spatial", "special", "stats"):
        assert f"'scipy.{part}'" not in loaded

"""A small city on disk, and the command line run inside the test's own process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from typer import testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from crowdveil.area import Grid
from crowdveil.cli import app
from crowdveil.server.local import LocalServer, local_server
from tests.cli.helpers import PLAN, Make, Run, campaign_name

SMALL = "40.70,-74.00,40.74,-73.95"


@pytest.fixture(scope="session", autouse=True)
def commands_are_read_once() -> Iterator[None]:
    """Typer reads the signatures of all verbs whenever it is called, which takes longer than most of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testing, "_get_command", cache(get_command))
        yield


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `crowdveil` with some arguments, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def invoke(*arguments: str | Path) -> Result:
        result = runner.invoke(app, [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return invoke


@pytest.fixture
def area(tmp_path: Path) -> Path:
    """5 x 5 squares of 1 km."""
    grid = Grid.from_bounds(*(float(part) for part in SMALL.split(",")), cell_km=1.0)
    assert len(grid) == 25
    path = tmp_path / "area.json"
    grid.save(path)
    return path


@pytest.fixture
def make(run: Run, area: Path) -> Make:
    """Run `crowdveil policy` over that area, with good arguments unless others are given."""

    def invoke(**changed: object) -> Result:
        options: dict[str, object] = {
            "area": area,
            "targets": "3,17",
            "epsilon_per_km": "1.386",
            "beta": "0.06",
            "out": "policy.json",
        }
        options.update(changed)
        arguments: list[str] = []
        for name, value in options.items():
            if value is not None:
                arguments += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
        return run("policy", *arguments)

    return invoke


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A real server in a process of its own, for all tests of a session; each takes campaigns of its own."""
    with local_server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def service(running: LocalServer, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    """That server, named by the variables that every verb looks at."""
    monkeypatch.setenv("CROWDVEIL_SERVER", running.url)
    monkeypatch.setenv("CROWDVEIL_TOKEN", running.token)
    return running


@pytest.fixture
def campaign(run: Run, service: LocalServer, area: Path, request: pytest.FixtureRequest) -> str:
    """An open campaign for 24 people in two rounds, named after the test."""
    name = campaign_name(request.node.name)
    made = run("campaign", "create", name, *PLAN, "--area", area)
    assert made.exit_code == 0, made.stderr
    assert run("campaign", "start", name).exit_code == 0
    return name

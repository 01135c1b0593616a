"""A folder with the files that examples read, and a server that they talk to."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from crowdveil.area import Grid
from crowdveil.cli import app
from crowdveil.server.local import LocalServer, local_server
from crowdveil.traces import Visits, synthetic_visits

CAMPAIGN = ["--targets", "40.75, -73.98", "--users", "600", "--share", "0.05", "--offer", "A free coffee"]
CAMPAIGN += ["--enrolment", "open"]  # so that the examples need no invites


def write_visits(path: Path, visits: Visits) -> None:
    """The columns that a table has by default."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "time", "latitude", "longitude"])
        for user, utc_s, latitude, longitude in zip(
            visits.user.tolist(),
            visits.utc_s.tolist(),
            visits.latitude.tolist(),
            visits.longitude.tolist(),
            strict=True,
        ):
            when = datetime.fromtimestamp(utc_s, UTC).isoformat()
            rows.writerow([visits.users[user], when, f"{latitude:.6f}", f"{longitude:.6f}"])


@pytest.fixture(scope="session")
def visits_csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten weeks of a small synthetic city, at Berlin."""
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    city = synthetic_visits(
        np.random.default_rng(7),
        users=150,
        weeks=10,
        latitude=52.52,
        longitude=13.41,
        radius_km=3.0,
        visits_per_week=9.0,
    )
    write_visits(path, city)
    return path


@pytest.fixture
def folder(tmp_path: Path, visits_csv: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where an example runs: visits.csv, area.json, prior.csv and towers.csv are there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_bytes(visits_csv.read_bytes())
    Grid.from_bounds(40.65, -74.03, 40.82, -73.90, cell_km=1.0).save(tmp_path / "area.json")
    (tmp_path / "prior.csv").write_text("cell,probability\n68,0.5\n125,0.5\n", encoding="utf-8")
    (tmp_path / "towers.csv").write_text("id,lat,lon\n1,52.52,13.41\n2,52.53,13.40\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalServer]:
    """A real server with the campaign `coffee`, open for devices."""
    data = folder / "crowdveil-data"
    data.mkdir()
    with local_server(data) as running:
        monkeypatch.setenv("CROWDVEIL_TOKEN", running.token)
        monkeypatch.setenv("CROWDVEIL_SERVER", running.url)
        for line in (["create", "coffee", "--area", "area.json", *CAMPAIGN], ["start", "coffee"]):
            result = CliRunner().invoke(app, ["campaign", *line])
            assert result.exit_code == 0, result.output
        yield running

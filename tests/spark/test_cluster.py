"""A standalone cluster gives what DuckDB gives; its workers get the project's code from the driver."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from zipfile import ZipFile

import numpy as np
import pytest

from crowdveil.area import Area, Grid, Hexagons, Towers
from crowdveil.batch import save_fixes
from crowdveil.traces import CitySettings, SyntheticCity
from tests.batch.batches import HEADING, NOON, SQUARES, write_csv
from tests.batch.odd_rows import odd_rows
from tests.spark.cluster import Cluster, cluster
from tests.spark.sides import compare, say

MAX_S = 400
BOX = 47.93, 10.90, 48.07, 11.10


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def profile(running: Cluster, folder: Path, out: str, engine: str, *options: str) -> None:
    run = [sys.executable, "-m", "crowdveil", "profile", "--area", f"{folder}/area.json", "--out", f"{folder}/{out}"]
    done = subprocess.run(
        [*run, "--engine", engine, *options],
        env=dict(running.environment),
        capture_output=True,
        text=True,
        timeout=MAX_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def both(name: str, running: Cluster, folder: Path, *options: str) -> None:
    """Run DuckDB and the cluster on the same, and compare every row."""
    seconds = []
    for out, engine in (("duck", "duckdb"), ("cluster", running.address)):
        started = perf_counter()
        profile(running, folder, out, engine, *options)
        seconds.append(perf_counter() - started)
    compare(name, folder / "duck", folder / "cluster")
    say(f"{name}: {seconds[0]:.1f} s on DuckDB and {seconds[1]:.1f} s on a cluster of two workers")


@pytest.mark.parametrize("kind", ["squares", "hexagons", "towers"])
def test_a_cluster_gives_every_row_that_duckdb_gives(tmp_path: Path, running: Cluster, kind: str) -> None:
    generator = np.random.default_rng(1)
    south, west, north, east = BOX
    area: Area = Grid.from_bounds(*BOX)
    if kind == "hexagons":
        area = Hexagons.from_bounds(*BOX)
    elif kind == "towers":
        area = Towers.from_positions(generator.uniform(south, north, 60), generator.uniform(west, east, 60), reach_km=2)
    area.save(tmp_path / "area.json")
    for number, visits in enumerate(SyntheticCity(3, 6_000, CitySettings(12), block_users=3_000)):
        save_fixes([visits], tmp_path / f"{number}.parquet")
    traces = ("--traces", f"{tmp_path}/*.parquet", "--offset-column", "offset_minutes")
    both(f"cluster, {kind}", running, tmp_path, *traces, "--delta", "0.3", "--method", "recency", "--half-life", "4")


def test_a_cluster_judges_odd_rows_as_duckdb_does(tmp_path: Path, running: Cluster) -> None:
    SQUARES.save(tmp_path / "area.json")
    rows = [row for row in odd_rows() if "\n" not in str(row[0])]
    write_csv(tmp_path / "t.csv", [*rows, ("short", NOON)], HEADING)
    both("cluster, odd rows", running, tmp_path, "--traces", f"{tmp_path}/t.csv", "--period", "day")


def test_the_workers_were_sent_the_code(running: Cluster) -> None:
    """Their own Python does not have it: see `cluster`."""
    sent = list(running.work.glob("worker-*/app-*/*/crowdveil.zip"))
    assert sent, "no worker has the archive"
    names = ZipFile(sent[0]).namelist()
    assert "crowdveil/area/hexagons.py" in names
    assert not [name for name in names if not name.endswith(".py")]

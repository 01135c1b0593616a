"""One job on both engines, and their outputs compared inside DuckDB, so that their size does not matter."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import duckdb

from crowdveil.batch import BatchJob, Engine, run
from crowdveil.traces.visit_builder import WRONG_FIELDS

STEPS = {
    "visits": (["user", "cell", "period", "left_out", "visits"], None),
    "profile": (["user", "cell", "visits", "periods"], "probability"),
    "places": (["user", "cell"], None),
}
"""Columns that should be equal in each step, and the one that may differ in its last digits."""
TOLERANCE = 1e-12


def say(text: str) -> None:
    """Figures, seen under `make spark`."""
    sys.stdout.write(f"   {text}\n")
    sys.stdout.flush()


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """A folder that is gone afterwards, however large."""
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def agree(name: str, job: BatchJob, one: Engine, other: Engine, folder: Path) -> None:
    """Run a job on both and assert that every row of theirs is the same."""
    seconds = []
    for engine, out in ((one, folder / "one"), (other, folder / "other")):
        out.mkdir()
        started = perf_counter()
        found = run(job, engine, out, lambda *_: None)
        seconds.append(perf_counter() - started)
    compare(name, folder / "one", folder / "other")
    say(f"{name}: {found.rows:,} fixes of {found.users:,} users; {seconds[0]:.1f} s and {seconds[1]:.1f} s")


def compare(name: str, one: Path, other: Path) -> None:
    """Every row of each step is in both outputs, and so are the prior and what was left out."""
    with duckdb.connect(config={"memory_limit": "2GB", "temp_directory": str(one.parent / "compare")}) as connection:
        for step, (columns, measure) in STEPS.items():
            matched = " AND ".join(f'a."{column}" IS NOT DISTINCT FROM b."{column}"' for column in columns)
            largest = f"max(abs(a.{measure} - b.{measure}))" if measure else "0.0"
            # rows that DuckDB's reader of CSV sets aside are in the summary alone
            where = f"left_out IS DISTINCT FROM '{WRONG_FIELDS}'" if step == "visits" else "true"
            read = f"SELECT *, true AS is_there FROM read_parquet('{{}}/{step}/*.parquet') WHERE {where}"
            rows, alone, difference = connection.execute(
                f"SELECT count(*), count(*) FILTER (a.is_there IS NULL OR b.is_there IS NULL), coalesce({largest}, 0) "
                f"FROM ({read.format(one)}) a FULL OUTER JOIN ({read.format(other)}) b ON {matched}"
            ).fetchall()[0]
            say(f"{name}, {step}: {rows:,} rows, {alone} in one alone, largest difference {difference:.1e}")
            assert rows > 0
            assert alone == 0
            assert difference <= TOLERANCE
    assert (one / "prior.csv").read_text() == (other / "prior.csv").read_text()
    summaries = [(out / "summary.json").read_text().split("\n", 2)[2] for out in (one, other)]
    assert summaries[0] == summaries[1], "the engine's name stands in the first line; all others should be equal"

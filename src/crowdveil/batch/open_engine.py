"""Open the engine that a name stands for: `duckdb`, `spark`, `spark://HOST:PORT`, `spark://local[4]`."""

from __future__ import annotations

from pathlib import Path

from crowdveil.batch.engine import Engine
from crowdveil.errors import InputError
from crowdveil.extras import require_extra

MAKERS = "duckdb, spark, or spark://MASTER (HOST:PORT, local[4], yarn)"


def open_engine(
    name: str, *, memory: str | None = None, threads: int | None = None, spill: Path | None = None
) -> Engine:
    """Start an engine; memory, threads and the folder for temporary files apply to engines on this machine."""
    if threads is not None and threads < 1:
        raise InputError("threads", threads, "should be a whole number from 1")
    if name == "duckdb":
        from crowdveil.batch.duckdb_engine import DuckDbEngine

        return DuckDbEngine(memory=memory, threads=threads, spill=spill)
    kind, _, rest = name.partition("://")
    if kind == "spark" and (rest or "://" not in name):
        require_extra(f"the engine {name}", "spark")
        from crowdveil.batch.spark_engine import SparkEngine

        return SparkEngine(_master(rest, threads), memory=memory, spill=spill)
    raise InputError("engine", name, f"should be {MAKERS}")


def _master(rest: str, threads: int | None) -> str:
    if not rest:
        return f"local[{threads or '*'}]"
    return rest if rest.startswith("local") or rest == "yarn" else f"spark://{rest}"

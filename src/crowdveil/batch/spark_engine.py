"""Spark: on this machine (`local[*]`), or an existing cluster that sees the same files.

A cluster's workers run Python for hexagons, towers and lotteries: this project's code is sent to them, the libraries
that it imports (NumPy, pandas, Arrow, H3) they need to have, for the same version of Python.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import ibis
import pandas as pd
import pyarrow.parquet as pq

from crowdveil.batch.engine import ShareDone, one_query_per_step, reporting_progress, size_of, with_signature
from crowdveil.batch.fixes import BROKEN_ROW, Expression
from crowdveil.batch.shipping import pack_code
from crowdveil.errors import CrowdveilError, EngineError, FileFormatError

POLL_S = 0.5
JAVA = 17
LOCAL_PARTITIONS = 32
"""Pieces that a local session groups by: Spark's 200 are meant for clusters, and each has its cost."""
LOOPBACK = "127.0.0.1"


class SparkEngine:
    """One Spark session."""

    def __init__(self, master: str, *, memory: str | None = None, spill: Path | None = None) -> None:
        self.name = f"spark ({master})"
        _check_java()
        # what py4j tells the root logger is printed where nobody listens to it; errors are told by `_told`
        logging.getLogger().addHandler(logging.NullHandler())
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            how = "run: pip install 'crowdveil[spark]'"
            raise CrowdveilError(f"engine = 'spark': pyspark is not installed; {how}") from None
        self._sent = TemporaryDirectory(prefix="crowdveil-")  # workers fetch the code from there until the end
        builder = (
            SparkSession.builder.appName("crowdveil profile")
            .master(master)
            .config("spark.sql.session.timeZone", "UTC")
            # A cast that fails ends the job, instead of turning what it could not read into nothing.
            .config("spark.sql.ansi.enabled", "true")
            .config("spark.sql.caseSensitive", "true")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
        )
        if master.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers' own; a cluster knows its
            os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
            builder = builder.config("spark.driver.bindAddress", LOOPBACK).config("spark.driver.host", LOOPBACK)
            builder = builder.config("spark.sql.shuffle.partitions", str(LOCAL_PARTITIONS))
            if spill is not None:
                builder = builder.config("spark.local.dir", str(spill))
        if memory is not None:
            builder = builder.config("spark.driver.memory", _java_size(memory))
        with _one_line(), _log_to(spill):
            self._session = builder.getOrCreate()
        self._session.sparkContext.setLogLevel("OFF")
        if not master.startswith("local"):
            with _one_line():
                self._session.sparkContext.addPyFile(str(pack_code(Path(self._sent.name))))
        self._ibis = ibis.pyspark.connect(self._session)

    def read_parquet(self, paths: Sequence[str]) -> Expression:
        """Open Parquet files as a table."""
        try:
            with _one_line():
                return self._view(self._session.read.parquet(*map(_plain, paths)))
        except EngineError as error:
            if "NANOS" in str(error):
                what = "holds timestamps in nanoseconds, which Spark cannot read; write microseconds, or use DuckDB"
                raise FileFormatError(f"{_in_nanoseconds(paths)}: {what}") from None
            raise

    def read_csv(self, paths: Sequence[str], delimiter: str, columns: Sequence[str]) -> Expression:
        """Open CSV files as a table of text; `BROKEN_ROW` contains rows with another number of fields."""
        from pyspark.sql.types import StringType, StructField, StructType

        schema = StructType([StructField(name, StringType()) for name in (*columns, BROKEN_ROW)])
        options = {"header": True, "sep": delimiter, "escape": '"', "columnNameOfCorruptRecord": BROKEN_ROW}
        with _one_line():
            return self._view(self._session.read.options(**options).csv(list(map(_plain, paths)), schema=schema))

    def rejected(self) -> dict[str, int]:
        """Return nothing: broken rows are in the table."""
        return {}

    def write(self, table: Expression, folder: Path, progress: ShareDone) -> None:
        """Evaluate an expression into Parquet files in a new folder."""
        with _one_line(), reporting_progress(self._share_done, progress, POLL_S), one_query_per_step():
            self._ibis.to_parquet_dir(table, str(folder))

    def column_function(
        self, name: str, function: Callable[..., Any], inputs: Sequence[str], output: str
    ) -> Callable[..., Expression]:
        """Make a function of columns; it runs in Python worker processes, some ten thousand rows at a time."""

        def on_series(*columns: pd.Series) -> pd.Series:
            return pd.Series(function(*(column.to_numpy() for column in columns)))

        signature = (tuple(inputs), output)
        made: Callable[..., Expression] = ibis.udf.scalar.pandas(signature=signature)(
            with_signature(on_series, name, inputs)
        )
        return made

    def rows(self, table: Expression) -> list[dict[str, Any]]:
        """Evaluate a small result."""
        with _one_line():
            return list(self._ibis.to_pyarrow(table).to_pylist())

    def close(self) -> None:
        """End the session and its Java process, unless that has ended already."""
        with suppress(EngineError), _one_line():
            self._session.stop()
        self._sent.cleanup()

    def _view(self, frame: Any) -> Expression:
        name = ibis.util.gen_name("crowdveil")
        frame.createOrReplaceTempView(name)
        return self._ibis.table(name)

    def _share_done(self) -> float:
        """Return the share of finished tasks of the stages that are running."""
        tracker = self._session.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        tasks = sum(stage.numTasks for stage in stages if stage)
        return sum(stage.numCompletedTasks for stage in stages if stage) / tasks if tasks else 0.0


@contextmanager
def _log_to(spill: Path | None) -> Iterator[None]:
    """Redirect Java's error stream to a file, so that it does not reach the user's terminal."""
    with TemporaryFile() if spill is None else (_made(spill) / "spark.log").open("wb") as log:
        sys.stderr.flush()
        terminal = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    how = f"install Java {JAVA} or later (Debian: apt install openjdk-{JAVA}-jre-headless), or set JAVA_HOME"
    if java is None:
        raise CrowdveilError(f"engine = 'spark': Spark needs Java, and there is none; {how}")
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', told)
    if found is None or int(found[1]) < JAVA:
        shown = (told.splitlines() or ["an unknown version"])[0]
        raise CrowdveilError(f"engine = 'spark': Spark needs Java {JAVA} or later, {java} is {shown}; {how}")


def _java_size(memory: str) -> str:
    """Convert to whole megabytes, because Java accepts no fractions."""
    return f"{max(1, round(size_of(memory, 1024.0) / 1024**2))}m"


def _in_nanoseconds(paths: Sequence[str]) -> str:
    """Return the first file with such a column, where that can be checked."""
    for path in paths:
        if "://" not in path and any(str(kind).startswith("timestamp[ns") for kind in pq.read_schema(path).types):
            return path
    return paths[0]


def _plain(path: str) -> str:
    """Escape special characters with a backslash, because Hadoop reads a name as a pattern."""
    return path if "://" in path else re.sub(r"([*?\[\]{}\\])", r"\\\1", path)


@contextmanager
def _one_line() -> Iterator[None]:
    """Shorten an error of Spark, or of the connection to its Java, to one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError, RuntimeError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise EngineError(f"Spark: {' '.join(lines)[:300] or type(error).__name__}") from None

"""Compute profiles, places and a prior for millions of users, on DuckDB or Spark.

job             runs a batch step by step, and resumes an interrupted one
graph           the formulas, as expressions that an engine evaluates
fixes, headings, inputs, cells      from files to fixes in cells
engine          what an engine must do; duckdb_engine, spark_engine, open_engine
store           reads and writes fixes as Parquet files
"""

from crowdveil.extras import require_extra

require_extra("profiling with DuckDB or Spark", "batch")  # before the modules below import its libraries

# ruff: noqa: E402
from crowdveil.batch.converted import converted_inputs
from crowdveil.batch.engine import Engine, check_memory
from crowdveil.batch.fixes import ColumnNames
from crowdveil.batch.graph import ProfileSettings
from crowdveil.batch.inputs import Inputs, find_inputs
from crowdveil.batch.job import PART_BYTES, BatchJob, BatchResult, PeriodRange, run
from crowdveil.batch.open_engine import open_engine
from crowdveil.batch.store import COLUMN_NAMES, save_fixes
from crowdveil.errors import EngineError

__all__ = [
    "COLUMN_NAMES",
    "PART_BYTES",
    "BatchJob",
    "BatchResult",
    "ColumnNames",
    "Engine",
    "EngineError",
    "Inputs",
    "PeriodRange",
    "ProfileSettings",
    "check_memory",
    "converted_inputs",
    "find_inputs",
    "open_engine",
    "run",
    "save_fixes",
]

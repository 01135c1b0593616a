"""The same profiles for millions of users: expressions that DuckDB evaluates on this machine, or Spark on a cluster."""

from crowdveil.batch.engine import Engine
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
    "find_inputs",
    "open_engine",
    "run",
    "save_fixes",
]

"""The same profiles for millions of users: expressions that DuckDB evaluates on this machine, or Spark on a cluster."""

from crowdveil.batch.engine import Engine, EngineError, open_engine
from crowdveil.batch.fixes import Layout
from crowdveil.batch.graph import Choice
from crowdveil.batch.inputs import Inputs, find_inputs
from crowdveil.batch.job import PART_BYTES, Found, Job, Span, run
from crowdveil.batch.store import LAYOUT, save_fixes

__all__ = [
    "LAYOUT",
    "PART_BYTES",
    "Choice",
    "Engine",
    "EngineError",
    "Found",
    "Inputs",
    "Job",
    "Layout",
    "Span",
    "find_inputs",
    "open_engine",
    "run",
    "save_fixes",
]

"""The same profiles for millions of users: expressions that DuckDB evaluates on this machine, or Spark on a cluster."""

from crowdveil.profile.batch.engine import Engine, EngineError, open_engine
from crowdveil.profile.batch.fixes import Layout
from crowdveil.profile.batch.graph import Choice
from crowdveil.profile.batch.inputs import Inputs, find_inputs
from crowdveil.profile.batch.job import PART_BYTES, Found, Job, Span, run
from crowdveil.profile.batch.store import LAYOUT, save_fixes

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

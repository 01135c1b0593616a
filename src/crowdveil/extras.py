"""Say which optional part of the project is missing, in one line, before anything of it is imported.

server    the campaign server: web framework, database, metrics
plots     maps, charts and reports
batch     DuckDB: Parquet files, and profiles of millions of people
spark     the same on a Spark cluster
"""

from __future__ import annotations

from importlib.util import find_spec

from crowdveil.errors import MissingExtraError

MODULES = {
    "server": ("fastapi", "uvicorn", "sqlalchemy", "alembic", "prometheus_client"),
    "plots": ("matplotlib",),
    "batch": ("duckdb", "ibis", "pyarrow"),
    "spark": ("ibis", "pyspark"),
}
"""The libraries that each extra installs, as far as the code imports them."""


def require_extra(what: str, extra: str) -> None:
    """Raise MissingExtraError unless the libraries of an extra are installed.

    `what` is the verb, option or function that needs them: the subject of the sentence that people read.

    >>> require_extra("drawing a map", "plots")
    """
    if not has_extra(extra):
        raise MissingExtraError(what, extra)


def has_extra(extra: str) -> bool:
    """Tell whether the libraries of an extra are installed, without loading them."""
    return all(_is_installed(name) for name in MODULES[extra])


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False

"""One DuckDB for the tests of a process: it keeps nothing between batches."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crowdveil.batch import Engine, open_engine

pytest.register_assert_rewrite("tests.batch.batches")


@pytest.fixture(scope="session")
def duck() -> Iterator[Engine]:
    engine = open_engine("duckdb", threads=2)
    yield engine
    engine.close()

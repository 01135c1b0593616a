"""One Spark for all tests of agreement: a session takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crowdveil.batch import Engine, open_engine


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = open_engine("spark://local[2]", memory="3GB", spill=tmp_path_factory.mktemp("spill"))
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def duck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = open_engine("duckdb", memory="3GB", threads=2, spill=tmp_path_factory.mktemp("duck"))
    yield engine
    engine.close()

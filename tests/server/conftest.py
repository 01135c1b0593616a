"""Run a server in this process on both databases; its scheduler advances when a test says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crowdveil.store import Store
from tests.server.harness import ServerHarness
from tests.store.conftest import postgresql, store, url

__all__ = ["postgresql", "server", "store", "url"]


@pytest.fixture
def server(store: Store) -> Iterator[ServerHarness]:
    with ServerHarness(store) as opened:
        yield opened

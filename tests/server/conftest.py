"""A server in this process on both databases; its rounds move when a test says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crowdveil.store import Store
from tests.server.hall import Hall
from tests.store.conftest import postgresql, store, url

__all__ = ["hall", "postgresql", "store", "url"]


@pytest.fixture
def hall(store: Store) -> Iterator[Hall]:
    with Hall(store) as opened:
        yield opened

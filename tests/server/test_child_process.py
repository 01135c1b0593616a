"""Processes beside the server: they come back when they die, and end when the server does."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crowdveil.server.child_process import Child
from crowdveil.server.scheduler import DATABASE
from crowdveil.store import open_store

ROOT = Path(__file__).parent.parent.parent


def test_a_child_that_dies_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdveil.server.child_process.RESTART_S", 0.01)
    heard: list[bytes] = []

    async def watch() -> None:
        child = Child("tests.server.short_lived", {"PYTHONPATH": str(ROOT)}, heard.append)
        child.start()
        while len(set(heard)) < 3:
            await asyncio.sleep(0.01)
        await child.stop()

    asyncio.run(asyncio.wait_for(watch(), 60))


def test_a_conductor_ends_when_its_server_is_gone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.sqlite"
    open_store(url).close()
    environment = {**os.environ, DATABASE: url}
    conductor = subprocess.Popen(
        [sys.executable, "-m", "crowdveil.server.scheduler"], stdin=subprocess.PIPE, env=environment
    )
    assert conductor.stdin is not None
    conductor.stdin.write(b"\n")
    conductor.stdin.close()
    assert conductor.wait(60) == 0

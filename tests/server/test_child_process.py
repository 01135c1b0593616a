"""Processes beside the server: they come back when they die, and end when the server does."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crowdveil.server.child_process import ChildProcess
from crowdveil.server.scheduler import DATABASE
from crowdveil.store import open_store

ROOT = Path(__file__).parent.parent.parent


def test_a_child_process_that_ends_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crowdveil.server.child_process.RESTART_S", 0.01)
    heard: list[bytes] = []

    async def watch() -> None:
        child = ChildProcess("tests.server.short_lived", {"PYTHONPATH": str(ROOT)}, heard.append)
        child.start()
        while len(set(heard)) < 3:
            await asyncio.sleep(0.01)
        await child.stop()

    asyncio.run(asyncio.wait_for(watch(), 60))


def test_a_scheduler_ends_when_its_server_ends(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.sqlite"
    open_store(url).close()
    environment = {**os.environ, DATABASE: url}
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "crowdveil.server.scheduler"], stdin=subprocess.PIPE, env=environment
    )
    assert scheduler.stdin is not None
    scheduler.stdin.write(b"\n")
    scheduler.stdin.close()
    assert scheduler.wait(60) == 0

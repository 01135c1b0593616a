"""A device killed at any point says at most one thing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def kill_devices(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.faults.device_kills", *options]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # a process that forks should have one thread
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks its devices")
def test_a_device_killed_at_random_points_sends_one_value() -> None:
    done = kill_devices("--kills", "16")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failures" in done.stdout


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks its devices")
def test_the_same_kills_find_a_device_that_sends_before_it_stores() -> None:
    done = kill_devices("--kills", "60", "--forgetful")
    assert "the server saw" in done.stdout, done.stdout + done.stderr

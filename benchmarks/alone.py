"""Run a module of these benchmarks in a process of its own, so that its memory can be measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def alone(module: str, *arguments: object) -> dict[str, Any]:
    """Run `python -m benchmarks.MODULE ARGUMENTS` and read the JSON it prints."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    done: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return done


def peak_mb() -> float:
    """The most memory this process has held since its program began.

    Not getrusage: what that says of a process is at least what its parent held when it was started.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

"""A module of these benchmarks in a process of its own, so that its memory can be read."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def alone(module: str, *arguments: object) -> dict[str, Any]:
    """Run `python -m benchmarks.MODULE ARGUMENTS` and read the JSON it prints."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    done: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return done

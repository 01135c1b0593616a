"""Memory is that of the process itself, whoever started it."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.alone import peak_mb


def test_a_child_does_not_report_what_its_parent_held() -> None:
    held = bytearray(b"x") * 300_000_000
    asked = "from benchmarks.alone import peak_mb; print(peak_mb())"
    child = float(subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout)
    assert child < 150 < len(held) / 1e6 < peak_mb()

"""Measure `crowdveil scale` over a growing number of synthetic users: seconds, and the memory of all processes.

python -m benchmarks.scale [USERS ...]
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

DEFAULT_USERS = (100_000, 1_000_000, 10_000_000)
EVERY_S = 0.5


def main() -> None:
    """Run them one after the other, and print a line for each as it ends."""
    print(f"{'users':>12} {'seconds':>9} {'peak MB':>9} {'table MB':>9}  coverage by method", flush=True)
    for users in map(int, sys.argv[1:] or DEFAULT_USERS):
        with TemporaryDirectory() as name:
            seconds, peak_mb = _watched(users, Path(name))
            told = json.loads((Path(name) / "results.json").read_text(encoding="utf-8"))
            table_mb = (Path(name) / "people.parquet").stat().st_size / 1e6
        covered = ", ".join(f"{one['method']} {one['coverage']:.1%}" for one in told["methods"])
        print(f"{users:>12,} {seconds:>9.1f} {peak_mb:>9,.0f} {table_mb:>9,.1f}  {covered}", flush=True)


def _watched(users: int, out: Path) -> tuple[float, float]:
    """Seconds, and the most that the command and its children ever held at once, looked at twice a second."""
    command = [sys.executable, "-m", "crowdveil", "scale", "--users", str(users), "--densest", "4", "--out", str(out)]
    start, peak_kb = time.perf_counter(), 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak_kb = max(peak_kb, sum(_held_kb(pid) for pid in _family(process.pid)))
            time.sleep(EVERY_S)
    if process.returncode:
        raise SystemExit(process.returncode)
    return time.perf_counter() - start, peak_kb / 1000


def _family(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for one in found:
        tasks = Path(f"/proc/{one}/task").glob("*/children")
        for children in tasks:
            try:
                found += map(int, children.read_text(encoding="ascii").split())
            except OSError:
                continue  # ended in between
    return found


def _held_kb(pid: int) -> int:
    """Its share of the memory it uses: pages that several processes hold count once in all."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        return int(text.partition("\nPss:")[2].split()[0])
    except (OSError, IndexError):
        return 0


if __name__ == "__main__":
    main()

"""Compare large areas and crowds with limits of time and memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.alone import alone
from benchmarks.line import Line
from crowdveil.formatting import rounded_up


def large_areas() -> Iterator[Line]:
    """n = 10,000 with 8 targets, n = 100,000 with one and its certificate: seconds, minutes, and memory."""
    for side, targets, cell_km, certify, limit_s, limit_mb in (
        (100, 8, 1.0, False, 60, 1024),
        (100, 8, 0.1, False, 60, 1024),
        (316, 1, 1.0, True, 600, 4096),
        (316, 1, 0.1, True, 600, 4096),
    ):
        done = alone("large", side, targets, cell_km, "certify" if certify else "solve")
        seconds = done["solve_s"] + (done["certify_s"] or 0.0)
        what = f"n = {done['cells']:,}, {targets} target{'s' * (targets > 1)}, {cell_km:g} km cells"
        parts = f"solve {done['solve_s']:.3g} s"
        if certify:
            parts += f", certify {done['certify_s']:.3g} s, private: {done['private']}"
        note = f"proven gap {rounded_up(done['gap'], 2)}, {done['compact_bytes'] / 1000:.0f} kB compact"
        yield Line(f"{what}: seconds", parts, f"limit {limit_s} s", seconds, limit_s, "at most", note, figures=done)
        peak = done["peak_mb"]
        yield Line(f"{what}: peak memory in MB", f"{peak:.0f} MB", f"limit {limit_mb} MB", peak, limit_mb, "at most")


def campaigns(done: list[dict[str, Any]]) -> Iterator[Line]:
    """The campaign of a million users, from the curve of users."""
    by_users = {one["users"]: one for one in done}
    most = by_users[1_000_000]
    told = ", ".join(f"{users:,}: {one['seconds']:.3g} s" for users, one in by_users.items())
    seconds, peak = most["seconds"], most["peak_mb"]
    what = "campaign of 1,000,000 users, 400 cells, 4 targets"
    yield Line(f"{what}: seconds", f"{seconds:.3g} s", "limit 10 s", seconds, 10, "at most", told, figures=most)
    yield Line(f"{what}: peak memory in MB", f"{peak:.0f} MB", "limit 2048 MB", peak, 2048, "at most")
    ratio = seconds / by_users[100_000]["seconds"]
    yield Line(f"{what}: times the seconds of 100,000", f"{ratio:.3g} x", "linear: 10 x", ratio, 10, "at most")

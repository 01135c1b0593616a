"""Make one large policy per target in a process of its own, so that its memory can be measured.

python -m benchmarks.large_stack SIDE TARGETS
"""

from __future__ import annotations

import json
import sys
import time

from benchmarks.alone import peak_mb
from benchmarks.cases import city
from benchmarks.stacks import FEW_IN_LARGE, per_target


def main(side: int, targets: int) -> None:
    """Make it, and print time and peak memory as JSON."""
    case = city(side, targets)
    start = time.perf_counter()
    policy = per_target(case, FEW_IN_LARGE)
    seconds = time.perf_counter() - start
    told = {"cells": len(case.area), "regime": policy.provenance["regime"], "gap": float(policy.provenance["gap"])}
    print(json.dumps({**told, "solve_s": seconds, "peak_mb": peak_mb()}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

"""Run one large case in a process of its own, so that its memory can be measured.

python -m benchmarks.large SIDE TARGETS
"""

from __future__ import annotations

import json
import sys
import time

import crowdveil as cv
from benchmarks.alone import peak_mb
from benchmarks.cases import BETA, EPSILON_PER_KM, city


def main(side: int, targets: int, cell_km: float, check: bool) -> None:
    """Solve, certify if asked, and print time and peak memory as JSON."""
    case = city(side, targets, cell_km)
    start = time.perf_counter()
    policy = cv.optimal_policy(case.area, case.prior, case.targets, epsilon_per_km=EPSILON_PER_KM, beta=BETA)
    solved = time.perf_counter()
    certificate = cv.certify(policy) if check else None
    print(
        json.dumps(
            {
                "cells": len(case.area),
                "targets": targets,
                "cell_km": cell_km,
                "solve_s": solved - start,
                "certify_s": time.perf_counter() - solved if check else None,
                "private": certificate.ok if certificate else None,
                "gap": float(policy.provenance["gap_before_rounding"]),
                "compact_bytes": len(policy.to_bytes()),
                "peak_mb": peak_mb(),
            }
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "certify")

"""Make every peer's environment: python -m benchmarks.peers."""

from __future__ import annotations

import time

from benchmarks.peers.environment import NAMES, AbsentError, prepare

for name in NAMES:
    start = time.perf_counter()
    try:
        prepare(name)
    except AbsentError as reason:
        print(f"== setup: the peer {name} CANNOT BE INSTALLED: {reason}", flush=True)
    else:
        print(f"== setup: the peer {name}, in .peers/{name} ({time.perf_counter() - start:.0f} s)", flush=True)

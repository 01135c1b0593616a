"""Advance campaigns side by side, so that none waits for another whose policy takes long.

Each campaign is in one lane, a thread, at a time. Python computes in one thread at a time and changes between them
often, so a step that takes 30 s slows others down and does not stop them. Campaigns whose last step took long share all
lanes but a few, however many they are; of new ones nobody knows yet. What runs at once, and with it the memory, is
bounded by the number of lanes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

LANES = 8
KEPT_FREE = 3
"""How many lanes are left to campaigns that are not known to take long."""
SLOW_S = 1.0
"""A campaign whose last step took longer is known to take long."""


class Lanes:
    """Threads that advance campaigns."""

    def __init__(
        self, advance: Callable[[str], bool], wake: threading.Event, clock: Callable[[], float] = monotonic
    ) -> None:
        """`advance` is given a campaign's name, and returns whether it should be advanced again at once.

        `wake` is set when campaigns should be offered again.
        """
        self._advance, self._wake, self._clock = advance, wake, clock
        self._pool = ThreadPoolExecutor(LANES, "lane")
        self._lock = threading.Lock()
        self._running: set[str] = set()
        self._offered_again: set[str] = set()
        self._slow: set[str] = set()

    def offer(self, campaigns: Iterable[str]) -> None:
        """Advance those campaigns that are not being advanced, as soon as there is a lane."""
        for name in campaigns:
            with self._lock:
                busy = len(self._running & self._slow) >= LANES - KEPT_FREE
                if name in self._running or (name in self._slow and busy):
                    self._offered_again.add(name)
                    continue
                self._running.add(name)
            self._pool.submit(self._run, name)

    def _run(self, name: str) -> None:
        began, again = self._clock(), False
        try:
            again = self._advance(name)
        finally:
            with self._lock:
                self._running.remove(name)
                was_slow = name in self._slow
                (self._slow.add if self._clock() - began > SLOW_S else self._slow.discard)(name)
                # What happened while it ran may have been too late for it; and one lane for slow campaigns is free.
                again = again or name in self._offered_again or (was_slow and bool(self._offered_again))
                self._offered_again.discard(name)
            if again:
                self._wake.set()

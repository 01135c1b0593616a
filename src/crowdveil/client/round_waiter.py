"""Where many devices wait for the next round together, so that a thousand of them do not ask a thousand times."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock
from time import monotonic

from crowdveil.wire import Announcement

LOOK_S = 0.1
"""How often those who wait for the next round look whether it is open, all of them together."""


class RoundWaiter:
    """Which round is worth asking for; looks at most every `LOOK_S`, whoever waits."""

    def __init__(self, announced: Callable[[], Announcement], stop: Event) -> None:
        self._announced = announced
        self._stop = stop
        self._lock = Lock()
        self._round: int | None = None
        self._over = False
        self._done_with: set[int] = set()
        self._looked = float("-inf")

    def wait(self) -> int | None:
        """The number of a round that may have a seat, once there is one; None when the campaign is over."""
        while not self._stop.is_set():
            with self._lock:
                if self._round is None and not self._over and monotonic() - self._looked >= LOOK_S:
                    self._look()
                if self._over:
                    return None
                if self._round is not None:
                    return self._round
            self._stop.wait(LOOK_S)
        return None

    def done_with(self, number: int) -> None:
        """Take down that a round has no seat left, or is closed."""
        with self._lock:
            self._done_with.add(number)
            if self._round == number:
                self._round = None

    def _look(self) -> None:
        info = self._announced()
        self._looked = monotonic()
        self._over = info.state in ("closed", "finished")
        if info.state == "open" and info.round not in self._done_with:
            self._round = info.round

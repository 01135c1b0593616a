"""Let many devices wait for the next round together, so that a thousand of them do not ask a thousand times."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock
from time import monotonic

from crowdveil.wire import Announcement

LOOK_S = 0.1
"""How often all waiting devices together look whether the next round is open."""


class RoundWaiter:
    """Find the round that may have a seat; ask the server at most every `LOOK_S`, for all devices together."""

    def __init__(self, announced: Callable[[], Announcement], stop: Event) -> None:
        self._announced = announced
        self._stop = stop
        self._lock = Lock()
        self._round: int | None = None
        self._over = False
        self._finished_rounds: set[int] = set()
        self._looked_at = float("-inf")

    def wait(self) -> int | None:
        """Wait for a round that may have a seat and return its number; None when the campaign is over."""
        while not self._stop.is_set():
            with self._lock:
                if self._round is None and not self._over and monotonic() - self._looked_at >= LOOK_S:
                    self._look()
                if self._over:
                    return None
                if self._round is not None:
                    return self._round
            self._stop.wait(LOOK_S)
        return None

    def leave(self, number: int) -> None:
        """Remember that a round has no seat left, or is closed."""
        with self._lock:
            self._finished_rounds.add(number)
            if self._round == number:
                self._round = None

    def _look(self) -> None:
        info = self._announced()
        self._looked_at = monotonic()
        self._over = info.state in ("closed", "finished")
        if info.state == "open" and info.notice is not None and info.notice.round not in self._finished_rounds:
            self._round = info.notice.round

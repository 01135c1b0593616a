"""How often one address may ask: a bucket of requests that refills by the minute.

Addresses are kept in memory alone, hashed with a key that dies with the process, and never written anywhere.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from time import monotonic

MAX_ADDRESSES = 100_000
"""Beyond, those who were quiet longest are forgotten."""


class RateLimiter:
    """At most so many a minute from one address; a whole minute's worth may come at once."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._key = secrets.token_bytes(16)
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def allows(self, address: str) -> bool:
        """Whether one more fits; does not count it."""
        return self._level(self._hashed(address)) >= 1

    def count(self, address: str) -> None:
        """Take one down."""
        who = self._hashed(address)
        self._buckets[who] = (max(0.0, self._level(who) - 1), self._clock())
        self._buckets.move_to_end(who)
        if len(self._buckets) > MAX_ADDRESSES:
            self._buckets.popitem(last=False)

    def _level(self, who: bytes) -> float:
        level, since = self._buckets.get(who, (float(self._per_minute), self._clock()))
        return min(float(self._per_minute), level + (self._clock() - since) * self._per_minute / 60)

    def _hashed(self, address: str) -> bytes:
        return hashlib.blake2b(network_of(address).encode(), key=self._key, digest_size=16).digest()


def network_of(address: str) -> str:
    """Who answers for an address: itself, or the /64 of an IPv6 address, all of which is one customer's."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return found.exploded[:19] if found.ipv4_mapped is None else str(found.ipv4_mapped)
    return str(found)


def is_loopback(address: str) -> bool:
    """Whether an address is the loopback's."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False

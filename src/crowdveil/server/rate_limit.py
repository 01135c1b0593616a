"""Limit the requests per address with a token bucket that refills every minute.

Addresses are kept only in memory, hashed with a key that is lost with the process, and never written anywhere.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from time import monotonic

MAX_ADDRESSES = 100_000
"""Above this, the addresses that were idle longest are dropped."""


class HashedNetworks:
    """Hash addresses with a key that nobody else knows."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)

    def hashed(self, address: str) -> bytes:
        """Return the hash of an address's network."""
        return hashlib.blake2b(network_of(address).encode(), key=self._key, digest_size=16).digest()


class RateLimiter:
    """Allow a number of requests per minute from each address; those of a whole minute may come at once."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = monotonic) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._networks = HashedNetworks()
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def allows(self, address: str) -> bool:
        """Return whether one more request is within the limit, without counting it."""
        return self._level(self._networks.hashed(address)) >= 1

    def take(self, address: str) -> bool:
        """Count one request and return True if it is within the limit; otherwise do neither."""
        key = self._networks.hashed(address)
        allowed = self._level(key) >= 1
        if allowed:
            self._count(key)
        return allowed

    def count(self, address: str) -> None:
        """Count one request."""
        self._count(self._networks.hashed(address))

    def _count(self, key: bytes) -> None:
        self._buckets[key] = (max(0.0, self._level(key) - 1), self._clock())
        self._buckets.move_to_end(key)
        if len(self._buckets) > MAX_ADDRESSES:
            self._buckets.popitem(last=False)

    def _level(self, key: bytes) -> float:
        level, since = self._buckets.get(key, (float(self._per_minute), self._clock()))
        return min(float(self._per_minute), level + (self._clock() - since) * self._per_minute / 60)


def network_of(address: str) -> str:
    """Return the address itself, or the /64 network of an IPv6 address, which belongs to one customer."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        return found.exploded[:19] if found.ipv4_mapped is None else str(found.ipv4_mapped)
    return str(found)


def is_loopback(address: str) -> bool:
    """Return whether an address is a loopback address."""
    if address == "127.0.0.1":  # by far the most frequent one, where a proxy is on this machine
        return True
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False

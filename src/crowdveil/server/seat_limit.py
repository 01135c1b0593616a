"""Limit the seats that one network address may take in an open campaign, where nobody needs an invite.

Addresses are kept only in memory, hashed with a key that is lost with the process, and never written anywhere.
"""

from __future__ import annotations

from collections import OrderedDict

from crowdveil.server.rate_limit import MAX_ADDRESSES, HashedNetworks


class SeatLimiter:
    """Count the devices that took a seat in each campaign from each address."""

    def __init__(self, per_address: int) -> None:
        self._per_address = per_address
        self._networks = HashedNetworks()
        self._taken: OrderedDict[tuple[str, bytes], set[str]] = OrderedDict()

    def allows(self, campaign: str, address: str, secret_hash: str) -> bool:
        """Return whether this device may take a seat from this address; one that has taken one may ask again."""
        taken = self._taken.get((campaign, self._networks.hashed(address)), set())
        return secret_hash in taken or len(taken) < self._per_address

    def count(self, campaign: str, address: str, secret_hash: str) -> None:
        """Count a seat; the same device again is not counted."""
        key = (campaign, self._networks.hashed(address))
        self._taken.setdefault(key, set()).add(secret_hash)
        self._taken.move_to_end(key)
        if len(self._taken) > MAX_ADDRESSES:
            self._taken.popitem(last=False)

"""Searches files for what must not be in them: places, addresses, secrets.

A place is looked for as digits (decimal degrees, or whole numbers of 1e-7 degrees: the first nine) and as eight bytes
of a floating-point number, in either order; a secret as its text, anywhere in a longer run, because databases keep
texts one after another. Digests are cut out before digits are looked for: of ten thousand, some hold any nine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

DIGITS = re.compile(rb"[0-9]+\.?[0-9]+")
TOKENS = re.compile(rb"[A-Za-z0-9_-]{43,}")
TOKEN = 43
DIGESTS = re.compile(rb"[0-9a-f]{64,}")
DIGEST = 64
SIGNIFICANT = 9
"""So many digits are nobody's by chance; fewer are looked for nowhere."""


@dataclass
class Wanted:
    """What to look for."""

    numbers: list[float] = field(default_factory=list)
    """Coordinates and probabilities of true places."""
    secrets: set[bytes] = field(default_factory=set)
    """Each of `TOKEN` characters."""
    addresses: list[re.Pattern[bytes]] = field(default_factory=list)
    digests: set[bytes] = field(default_factory=set)
    """Hashes that may be there."""
    allowed: list[bytes] = field(default_factory=list)
    """Taken out before addresses are looked for."""


def search(name: str, data: bytes, wanted: Wanted) -> list[str]:
    """What was found in one file."""
    return [f"{name}: {what}" for what in (*_addresses(data, wanted), *_secrets(data, wanted), *_numbers(data, wanted))]


def _addresses(data: bytes, wanted: Wanted) -> Iterable[str]:
    for one in wanted.allowed:
        data = data.replace(one, b"")
    for pattern in wanted.addresses:
        for found in sorted(set(pattern.findall(data))):
            yield f"holds the address {found.decode('latin-1')}"


def _secrets(data: bytes, wanted: Wanted) -> Iterable[str]:
    for run in TOKENS.finditer(data):
        text = run[0]
        for start in range(len(text) - TOKEN + 1):
            if text[start : start + TOKEN] in wanted.secrets:
                yield "holds a secret in plain text"


def _numbers(data: bytes, wanted: Wanted) -> Iterable[str]:
    prefixes = {_digits(one) for one in wanted.numbers}
    for run in DIGITS.finditer(DIGESTS.sub(lambda run: _without(run[0], wanted.digests), data)):
        if run[0].replace(b".", b"").lstrip(b"0")[:SIGNIFICANT] in prefixes:
            yield f"holds the digits {run[0][:20].decode()} of a place"
    sought = np.array(sorted(set(wanted.numbers)), dtype="<f8").view("<u8")
    sought = np.concatenate([sought, sought.byteswap()])
    for offset in range(8):
        whole = np.frombuffer(data[offset : offset + (len(data) - offset) // 8 * 8], dtype="<u8")
        if np.isin(whole, sought).any():
            yield "holds a place as a floating-point number"


def _without(text: bytes, digests: set[bytes]) -> bytes:
    """A run of hex digits, without those that are one of the digests."""
    kept, start = bytearray(), 0
    while start < len(text):
        if text[start : start + DIGEST] in digests:
            kept += b"#"
            start += DIGEST
        else:
            kept.append(text[start])
            start += 1
    return bytes(kept)


def _digits(number: float) -> bytes:
    """The first digits, without the point, cut and not rounded."""
    return f"{number:.15f}".replace(".", "").lstrip("0")[:SIGNIFICANT].encode()

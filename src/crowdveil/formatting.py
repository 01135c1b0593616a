"""Format numbers for people. Bounds are rounded up, so that a printed bound is never stronger than the proven one.

`rounded_up(x)` read back as a double is at least x: the shortest text of x reads back as x, rounding it up makes it no
smaller, and reading keeps order.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from math import exp

MIN_DIGITS, MAX_DIGITS = 9, 17
"""Digits of a printed ε; 17 distinguish any two doubles."""


def exact(number: float) -> str:
    """Return the shortest text that reads back as exactly this number."""
    return repr(float(number)).removesuffix(".0")


def rounded_up(number: float, digits: int = MIN_DIGITS) -> str:
    """Return text with so many digits that is never below the number."""
    return _plain(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(exact(number)))


def rounded_up_below(number: float, limit: float) -> str:
    """Round up like `rounded_up`, with more digits where fewer would exceed a limit that the number itself respects."""
    for digits in range(MIN_DIGITS, MAX_DIGITS):
        text = rounded_up(number, digits)
        if limit < number or float(text) <= limit:
            return text
    return exact(number)


def percent_up(share: float, decimals: int = 4) -> str:
    """Return a share in percent, rounded up."""
    hundredths = (Decimal(exact(share)) * 100).quantize(Decimal(1).scaleb(-decimals), ROUND_CEILING)
    return f"{hundredths}%"


def in_plain_words(epsilon_per_km: float) -> str:
    """Say what ε per km means for two places 1 km apart."""
    if epsilon_per_km > 100:
        return f"no practical protection at 1 km (a factor of e^{epsilon_per_km:.4g})"
    return f"an answer is at most {_factor(epsilon_per_km)} times as likely from one place as from one 1 km away"


def _factor(epsilon_per_km: float) -> str:
    # Round to twelve digits first, so that e^(ln 3) is shown as 3 whatever its last bit.
    factor = float(f"{exp(epsilon_per_km):.12g}")
    if factor >= 1e9:
        return f"{Decimal(rounded_up(factor, 4)):.3e}"
    return f"{Decimal(rounded_up(factor, max(4, len(str(int(factor)))))):,f}"


def _plain(number: Decimal) -> str:
    number = number.normalize()
    return f"{number:f}" if -5 <= number.adjusted() < 16 else f"{number:e}"

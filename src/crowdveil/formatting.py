"""Numbers as people read them. What is printed never promises more than what was proved: bounds are rounded up.

`rounded_up(x)` read back as a double is at least x: the shortest text of x reads back as x, rounding it up makes it no
smaller, and reading keeps order.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from math import exp

MIN_DIGITS, MAX_DIGITS = 9, 17
"""Digits of a printed ε; 17 tell any two doubles apart."""


def exact(number: float) -> str:
    """The shortest text that reads back as this very number."""
    return repr(float(number)).removesuffix(".0")


def rounded_up(number: float, digits: int = MIN_DIGITS) -> str:
    """Text of so many digits that is never below the number."""
    return _plain(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(exact(number)))


def rounded_up_below(number: float, limit: float) -> str:
    """Like `rounded_up`; with more digits where fewer would pass a limit that the number itself keeps to."""
    for digits in range(MIN_DIGITS, MAX_DIGITS):
        text = rounded_up(number, digits)
        if limit < number or float(text) <= limit:
            return text
    return exact(number)


def percent_up(share: float, decimals: int = 4) -> str:
    """A share that nothing exceeds, in percent, rounded up."""
    hundredths = (Decimal(exact(share)) * 100).quantize(Decimal(1).scaleb(-decimals), ROUND_CEILING)
    return f"{hundredths}%"


def in_plain_words(epsilon_per_km: float) -> str:
    """What ε per km means for two places 1 km apart."""
    if epsilon_per_km > 100:
        return f"no practical protection at 1 km (a factor of e^{epsilon_per_km:.4g})"
    return f"a reply is at most {_factor(epsilon_per_km)} times as likely from one place as from one 1 km away"


def _factor(epsilon_per_km: float) -> str:
    # Twelve digits first: e^(ln 3) should read 3, whatever its last bit says.
    factor = float(f"{exp(epsilon_per_km):.12g}")
    if factor >= 1e9:
        return f"{Decimal(rounded_up(factor, 4)):.3e}"
    return f"{Decimal(rounded_up(factor, max(4, len(str(int(factor)))))):,f}"


def _plain(number: Decimal) -> str:
    number = number.normalize()
    return f"{number:f}" if -5 <= number.adjusted() < 16 else f"{number:e}"

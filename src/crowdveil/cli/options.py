"""Read what people write behind options, and define the options that several verbs share.

An error names the option, the value and what would be right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import date
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any, TypeVar

import typer

from crowdveil.errors import CrowdveilError, InputError
from crowdveil.vocabulary import (
    DEFAULT_CONFIDENCE,
    DEFAULT_DELTA,
    DEFAULT_EPSILON_PER_KM,
    DEFAULT_GRADE_EPSILON,
    DEFAULT_LOWER_DELTAS,
    DEFAULT_NULL_EPSILON,
    DEFAULT_PROFILE_METHOD,
    DEFAULT_ROUNDS,
    DEFAULT_RULE,
    DEFAULT_SHARE_WANTED,
)

VerbFunction = Callable[..., None]
Named = TypeVar("Named", bound=str)

# --- defaults as people write them, and choices -----------------------------------------------------------------


def written_as_logarithm(epsilon: float) -> str:
    """Write ε as people write it, such as ln4."""
    return f"ln{math.exp(epsilon):.12g}"


EPSILON = written_as_logarithm(DEFAULT_EPSILON_PER_KM)
NULL_EPSILON = written_as_logarithm(DEFAULT_NULL_EPSILON)
GRADE_EPSILON = written_as_logarithm(DEFAULT_GRADE_EPSILON)
DELTA = str(DEFAULT_DELTA)
ROUNDS = str(DEFAULT_ROUNDS)
CONFIDENCE = str(DEFAULT_CONFIDENCE)
SHARE = str(DEFAULT_SHARE_WANTED)

EPSILON_HELP = "Privacy loss per km, such as 1.386 or ln4. Smaller is more private."
NULL_EPSILON_HELP = (
    "Privacy loss ε₀ about being outside the area, such as ln64; none, together with --grade-epsilon none, for the "
    "paper's form, in which people say in the clear that they have no frequent place."
)
GRADE_EPSILON_HELP = "Privacy loss ε₁ about one grade of visitors or the next, such as ln8; none for no grades."
TOKEN_VARIABLE = "CROWDVEIL_TOKEN"
DELTA_HELP = "A place is frequent for someone whose probability of being there is above this."
LOWER_DELTAS = ",".join(f"{one:g}" for one in DEFAULT_LOWER_DELTAS)
LOWER_DELTAS_HELP = (
    "Thresholds below δ, falling, such as 0.35,0.2: each divides people who are not regular visitors into one more "
    f"grade; none for two grades (default: {LOWER_DELTAS}, where it lies below δ)."
)
CONSTANTS_HELP = "Constants of the profile for your own data (JSON), from `crowdveil fit`."


class PeriodName(StrEnum):
    """What a profile predicts: a visit in the next week, or in the next day."""

    week = "week"
    day = "day"


class ProfileName(StrEnum):
    """How the probability of being in a cell is estimated."""

    frequency = "frequency"
    poisson = "poisson"
    recency = "recency"
    logistic = "logistic"


class RuleName(StrEnum):
    """How a device chooses the one place to report."""

    random = "random"
    target_aware = "target-aware"


PROFILE, RULE = ProfileName(DEFAULT_PROFILE_METHOD), RuleName(DEFAULT_RULE)


# --- errors -----------------------------------------------------------------------------------------------------


def missing(option: str, what: str) -> CrowdveilError:
    """Make the error about an option that has to be given, and say what it is for."""
    return CrowdveilError(f"--{option} is missing: {what}")


def refuse(options: Mapping[str, object], why: str) -> None:
    """Refuse options that don't go with the others; None stands for an option that was not given."""
    for name, value in options.items():
        if value is not None:
            raise InputError(name, str(value), why)


# --- values -----------------------------------------------------------------------------------------------------


def read_real(field: str, text: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise InputError(field, text, "should be a number") from None


def read_share(field: str, text: str) -> float:
    """Read a share from 0 to 1."""
    share = read_real(field, text)
    if not 0 <= share <= 1:
        raise InputError(field, share, "should be a share from 0 to 1")
    return share


def read_whole(field: str, text: str, low: int | None = None, high: int | None = None) -> int:
    """Read a whole number, within limits if there are any."""
    try:
        number = int(text)
    except ValueError:
        raise InputError(field, text, "should be a whole number") from None
    if low is not None and high is not None and not low <= number <= high:
        raise InputError(field, number, f"should be from {low:,} to {high:,}")
    if low is not None and number < low:
        raise InputError(field, number, "should not be negative" if low == 0 else f"should be at least {low:,}")
    return number


def read_whole_if_given(field: str, text: str | None) -> int | None:
    """Read a whole number, or nothing."""
    return None if text is None else read_whole(field, text)


def read_epsilon(text: str, field: str = "epsilon_per_km") -> float:
    """Read a number, or the logarithm of one, such as ln4."""
    try:
        if text.strip().lower().startswith("ln"):
            return math.log(float(text.strip()[2:].strip(" ()")))
        return float(text)
    except ValueError:
        raise InputError(field, text, "should be a number, such as 1.386 or ln4") from None


def read_epsilon_or_none(text: str, field: str) -> float | None:
    """Read a number, the logarithm of one, or `none`."""
    return None if text.strip().lower() == "none" else read_epsilon(text, field)


def read_day(field: str, text: str) -> date:
    """Read a day, such as 2024-01-31."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(field, text, "should be a day, such as 2024-01-31") from None


UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def read_duration(field: str, text: str) -> int:
    """Read a time such as 90s, 30m, 12h or 2d, in seconds."""
    found = re.fullmatch(r"(\d{1,9})([smhd])", text.strip().lower())
    if found is None:
        raise InputError(field, text, "should be a whole number with its unit, such as 90s, 30m, 12h or 2d")
    return int(found[1]) * UNITS_S[found[2]]


def read_methods(text: str | None, known: tuple[Named, ...]) -> tuple[Named, ...]:
    """Read names of methods, such as none,crowdveil; all that are known if none is given."""
    if text is None:
        return known
    from crowdveil.simulate.simulation import check_methods

    named = [part.strip() for part in text.split(",") if part.strip()]
    check_methods(named, known)
    return tuple(method for name in named for method in known if method == name)


def read_folder(text: str) -> Path:
    """Read the name of a folder; an empty name would silently be the current one."""
    if not text.strip():
        raise typer.BadParameter("should name a folder; . is the current one")
    return Path(text)


# --- options that several verbs share ---------------------------------------------------------------------------


def taking(read: Callable[..., Any]) -> Callable[[VerbFunction], VerbFunction]:
    """Give a verb the options of `read` too; what `read` returns is the verb's first argument.

    If `read` returns a context manager, it is entered for the verb and closed after it. The command line is built from
    signatures, so the verb gets one that lists its own parameters and those of `read`.
    """
    shared = signature(read, eval_str=True).parameters

    def decorate(verb: VerbFunction) -> VerbFunction:
        first, *own = signature(verb, eval_str=True).parameters.values()

        @wraps(verb)
        def run(**given: Any) -> None:
            made = read(**{name: given.pop(name) for name in shared})
            opened = made if isinstance(made, AbstractContextManager) else nullcontext(made)
            with opened as value:
                verb(**{first.name: value}, **given)

        every = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in [*own, *shared.values()]]
        run.__signature__ = Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in every}
        return run

    return decorate


def read_lower_deltas(text: str | None) -> tuple[float, ...] | None:
    """Read the thresholds below δ: none for no further grade; None where they were not given."""
    if text is None:
        return None
    if text.strip() == "none":
        return ()
    return tuple(read_real("lower_deltas", one) for one in text.split(","))

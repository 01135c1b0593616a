"""Define the batch as expressions: fixes → visits per user, cell and period → profile → places → prior.

The formulas are those of `profile.methods` and `profile.place`; here an engine evaluates them over tables that may be
larger than memory. Users are identified by their names, since numbering them would need another pass.

    visits    user, cell, period, visits, left_out   one row per triple; and, where `left_out` gives a reason, how many
                                                     rows were not counted for it (by user, where there is one)
    profile   user, cell, visits, periods, probability
    places    user, cell                             one row per user; cell is NULL without a frequent place
    prior     cell, users                            how many report each cell

**Which of several frequent places.** With the cells of a user in order, F = (c_0, ..., c_{k-1}), the rule `random`
takes c_{t mod k}, where t is the first 62 bits of SHA-256 of "seed:user": the same user under the same seed gets the
same place on every engine and in every run, and t mod k is uniform to within k / 2^62. This is for plans and
simulations; a device draws from its own secure generator.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import ibis
import numpy as np
from numpy.typing import NDArray

from crowdveil.area import OUTSIDE, Area
from crowdveil.arrays import IntArray
from crowdveil.batch.cells import with_cells
from crowdveil.batch.engine import MakeColumnFunction
from crowdveil.batch.fixes import ON_WEEKEND, OUTSIDE_AREA, OUTSIDE_TIME, Expression, first_of, in_words
from crowdveil.errors import InputError
from crowdveil.profile.from_visits import PROFILE_METHODS, ProfileMethod
from crowdveil.profile.methods import age_weights, check_half_life
from crowdveil.profile.periods import DAY_S, EPOCH, Periods
from crowdveil.profile.profile import check_delta
from crowdveil.vocabulary import DEFAULT_DELTA, Rule

USER_HASH_BITS = 62


@dataclass(frozen=True)
class ProfileSettings:
    """How a profile is made, and which place of it is reported."""

    method: ProfileMethod = "poisson"
    half_life_periods: float | None = None
    """Applies only to recency."""
    delta: float = DEFAULT_DELTA
    rule: Rule = "random"
    targets: tuple[int, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in PROFILE_METHODS:
            raise InputError("method", self.method, f"should be one of {', '.join(PROFILE_METHODS)}")
        if (self.method == "recency") != (self.half_life_periods is not None):
            raise InputError(
                "half_life_periods", self.half_life_periods, "should be given if and only if the method is recency"
            )
        if self.half_life_periods is not None:
            check_half_life(self.half_life_periods)
        check_delta(self.delta)
        if self.rule not in get_args(Rule):
            raise InputError("rule", self.rule, f"should be one of {', '.join(get_args(Rule))}")
        if (self.rule == "target-aware") != bool(self.targets):
            raise InputError(
                "targets", self.targets, "should be one or more cells if and only if the rule is target-aware"
            )


# --- visits -------------------------------------------------------------------------------------------------


def visits(fixes: Expression, area: Area, periods: Periods, column_function: MakeColumnFunction) -> Expression:
    """Count fixes by user, cell and period, and the fixes that are left out by reason."""
    day = (fixes.local_s // DAY_S).cast("int64") - (periods.start - EPOCH).days
    placed = with_cells(fixes.mutate(day=day), area, column_function)
    number = placed.day // periods.days
    weekday = placed.day + periods.start.weekday()
    of_week = (weekday % 7 + 7) % 7  # engines give a negative remainder for a negative number
    rest = ibis.literal(False)
    if periods.weekdays_only:
        rest = of_week >= 5
        if periods.days == 1:
            # five numbers for each whole week, then the weekdays before this one in its own week
            number = weekday // 7 * 5 + ibis.least(of_week, 5) - periods.start.weekday()
    misplaced = first_of(
        (placed.cell == OUTSIDE, OUTSIDE_AREA),
        (rest, ON_WEEKEND),
        ((placed.day < 0) | (number >= len(periods)), OUTSIDE_TIME),
    )
    judged = placed.select("user", "cell", "fault", period=number, left_out=ibis.coalesce(placed.fault, misplaced))
    counted = judged.left_out.isnull()
    nothing = ibis.null("int64")
    counts = (
        judged.select(
            "left_out",
            user=judged.fault.isnull().ifelse(judged.user, ibis.null("string")),
            cell=counted.ifelse(judged.cell, nothing),
            period=counted.ifelse(judged.period, nothing),
        )
        .group_by("user", "cell", "period", "left_out")
        .agg(visits=lambda rows: rows.count())
    )
    return counts.mutate(left_out=in_words(counts.left_out))


def merge_visits(parts: Expression, first_period: int, count: int) -> Expression:
    """Add up visits that were counted in several parts, in `count` periods from the one numbered `first_period`."""
    late = parts.period >= first_period + count
    nothing = ibis.null("int64")
    shifted = parts.select(
        "user",
        "visits",
        cell=late.ifelse(nothing, parts.cell),
        period=late.ifelse(nothing, parts.period - first_period),
        left_out=late.ifelse(OUTSIDE_TIME, parts.left_out),
    )
    return shifted.group_by("user", "cell", "period", "left_out").agg(visits=shifted.visits.sum().cast("int64"))


def left_out(visits: Expression) -> Expression:
    """Count the rows that were not counted, by reason, and those that were (reason NULL)."""
    return visits.group_by("left_out").agg(rows=visits.visits.sum().cast("int64"))


def extent(visits: Expression) -> Expression:
    """Find the first and the last period with a visit, and the number of users with any valid fix."""
    return visits.agg(first=visits.period.min(), last=visits.period.max(), users=visits.user.nunique())


# --- profile, places, prior ---------------------------------------------------------------------------------


def profile(visits: Expression, train: range, profile_settings: ProfileSettings) -> Expression:
    """Compute the probability of each user and cell with a visit in the training periods."""
    rows = visits.filter(visits.left_out.isnull(), visits.period >= train.start, visits.period < train.stop)
    totals = {"visits": rows.visits.sum().cast("int64"), "periods": rows.count()}
    if profile_settings.half_life_periods is not None:
        age = (train.stop - 1 - rows.period).cast("float64")
        weight = ibis.literal(2.0) ** (-age / profile_settings.half_life_periods)
        totals["weighted"] = (weight * rows.visits.cast("float64")).sum()
    pairs = rows.group_by("user", "cell").agg(**totals)
    if profile_settings.method == "frequency":
        probability = pairs.periods.cast("float64") / float(len(train))
    elif profile_settings.half_life_periods is None:
        probability = 1 - (-(pairs.visits.cast("float64") / float(len(train)))).exp()
    else:
        weights = age_weights(len(train), profile_settings.half_life_periods)
        probability = 1 - (-(pairs.weighted / float(weights.sum()))).exp()
    return pairs.select("user", "cell", "visits", "periods", probability=probability)


def places(
    visits: Expression, profile: Expression, profile_settings: ProfileSettings, column_function: MakeColumnFunction
) -> Expression:
    """Choose the cell that each user reports, or NULL."""
    frequent = profile.filter(profile.probability > profile_settings.delta).select("user", "cell", "probability")
    of_user = ibis.window(group_by="user")
    in_order = ibis.window(group_by="user", order_by="cell")
    numbered = frequent.mutate(number=ibis.row_number().over(in_order), places=ibis._.count().over(of_user))
    drawn = user_hashes(profile_settings.seed, column_function)(numbered.user) % numbered.places
    chosen = numbered.filter(numbered.number == drawn).select("user", "cell")
    if profile_settings.targets:
        best_first = ibis.window(group_by="user", order_by=[ibis.desc("probability"), "cell"])
        hits = frequent.filter(frequent.cell.isin(list(profile_settings.targets)))
        hits = hits.mutate(rank=ibis.row_number().over(best_first)).filter(ibis._.rank == 0)
        hits = hits.select("user", target="cell")
        both = chosen.left_join(hits, "user")
        chosen = both.select("user", cell=ibis.coalesce(both.target, both.cell))
    everyone = visits.filter(visits.user.notnull()).select("user").distinct()
    all_users = everyone.left_join(chosen, "user")
    return all_users.select("user", "cell")


def prior(places: Expression) -> Expression:
    """Count the users who report each cell; those without a place are counted under NULL."""
    return places.group_by("cell").agg(users=places.count())


def user_hash(seed: int, user: str) -> int:
    """Return a user's number under a seed: the first 62 bits of SHA-256 of "seed:user"."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{user}".encode()).digest()[:8], "big") >> (64 - USER_HASH_BITS)


def user_hashes(seed: int, column_function: MakeColumnFunction) -> Callable[..., Expression]:
    """Compute `user_hash` for a column of users."""

    def numbers(users: NDArray[np.object_]) -> IntArray:
        return np.array([user_hash(seed, user) for user in users.tolist()], dtype=np.int64)

    return column_function(f"user_hash_{seed}".replace("-", "minus_"), numbers, ("string",), "int64")

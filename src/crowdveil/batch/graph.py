"""Define the batch as expressions: fixes → visits per user, cell and period → profile → places → prior.

The formulas are those of `profile.methods` and `profile.place`; here an engine evaluates them over tables that may be
larger than memory. Users are identified by their names, since numbering them would need another pass.

    visits    user, cell, period, visits, left_out   one row per triple; and, where `left_out` gives a reason, how many
                                                     rows were not counted for it (by user, where there is one)
    profile   user, cell, visits, periods, probability
    places    user, cell, grade, frequent            one row per user: the place to report in the protected form, with
                                                     its grade (NULL for who was never seen), and the frequent place,
                                                     which is all that the clear form reports (NULL without one)
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
from crowdveil.batch.fixes import (
    ON_WEEKEND,
    OUTLYING,
    OUTSIDE_AREA,
    OUTSIDE_TIME,
    REPEATED,
    Expression,
    first_of,
    in_words,
)
from crowdveil.errors import InputError
from crowdveil.profile.from_visits import PROFILE_METHODS, ProfileMethod
from crowdveil.profile.logistic import TIME_SCALES, shipped_constants
from crowdveil.profile.methods import age_weights, check_half_life
from crowdveil.profile.periods import DAY_S, EPOCH, Periods
from crowdveil.profile.profile import check_thresholds
from crowdveil.vocabulary import DEFAULT_DELTA, DEFAULT_PROFILE_METHOD, Period, Rule, grade_thresholds

USER_HASH_BITS = 62
WEIGHT_ONE = 2.0**44
"""Weights are summed as whole multiples of 1 / this, so that the order of the rows does not change the last digits, and
with them the place that is reported."""


@dataclass(frozen=True)
class ProfileSettings:
    """How a profile is made, and which place of it is reported."""

    method: ProfileMethod = DEFAULT_PROFILE_METHOD
    half_life_periods: float | None = None
    """Applies only to recency."""
    delta: float = DEFAULT_DELTA
    lower_deltas: tuple[float, ...] | None = None
    """Thresholds of further grades below δ; None: the default ones that lie below δ."""
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
        check_thresholds(self.thresholds)
        if self.rule not in get_args(Rule):
            raise InputError("rule", self.rule, f"should be one of {', '.join(get_args(Rule))}")
        if (self.rule == "target-aware") != bool(self.targets):
            raise InputError(
                "targets", self.targets, "should be one or more cells if and only if the rule is target-aware"
            )

    @property
    def thresholds(self) -> tuple[float, ...]:
        """What divides the grades."""
        return grade_thresholds(self.delta, self.lower_deltas)


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


def each_once(fixes: Expression) -> Expression:
    """Mark every fix whose user, time and place are those of another one, except for one of them, as repeated."""
    alike = ibis.window(group_by=["user", "local_s", "latitude", "longitude", "fault"], order_by="local_s")
    numbered = fixes.mutate(number=ibis.row_number().over(alike))
    again = numbered.fault.isnull() & (numbered.number > 0)
    return numbered.select(
        "user", "latitude", "longitude", "local_s", fault=ibis.coalesce(numbered.fault, first_of((again, REPEATED)))
    )


def merge_visits(parts: Expression, first_period: int, count: int, usual: range) -> Expression:
    """Add up visits that were counted in several parts, in `count` periods from the one numbered `first_period`.

    Visits in periods that are not `usual` have dates far from all others.
    """
    late = parts.period >= first_period + count
    odd = (parts.period < usual.start) | (parts.period >= usual.stop)
    nothing = ibis.null("int64")
    shifted = parts.select(
        "user",
        "visits",
        cell=(odd | late).ifelse(nothing, parts.cell),
        period=(odd | late).ifelse(nothing, parts.period - first_period),
        left_out=odd.ifelse(OUTLYING, late.ifelse(OUTSIDE_TIME, parts.left_out)),
    )
    return shifted.group_by("user", "cell", "period", "left_out").agg(visits=shifted.visits.sum().cast("int64"))


def left_out(visits: Expression) -> Expression:
    """Count the rows that were not counted, by reason, and those that were (reason NULL)."""
    return visits.group_by("left_out").agg(rows=visits.visits.sum().cast("int64"))


def per_period(visits: Expression) -> Expression:
    """Count the visits of each period that has any."""
    counted = visits.filter(visits.period.notnull())
    return counted.group_by("period").agg(visits=counted.visits.sum().cast("int64"))


def users(visits: Expression) -> Expression:
    """Count the users with any valid fix."""
    return visits.agg(users=visits.user.nunique())


# --- profile, places, prior ---------------------------------------------------------------------------------


def profile(visits: Expression, train: range, profile_settings: ProfileSettings, period_days: int) -> Expression:
    """Compute the probability of each user and cell with a visit in the training periods."""
    rows = visits.filter(visits.left_out.isnull(), visits.period >= train.start, visits.period < train.stop)
    if profile_settings.method == "logistic":
        return _logistic(rows, train, period_days)
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


def _logistic(rows: Expression, train: range, period_days: int) -> Expression:
    """Compute the prediction of `profile.logistic` with the constants that devices use."""
    period: Period = "day" if period_days == 1 else "week"
    scale, c = TIME_SCALES[period], shipped_constants(period).values
    rows = rows.filter(rows.period >= train.stop - scale.history)
    rows = rows.mutate(age=(train.stop - 1 - rows.period).cast("float64"))

    def weight(table: Expression, half_life: float) -> Expression:
        return (ibis.literal(2.0) ** (-table.age / half_life) * WEIGHT_ONE).round().cast("int64")

    def total(weights: Expression) -> Expression:
        return weights.sum().cast("float64") / WEIGHT_ONE

    def odds(part: Expression, whole: Expression) -> Expression:
        return ((part + 0.3) / (ibis.greatest(whole - part, 0.0) + 0.3)).ln()

    pairs = rows.group_by("user", "cell").agg(
        visits=rows.visits.sum().cast("int64"),
        periods=rows.count(),
        lately=total(weight(rows, scale.lately)),
        recently=total(weight(rows, scale.recent)),
        long=total(weight(rows, scale.long)),
        visits_recently=total(weight(rows, scale.recent) * rows.visits),
    )
    active = rows.select("user", "age").distinct()
    people = active.group_by("user").agg(
        active_recently=total(weight(active, scale.recent)),
        active_long=total(weight(active, scale.long)),
        last_seen=active.age.min(),
        first_seen=active.age.max(),
    )
    one = pairs.join(people, "user")
    # Σ 2^{-a/h} over the ages a = 0 .. first seen
    ratio = 2.0 ** (-1.0 / scale.lately)
    since = (1 - ibis.literal(ratio) ** (one.first_seen + 1)) / (1 - ratio)
    z = (
        c[0]
        + c[1] * (one.long + 0.1).ln()
        + c[2] * (ibis.least(one.last_seen, float(scale.max_absence)) + 1).ln()
        + c[3] * odds(one.lately, since)
        + c[4] * ((one.visits_recently + 0.3) / (one.recently + 0.3)).ln()
        + c[5] * odds(one.long, one.active_long)
        + c[6] * (one.active_recently + 0.1).ln()
    )
    return one.select("user", "cell", "visits", "periods", probability=1 / (1 + (-z).exp()))


def places(
    visits: Expression, profile: Expression, profile_settings: ProfileSettings, column_function: MakeColumnFunction
) -> Expression:
    """Choose the cell and the grade that each user reports, and the frequent place, as `profile.place` does."""
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
    falling = profile_settings.thresholds
    best_first = ibis.window(group_by="user", order_by=[ibis.desc("probability"), "cell"])
    seen = profile.filter(profile.probability > 0).select("user", "cell", "probability")

    def best(rows: Expression, name: str) -> Expression:
        ranked = rows.mutate(rank=ibis.row_number().over(best_first))
        return ranked.filter(ranked.rank == 0).select("user", **{name: "cell"})

    everyone = visits.filter(visits.user.notnull()).select("user").distinct()
    found = everyone.left_join(chosen.select("user", frequent="cell"), "user").select("user", "frequent")
    found = found.left_join(best(seen, "likeliest"), "user").select("user", "frequent", "likeliest")
    cell = ibis.coalesce(found.frequent, found.likeliest)
    if profile_settings.targets:
        there = seen.filter(seen.cell.isin(list(profile_settings.targets)), seen.probability > falling[-1])
        found = found.left_join(best(there, "target"), "user").select("user", "frequent", "likeliest", "target")
        cell = ibis.coalesce(found.target, found.frequent, found.likeliest)
    placed = found.select("user", "frequent", cell=cell)
    sure = placed.left_join(seen, ["user", "cell"]).select("user", "frequent", "cell", "probability")
    grade = sum((sure.probability <= threshold).cast("int64") for threshold in falling)
    return sure.select("user", "cell", grade=grade, frequent="frequent")


def prior(places: Expression) -> Expression:
    """Count the users who report each cell, and how many of them as a frequent place; outside is counted under NULL."""
    return places.group_by("cell").agg(users=places.count(), frequent=places.frequent.notnull().sum().cast("int64"))


def user_hash(seed: int, user: str) -> int:
    """Return a user's number under a seed: the first 62 bits of SHA-256 of "seed:user"."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{user}".encode()).digest()[:8], "big") >> (64 - USER_HASH_BITS)


def user_hashes(seed: int, column_function: MakeColumnFunction) -> Callable[..., Expression]:
    """Compute `user_hash` for a column of users."""

    def numbers(users: NDArray[np.object_]) -> IntArray:
        return np.array([user_hash(seed, user) for user in users.tolist()], dtype=np.int64)

    return column_function(f"user_hash_{seed}".replace("-", "minus_"), numbers, ("string",), "int64")

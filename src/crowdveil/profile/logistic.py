"""Predict visits by logistic regression on six facts of a person's own history: small, calibrated, and on the device.

Poisson takes ten check-ins of one busy week for a habit, and someone first seen last week for someone who stayed away
for a year. Here a *period with a visit* counts once, recent periods count more, and the person's activity as a whole
counts too. With ages a = 0 for the latest period, w_h = 2^{-a/h}, and sums over the last year,

    W_h   Σ w_h over the periods in which the person was in this cell
    V_h   Σ w_h times the visits to this cell
    A_h   Σ w_h over the periods in which the person was anywhere in the area
    D_h   Σ w_h over all periods since the person was first seen
    u     how many periods ago the person was last seen anywhere in the area, 0 for the latest, at most 26 (78 days)

the chance of at least one visit in the next period is p = 1 / (1 + e^{-z}), with half-lives in weeks (where periods are
days, 3, 12 and 48 days in place of 1, 4 and 16 weeks),

    z = c_0 + c_1 log(W_16 + 0.1)                            how often, lately and earlier
            + c_2 log(1 + u)                                 whether the person is still around
            + c_3 log((W_1 + 0.3) / (D_1 - W_1 + 0.3))       the last few periods, of those since first seen
            + c_4 log((V_4 + 0.3) / (W_4 + 0.3))             several visits in a period: more than passing by
            + c_5 log((W_16 + 0.3) / (A_16 - W_16 + 0.3))    which share of the active periods is spent here
            + c_6 log(A_4 + 0.1)                             how active the person is.

The numbers added inside the logarithms shrink short histories towards the middle, and keep everything finite: W, V, A
and D are at least 0, A ≥ W and D ≥ W for every h, and all are bounded by the number of periods.

**Constants.** `WEEKLY` and `DAILY` ship with the product. A campaign may publish constants of its own, fitted on data
that it has (`crowdveil fit`). Fitting looks at training periods alone: for each of the last 12 weeks (28 days) of them,
the facts of the periods before it, and whether the visit came; then maximum likelihood with a small ridge penalty on
standardised columns, by Newton's method with step halving. The penalised likelihood is strictly concave, so there is
one optimum and the result does not depend on where the search begins.

A policy protects whichever place was picked, but constants decide which one that is, and published ones could pick the
rarest. So a device also computes what its own constants say, and asks the published ones only about places that these
call likely enough (`place.places_to_choose_from`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.arrays import FloatArray, IntArray, as_floats
from crowdveil.errors import InputError
from crowdveil.profile.counts import Counts
from crowdveil.profile.methods import age_weights
from crowdveil.profile.profile import Profile
from crowdveil.vocabulary import MAX_PROFILE_CONSTANT, PROFILE_CONSTANTS, Period

MIN_VISITS_TO_FIT: Final = 50
"""With fewer visits among the predicted pairs the constants would be chance."""
RIDGE: Final = 1.0
NEWTON_STEPS: Final = 60
MAX_LOG_ODDS: Final = 700.0
"""Keeps every chance above 0: e^-700 is still an ordinary double, and someone who was seen is never predicted as 0."""


class TimeScale(NamedTuple):
    """How far back the facts look, in periods."""

    lately: float
    recent: float
    long: float
    """The three half-lives."""
    max_absence: int
    """Someone not seen for longer counts as not seen for so long."""
    history: int
    """Older periods are not looked at: constants then mean the same for short and long histories."""
    fitted: int
    """How many of the last training periods are predicted to fit constants."""


TIME_SCALES: Final[dict[Period, TimeScale]] = {
    "week": TimeScale(1.0, 4.0, 16.0, max_absence=26, history=52, fitted=12),
    "day": TimeScale(3.0, 12.0, 48.0, max_absence=78, history=364, fitted=28),
}


@dataclass(frozen=True)
class LogisticConstants:
    """The constants c_0, ..., c_6 of the prediction, for weeks or for days."""

    period: Period
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.period not in TIME_SCALES:
            raise InputError("period", self.period, f"should be one of {', '.join(TIME_SCALES)}")
        object.__setattr__(self, "values", check_constants("values", self.values))


def check_constants(field: str, values: Sequence[float]) -> tuple[float, ...]:
    """Read the seven constants, or say what is wrong with them."""
    array = as_floats(field, values)
    if array.shape != (PROFILE_CONSTANTS,):
        raise InputError(
            field, f"{array.size} numbers", f"should be {PROFILE_CONSTANTS} numbers, c_0 to c_{PROFILE_CONSTANTS - 1}"
        )
    far = ~(np.abs(array) <= MAX_PROFILE_CONSTANT)
    if far.any():
        number = int(np.argmax(far))
        what = f"should lie from -{MAX_PROFILE_CONSTANT:g} to {MAX_PROFILE_CONSTANT:g}"
        raise InputError(f"{field}[{number}]", float(array[number]), what)
    return tuple(array.tolist())


def shipped_constants(period: Period) -> LogisticConstants:
    """Return the constants that a device uses where a campaign publishes none."""
    return DAILY if period == "day" else WEEKLY


@dataclass(frozen=True, eq=False)
class Facts:
    """The six facts of every pair of user and cell with a visit in some periods."""

    user: IntArray
    cell: IntArray
    columns: FloatArray
    """One row per pair, six columns, in the order of the formula."""


def facts_of(counts: Counts, train: range) -> Facts:
    """Compute the facts from the last year of the training periods."""
    counts.periods.check("train", train)
    scale = TIME_SCALES[_period(counts)]
    recent = range(max(train.start, train.stop - scale.history), train.stop)
    rows = counts.during(recent)
    first = rows.first_of_pairs()
    age = train.stop - 1 - rows.period
    who = rows.user[first]
    # The periods in which each user was anywhere in the area, each once, however many cells it has.
    active_user, active_age = np.divmod(np.unique(rows.user * len(recent) + age), len(recent))
    lately, recently, long = (age_weights(len(recent), h) for h in (scale.lately, scale.recent, scale.long))

    def here(values: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(values, first))

    def anywhere(weight: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(active_user, weights=weight[active_age])[who], dtype=float)

    last_seen = np.full(counts.users, len(recent))
    np.minimum.at(last_seen, active_user, active_age)
    first_seen = np.zeros(counts.users, dtype=np.int64)
    np.maximum.at(first_seen, active_user, active_age)
    columns = np.column_stack(
        [
            np.log(here(long[age]) + 0.1),
            np.log1p(np.minimum(last_seen[who], scale.max_absence)),
            _odds(here(lately[age]), np.cumsum(lately)[first_seen[who]]),
            np.log((here(recently[age] * rows.visits) + 0.3) / (here(recently[age]) + 0.3)),
            _odds(here(long[age]), anywhere(long)),
            np.log(anywhere(recently) + 0.1),
        ]
    )
    return Facts(who, rows.cell[first], columns)


def _period(counts: Counts) -> Period:
    return "day" if counts.periods.days == 1 else "week"


def _odds(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return the logarithm of part : rest, each with 0.3 added; the last bits of the sums may differ."""
    odds: FloatArray = np.log((part + 0.3) / (np.maximum(whole - part, 0.0) + 0.3))
    return odds


def logistic(counts: Counts, train: range, constants: LogisticConstants | None = None) -> Profile:
    """Predict a visit in the period after `train` for every pair with a visit in its last year."""
    used = shipped_constants(_period(counts)) if constants is None else constants
    if used.period != _period(counts):
        raise InputError(
            "constants", f"for a {used.period}", f"should be those for a {_period(counts)}, like the periods"
        )
    facts = facts_of(counts, train)
    probability = chance_of(facts.columns, used.values)
    told = {f"c{number}": value for number, value in enumerate(used.values)}
    return Profile(counts.users, counts.cells, facts.user, facts.cell, probability, "logistic", told, train)


def chance_of(columns: FloatArray, values: ArrayLike) -> FloatArray:
    """Return 1 / (1 + e^{-z}), without overflow, and never 0."""
    c = np.asarray(values, dtype=float)
    z = np.clip(c[0] + columns @ c[1:], -MAX_LOG_ODDS, MAX_LOG_ODDS)
    small = np.exp(-np.abs(z))
    chance: FloatArray = np.where(z >= 0, 1.0, small) / (1.0 + small)
    return chance


def fit_logistic(counts: Counts, train: range) -> LogisticConstants:
    """Fit the constants on training periods alone: predict each of the last ones from those before it."""
    counts.periods.check("train", train)
    predicted = range(max(train.start + 1, train.stop - TIME_SCALES[_period(counts)].fitted), train.stop)
    if len(predicted) == 0:
        raise InputError("train", train, "should have at least two periods: one to predict from those before it")
    columns, came = [], []
    for period in predicted:
        facts = facts_of(counts, range(train.start, period))
        happened = counts.pairs(range(period, period + 1))
        key = facts.user * counts.cells + facts.cell
        columns.append(facts.columns)
        came.append(np.isin(key, happened.user * counts.cells + happened.cell))
    facts_seen, visited = np.concatenate(columns), np.concatenate(came)
    hits = int(visited.sum())
    if min(hits, len(visited) - hits) < MIN_VISITS_TO_FIT:
        found = f"{hits:,} of {len(visited):,} pairs of user and cell are visited again"
        raise InputError("train", found, f"should be at least {MIN_VISITS_TO_FIT} that are and as many that are not")
    values = _maximum_likelihood(facts_seen, visited)
    return LogisticConstants(_period(counts), tuple(values.tolist()))


def _maximum_likelihood(columns: FloatArray, visited: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> FloatArray:
    """Maximise the penalised likelihood; return constants for the columns as they are, not standardised."""
    mean, deviation = columns.mean(axis=0), columns.std(axis=0)
    deviation[deviation < 1e-9] = 1.0  # a column that never varies gets the constant 0
    x = np.column_stack([np.ones(len(columns)), (columns - mean) / deviation])
    penalty = np.full(x.shape[1], RIDGE)
    penalty[0] = 0.0
    share = visited.mean()
    c = np.zeros(x.shape[1])
    c[0] = np.log(share / (1 - share))

    def cost(at: FloatArray) -> float:
        z = x @ at
        return float((np.logaddexp(0.0, z) - visited * z).sum() + 0.5 * (penalty * at * at).sum())

    now = cost(c)
    for _ in range(NEWTON_STEPS):
        p = chance_of(x[:, 1:], c)
        gradient = x.T @ (p - visited) + penalty * c
        curvature = (x * (p * (1 - p))[:, None]).T @ x + np.diag(penalty)
        step, length = np.linalg.solve(curvature, gradient), 1.0
        while (after := cost(c - length * step)) > now and length > 1e-9:
            length /= 2
        c, gained, now = c - length * step, now - after, after
        if gained <= 1e-12 * now:
            break
    slopes = c[1:] / deviation
    return np.concatenate([[c[0] - slopes @ mean], slopes])


WEEKLY: Final = LogisticConstants("week", (-3.0192, 0.8370, -0.9560, 0.2899, 0.5192, 0.1562, 0.5340))
"""Fitted on Gowalla check-ins in New York, 18 weeks from 1 May 2010, cells of 1 km."""
DAILY: Final = LogisticConstants("day", (-3.2248, 0.6525, -0.4699, 0.1933, 0.2490, 0.2876, 0.2457))
"""Fitted on Foursquare check-ins in New York, 280 days from 3 April 2012, cells of 1 km."""

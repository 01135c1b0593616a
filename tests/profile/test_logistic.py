"""The logistic profile: its facts by hand, its fit, its calibration, and histories of every kind."""

from __future__ import annotations

from datetime import date
from math import exp, inf, log, nan

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from crowdveil.arrays import FloatArray
from crowdveil.errors import InputError
from crowdveil.policy.grades import chances_of_grades
from crowdveil.profile import LogisticConstants, Periods, fit_logistic, logistic, shipped_constants
from crowdveil.profile.calibration import calibration, largest_error
from crowdveil.profile.counts import Counts
from crowdveil.profile.logistic import _maximum_likelihood, chance_of, facts_of
from tests.profile.people import counts_of, crowds

Rows = list[tuple[int, int, int]]
WEEK = shipped_constants("week")


def long_counts(rows: Rows, periods: int, days: int = 7, users: int = 3) -> Counts:
    """Counts over many periods, from (user, cell, period); a triple given twice has two visits."""
    triples, number = np.unique(np.array(rows).reshape(-1, 3), axis=0, return_counts=True)
    return Counts(
        users, 4, Periods(date(2020, 1, 6), periods, days), triples[:, 0], triples[:, 1], triples[:, 2], number
    )


def test_the_facts_of_a_pair_by_hand() -> None:
    # User 0: first seen in period 1 of 6; in cell 2 in the periods 1 and 3 (twice in 3), in cell 0 in period 4.
    facts = facts_of(long_counts([(0, 2, 1), (0, 2, 3), (0, 2, 3), (0, 0, 4)], 6), range(6))
    assert facts.user.tolist() == [0, 0]
    assert facts.cell.tolist() == [0, 2]

    def w(age: int, half_life: float) -> float:
        return float(2 ** (-age / half_life))

    here = {h: w(4, h) + w(2, h) for h in (1, 4, 16)}
    anywhere = {h: here[h] + w(1, h) for h in (4, 16)}
    since = sum(w(age, 1) for age in range(5))
    assert facts.columns[1].tolist() == pytest.approx(
        [
            log(here[16] + 0.1),
            log(1 + 1),
            log((here[1] + 0.3) / (since - here[1] + 0.3)),
            log((w(4, 4) + 2 * w(2, 4) + 0.3) / (here[4] + 0.3)),
            log((here[16] + 0.3) / (anywhere[16] - here[16] + 0.3)),
            log(anywhere[4] + 0.1),
        ],
        rel=1e-14,
    )
    profile = logistic(long_counts([(0, 2, 1), (0, 2, 3), (0, 2, 3), (0, 0, 4)], 6), range(6))
    z = WEEK.values[0] + float(facts.columns[1] @ np.array(WEEK.values[1:]))
    assert profile.of(0)[2] == pytest.approx(1 / (1 + exp(-z)), rel=1e-14)
    assert (profile.method, profile.parameters["c0"], profile.train) == ("logistic", WEEK.values[0], range(6))


def test_a_regular_is_likelier_than_who_came_often_in_one_week_and_than_who_stays_away() -> None:
    often = [(0, 1, week) for week in range(20)]
    burst = [(1, 1, 18)] * 30
    gone = [(2, 1, week) for week in range(12)]
    profile = logistic(long_counts(often + burst + gone, 20), range(20))
    regular, burst_p, gone_p = (profile.of(user)[1] for user in range(3))
    assert regular > 0.7 > 0.4 > burst_p > gone_p


def test_who_was_first_seen_lately_was_not_absent_before() -> None:
    new = [(0, 1, 18), (0, 1, 19)]
    old = [(1, 3, 0), (1, 1, 18), (1, 1, 19)]
    profile = logistic(long_counts(new + old, 20), range(20))
    assert profile.of(0)[1] > profile.of(1)[1]


@pytest.mark.parametrize(("days", "year"), [(1, 364), (7, 52)])
def test_nothing_older_than_a_year_counts(days: int, year: int) -> None:
    periods = year + 10
    recent = [(0, 1, period) for period in range(periods - 5, periods)]
    with_old = logistic(long_counts([(0, 2, 3), (1, 1, 9), *recent], periods, days), range(periods))
    assert with_old.of(0) == logistic(long_counts(recent, periods, days), range(periods)).of(0)
    assert with_old.of(1) == {}
    assert logistic(long_counts([(1, 1, 9), (2, 1, 10)], periods, days), range(periods)).user.tolist() == [2]


@given(crowds(), st.integers(1, 8))
def test_every_history_gives_probabilities(rows: Rows, periods: int) -> None:
    counts = counts_of(rows)
    profile = logistic(counts, range(periods))
    pairs = counts.pairs(range(periods))
    assert profile.user.tolist() == pairs.user.tolist()
    assert profile.cell.tolist() == pairs.cell.tolist()
    assert ((profile.probability > 0) & (profile.probability < 1)).all()


def test_ten_years_of_one_person_and_100_000_people_with_one_visit() -> None:
    assert logistic(long_counts([(0, 1, week) for week in range(520)], 520), range(520)).of(0)[1] > 0.8
    many = 100_000
    once = Counts(
        many,
        4,
        Periods(date(2020, 1, 6), 30),
        np.arange(many),
        np.full(many, 2),
        np.arange(many) % 30,
        np.ones(many, int),
    )
    chances = logistic(once, range(30)).probability
    assert 0 < chances.min() < chances.max() < 0.3


def test_no_chance_overflows_and_none_is_0() -> None:
    chances = chance_of(np.array([[1e4] * 6, [-1e4] * 6, [-2.5] * 6]), (0.0, *(50.0,) * 6))
    assert chances.tolist() == [1.0, exp(-700) / (1 + exp(-700)), exp(-700) / (1 + exp(-700))]


def test_whoever_was_seen_has_a_place_whatever_constants_are_published() -> None:
    """Once among a year of days elsewhere: with these constants z is below -800, where e^z is no double any more."""
    rows = [(0, 1, day) for day in range(1, 352)] + [(0, 2, 1)]
    constants = LogisticConstants("day", (-50.0, 50.0, -50.0, 50.0, -50.0, 50.0, -50.0))
    assert logistic(long_counts(rows, 364, 1), range(364), constants).of(0)[2] > 0


def test_a_fact_of_days_looks_back_less_far_than_one_of_weeks() -> None:
    rows = [(0, 2, 10), (0, 2, 30), (0, 1, 30), (1, 1, 39), (2, 3, 39)]
    (one, two, *_) = facts_of(long_counts(rows, 40, days=1), range(40)).columns

    def w(age: int, half_life: float) -> float:
        return float(2 ** (-age / half_life))

    here, anywhere = w(9, 48), w(9, 48) + w(29, 48)
    since = sum(w(age, 3) for age in range(30))
    assert one.tolist() == pytest.approx(
        [
            log(here + 0.1),
            log(1 + 9),
            log((w(9, 3) + 0.3) / (since - w(9, 3) + 0.3)),
            0.0,
            log((here + 0.3) / (anywhere - here + 0.3)),
            log(w(9, 12) + w(29, 12) + 0.1),
        ],
        rel=1e-13,
        abs=1e-15,
    )
    assert two[0] == pytest.approx(log(anywhere + 0.1), rel=1e-13)


@pytest.mark.parametrize(("days", "most"), [(7, 26), (1, 78)])
def test_who_was_not_seen_for_half_a_year_of_weeks_was_not_seen_for_longer(days: int, most: int) -> None:
    counts = long_counts([(0, 1, 0), (1, 1, 1), (2, 1, 2)], most + 3, days)
    absence = np.expm1(facts_of(counts, range(most + 2)).columns[:, 1])
    assert absence.tolist() == pytest.approx([most, most, most - 1])


def test_training_periods_may_begin_later_than_the_first() -> None:
    rows = [(0, 1, 0), (0, 1, 1), (0, 2, 4), (0, 2, 5), (1, 3, 4)]
    later = [(user, cell, period - 4) for user, cell, period in rows if period >= 4]
    assert logistic(counts_of(rows), range(4, 7)).of(0) == logistic(counts_of(later), range(3)).of(0)
    for wrong in (facts_of, logistic, fit_logistic):
        with pytest.raises(InputError, match=r"^train = range\(0, 9\)"):
            wrong(counts_of(rows), range(9))


# --- constants ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "said"),
    [((1.0,) * 6, "6 numbers"), ((0.0,) * 6 + (51.0,), r"values\[6\] = 51"), ((nan,) * 7, "nan"), ((inf,) * 7, "inf")],
)
def test_constants_that_cannot_be_meant_are_refused(values: tuple[float, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        LogisticConstants("week", values)


def test_constants_belong_to_weeks_or_days() -> None:
    with pytest.raises(InputError, match=r"period = 'month'"):
        LogisticConstants("month", (0.0,) * 7)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="should be those for a week, like the periods"):
        logistic(counts_of([(0, 1, 0)]), range(2), shipped_constants("day"))


def test_constants_are_seven_numbers_up_to_50_however_they_are_given() -> None:
    constants = LogisticConstants("week", [50, -50, 0, 1, 2, 3, 4])  # type: ignore[arg-type]
    assert constants == LogisticConstants("week", (50.0, -50.0, 0.0, 1.0, 2.0, 3.0, 4.0))
    assert len({constants, LogisticConstants("week", constants.values)}) == 1
    with pytest.raises(InputError, match=r"^values\[1\] = -50\.01: should lie from -50 to 50$"):
        LogisticConstants("week", (0.0, -50.01, *(0.0,) * 5))
    with pytest.raises(InputError, match=r"^values = .*should be an array of numbers"):
        LogisticConstants("week", ("one",) * 7)  # type: ignore[arg-type]


HISTORIES: dict[str, list[int]] = {
    "every period": list(range(60)),
    "every third": list(range(0, 60, 3)),
    "the last two": [58, 59],
    "once, long ago": [12],
    "twice in the last": [59, 59],
}
"""In which of 60 periods somebody was in a cell."""
CHANCES = {7: (0.856235, 0.118725, 0.226801, 0.000105, 0.125849), 1: (0.864567, 0.329902, 0.166596, 0.002294, 0.091791)}
"""Of another visit in the next week or day, for each of them."""


@pytest.mark.parametrize("days", [7, 1])
def test_what_the_shipped_constants_say_of_some_people(days: int) -> None:
    rows = [(user, 1, period) for user, periods in enumerate(HISTORIES.values()) for period in periods]
    profile = logistic(long_counts(rows, 60, days, len(HISTORIES)), range(60))
    assert [profile.of(user)[1] for user in range(len(HISTORIES))] == pytest.approx(CHANCES[days], abs=5e-7)
    shipped = shipped_constants("day" if days == 1 else "week")
    assert tuple(profile.parameters.values()) == shipped.values


def coins(constants: LogisticConstants, users: int, weeks: int, seed: int) -> Counts:
    """People who really visit one cell with the chance that the constants say, week after week, and another often."""
    generator = np.random.default_rng(seed)
    rows = [(user, 0, week) for user in range(users) for week in range(weeks) if generator.random() < 0.8]
    rows += [(user, 1, 0) for user in range(users)]
    for week in range(1, weeks):
        profile = logistic(long_counts(rows, weeks, users=users), range(week), constants)
        there = profile.cell == 1
        came = profile.user[there][generator.random(int(there.sum())) < profile.probability[there]]
        rows += [(int(user), 1, week) for user in came]
    return long_counts(rows, weeks, users=users)


def test_the_fit_finds_the_chances_that_made_the_data_and_looks_at_training_periods_alone() -> None:
    true = LogisticConstants("week", (-0.5, 0.4, -0.2, 0.2, 0.3, 0.1, 0.3))
    counts = coins(true, 1500, 16, 3)
    train = range(14)
    found = fit_logistic(counts, train)
    ours, real = (logistic(counts, train, one) for one in (found, true))
    at = ours.cell == 1
    assert np.abs(ours.probability[at] - real.probability[at]).mean() < 0.03
    assert largest_error(calibration(ours, counts, range(14, 16))) == pytest.approx(0, abs=0.06)
    later = counts.during(train)
    cut = Counts(counts.users, counts.cells, counts.periods, later.user, later.cell, later.period, later.visits)
    assert fit_logistic(cut, train) == found


def documented_fit(counts: Counts, train: range, fitted: int) -> list[float]:
    """Maximise the penalised likelihood of the last periods by a general optimiser."""
    columns, came = [], []
    for period in range(max(train.start + 1, train.stop - fitted), train.stop):
        facts = facts_of(counts, range(train.start, period))
        columns.append(facts.columns)
        later = counts.during(range(period, period + 1))
        there = set(zip(later.user.tolist(), later.cell.tolist(), strict=True))
        came += [pair in there for pair in zip(facts.user.tolist(), facts.cell.tolist(), strict=True)]
    x, y = np.concatenate(columns), np.array(came)
    mean, deviation = x.mean(axis=0), np.where(x.std(axis=0) == 0, 1, x.std(axis=0))
    standard = (x - mean) / deviation

    def lost(c: FloatArray) -> float:
        z = c[0] + standard @ c[1:]
        return float(np.logaddexp(0, z).sum() - z[y].sum() + (c[1:] @ c[1:]) / 2)

    def slope(c: FloatArray) -> FloatArray:
        error = 1 / (1 + np.exp(-(c[0] + standard @ c[1:]))) - y
        return np.append(error.sum(), error @ standard + c[1:])

    best = scipy.optimize.minimize(lost, np.zeros(7), jac=slope, method="BFGS", options={"gtol": 1e-8}).x
    slopes = best[1:] / deviation
    return [float(best[0] - slopes @ mean), *slopes.tolist()]


@pytest.mark.parametrize("train", [range(18), range(4, 18), range(8)], ids=["long", "later", "short"])
def test_the_fit_is_the_documented_maximum_over_the_last_twelve_weeks(train: range) -> None:
    counts = coins(LogisticConstants("week", (-0.5, 0.4, -0.6, 0.2, 0.3, 0.5, 0.3)), 60, 18, 5)
    assert fit_logistic(counts, train).values == pytest.approx(documented_fit(counts, train, 12), abs=1e-5)


def test_a_fact_that_never_varies_gets_the_constant_0() -> None:
    # Everybody is seen in every week, once in every cell, so that the second and the fourth fact are 0.
    generator = np.random.default_rng(4)
    rows = [(user, 0, week) for user in range(40) for week in range(10)]
    rows += [(user, 1, week) for user in range(40) for week in range(10) if generator.random() < 0.6]
    found = fit_logistic(long_counts(rows, 10, users=40), range(10)).values
    assert (found[2], found[4]) == (0.0, 0.0)
    assert found == pytest.approx(documented_fit(long_counts(rows, 10, users=40), range(10), 12), abs=1e-5)


@pytest.mark.parametrize("people", [60, 3000])
def test_a_step_that_overshoots_is_halved_until_it_gains(people: int) -> None:
    # Facts that lie very far out, one of which tells who comes: the first steps of Newton's method go too far.
    far = {
        60: np.random.default_rng(56).standard_cauchy((60, 6)) ** 3,
        3000: np.exp(4 * np.random.default_rng(0).standard_normal((3000, 6))),
    }
    columns = far[people]
    visited = columns[:, 2] > np.quantile(columns[:, 2], 0.95)
    mean, deviation = columns.mean(axis=0), columns.std(axis=0)
    found = _maximum_likelihood(columns, visited)
    standard, c = (columns - mean) / deviation, found[1:] * deviation
    error = chance_of(columns, found) - visited
    assert np.append(error.sum(), error @ standard + c).tolist() == pytest.approx([0.0] * 7, abs=1e-6)


@pytest.mark.parametrize(("again", "away", "enough"), [(50, 50, True), (49, 60, False), (60, 49, False)])
def test_fifty_that_come_again_and_fifty_that_do_not_are_enough_to_fit(again: int, away: int, enough: bool) -> None:
    rows = [(user, 1, 0) for user in range(again + away)] + [(user, 1, 1) for user in range(again)]
    counts = long_counts(rows, 2, users=again + away)
    if enough:
        assert fit_logistic(counts, range(2)).period == "week"
        return
    with pytest.raises(InputError, match=rf"{again} of {again + away} pairs of user and cell are visited again"):
        fit_logistic(counts, range(2))


def test_constants_of_days_are_fitted_on_the_last_28() -> None:
    generator = np.random.default_rng(6)
    rows = [(user, user % 4, day) for user in range(30) for day in range(40) if generator.random() < user / 30]
    counts = long_counts(rows, 40, days=1, users=30)
    found = fit_logistic(counts, range(40))
    assert found.period == "day"
    assert found.values == pytest.approx(documented_fit(counts, range(40), 28), abs=1e-5)


def test_too_little_to_fit_is_refused() -> None:
    with pytest.raises(InputError, match="at least two periods"):
        fit_logistic(counts_of([(0, 1, 0)]), range(1))
    with pytest.raises(InputError, match=r"1 of 1 pairs of user and cell are visited again.*at least 50"):
        fit_logistic(counts_of([(0, 1, 0), (0, 1, 1)]), range(2))


# --- grades -----------------------------------------------------------------------------------------------------------


def test_the_chance_of_a_grade_is_the_mean_between_its_thresholds() -> None:
    assert chances_of_grades((0.5, 0.2)) == pytest.approx((log(2), log(2.5) / 3, log(20) / 95))
    for thresholds in ((0.7,), (0.5, 0.2), (0.9, 0.5, 0.25, 0.1, 0.05), (0.02, 0.001), (0.5, 1e-9)):
        chances = chances_of_grades(thresholds)
        for low, chance, high in zip((*thresholds, 0.0), chances, (1.0, *thresholds), strict=True):
            assert low < chance < high
    assert chances_of_grades((0.0,))[1] == 0.0

"""Whether what a profile says comes true."""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.errors import InputError
from crowdveil.profile import Profile, frequency
from crowdveil.profile.calibration import (
    CalibrationTenth,
    calibration,
    largest_error,
    next_period_calibration,
    periods_visited,
    tenths_of,
)
from tests.profile.people import counts_of


def said(probability: list[float], train: range = range(0)) -> Profile:
    """User 0, cell by cell."""
    cells = np.arange(len(probability))
    return Profile(3, 4, np.zeros(len(cells), dtype=np.int64), cells, np.array(probability), train=train)


def test_what_was_said_is_compared_with_what_came_tenth_by_tenth() -> None:
    rows = [(0, 0, 2), (0, 0, 2), (0, 0, 3), (0, 1, 3), (0, 3, 2), (0, 3, 3), (1, 2, 2), (2, 0, 3), (0, 2, 7)]
    counts = counts_of(rows)
    low, high = calibration(said([0.62, 0.68, 0.6, 0.25], train=range(2)), counts, range(2, 4))
    assert low == pytest.approx(CalibrationTenth(0.2, 2, 0.25, 1.0))
    assert high == pytest.approx(CalibrationTenth(0.6, 6, (0.62 + 0.68 + 0.6) / 3, 3 / 6))
    assert (low.error, high.error) == pytest.approx((0.75, 0.4 / 3))
    assert calibration(said([]), counts, range(2, 4)) == []


def test_a_tenth_begins_at_its_lower_end_and_certainty_is_in_the_last() -> None:
    assert tenths_of(said([0.0, 0.0999, 0.1, 0.5])).tolist() == [0, 0, 1, 5]
    assert tenths_of(said([0.8999, 0.9, 1.0])).tolist() == [8, 9, 9]


def test_visits_of_other_people_and_to_other_cells_do_not_count() -> None:
    counts = counts_of([(1, 0, 5), (0, 1, 5), (0, 1, 6), (0, 1, 6), (2, 3, 6), (0, 3, 4)])
    assert periods_visited(said([0.5, 0.5, 0.5, 0.5]), counts, range(5, 8)).tolist() == [0, 2, 0, 0]


def test_test_periods_come_after_those_that_were_learnt_from() -> None:
    counts = counts_of([(0, 0, 1)])
    assert len(calibration(said([0.5], train=range(3)), counts, range(3, 5))) == 1
    with pytest.raises(InputError, match=r"test = range\(2, 5\): should start after the training periods"):
        calibration(said([0.5], train=range(3)), counts, range(2, 5))
    for test in (range(5, 9), range(5, 5)):
        with pytest.raises(InputError, match="test = "):
            calibration(said([0.5]), counts, test)
        with pytest.raises(InputError, match="test = "):
            next_period_calibration(lambda part: frequency(counts, part), counts, test)


def test_each_period_is_predicted_from_all_before_it_and_the_predictions_are_added_up() -> None:
    # Cell 0 in the periods 0 and 2, cell 1 in 1 and 3, cell 2 in 0, 1 and 2.
    counts = counts_of([(0, 0, 0), (0, 0, 2), (0, 1, 1), (0, 1, 3), (0, 2, 0), (0, 2, 1), (0, 2, 2)])
    # Period 2: said 1/2, 1/2 and 1; all but cell 1 come. Period 3: said 2/3, 1/3 and 1; only cell 1 comes.
    third, half, two_thirds, sure = next_period_calibration(lambda part: frequency(counts, part), counts, range(2, 4))
    assert third == pytest.approx(CalibrationTenth(0.3, 1, 1 / 3, 1.0))
    assert half == pytest.approx(CalibrationTenth(0.5, 2, 0.5, 0.5))
    assert two_thirds == pytest.approx(CalibrationTenth(0.6, 1, 2 / 3, 0.0))
    assert sure == pytest.approx(CalibrationTenth(0.9, 2, 1.0, 0.5))


def test_periods_with_more_predictions_count_more() -> None:
    # Two predictions of 0.62 in period 4, of which one comes, then four of 0.68, of which none does.
    counts = counts_of([(0, 0, 4)])
    made = {range(4): said([0.62, 0.62]), range(5): said([0.68] * 4)}
    (tenth,) = next_period_calibration(lambda part: made[part], counts, range(4, 6))
    assert tenth == pytest.approx(CalibrationTenth(0.6, 6, (2 * 0.62 + 4 * 0.68) / 6, 1 / 6))


def test_the_largest_error_is_that_of_tenths_with_a_hundred_predictions() -> None:
    tenths = [
        CalibrationTenth(0.1, 100, 0.15, 0.25),
        CalibrationTenth(0.2, 99, 0.25, 0.95),
        CalibrationTenth(0.3, 5_000, 0.35, 0.30),
    ]
    assert largest_error(tenths) == pytest.approx(0.10)
    assert largest_error(tenths, at_least=99) == pytest.approx(0.70)
    assert largest_error(tenths, at_least=101) == pytest.approx(0.05)
    assert largest_error(tenths[1:2]) is None

"""The paper's New York: 40 weeks to learn from, 5 to test on.

The paper gives neither box nor grid origin. The grid first measured on gave 317 users with a frequent place;
shifting the origin moves that between about 310 and 330.
"""

from __future__ import annotations

import numpy as np
import pytest

from crowdveil.profile import choose_half_life, frequency, poisson, recency, roc
from crowdveil.profile.place import choose_places
from crowdveil.vocabulary import NULL
from tests.profile.people import needs_new_york, new_york_counts, new_york_visits

pytestmark = [pytest.mark.long, needs_new_york]
TRAIN, TEST = range(40), range(40, 45)
OFFSETS_M = [(0, 0), (250, 0), (500, 500), (-238, -63)]


def test_every_check_in_is_counted_or_accounted_for() -> None:
    counts, visits = new_york_counts(), new_york_visits()
    assert (counts.users, counts.cells, len(visits)) == (1083, 203, 227_178)
    assert int(counts.visits.sum()) == 137_088
    assert int(counts.visits.sum()) + sum(counts.left_out.values()) == len(visits)
    assert counts.empty_periods(range(45)) == (21, 24, 25)


@pytest.mark.parametrize(("east_m", "north_m"), OFFSETS_M)
def test_about_317_users_have_a_frequent_place_under_poisson(east_m: int, north_m: int) -> None:
    profile = poisson(new_york_counts(east_m, north_m), TRAIN)
    chosen = choose_places(profile, 0.7, "random", np.random.default_rng(1))
    assert np.count_nonzero(chosen != NULL) == pytest.approx(317, abs=12)


@pytest.mark.parametrize(("east_m", "north_m"), OFFSETS_M)
def test_poisson_and_frequency_tie_and_recency_is_better(east_m: int, north_m: int) -> None:
    counts = new_york_counts(east_m, north_m)
    by_frequency, by_poisson, by_recency = (
        roc(profile, counts, TEST).auc
        for profile in (frequency(counts, TRAIN), poisson(counts, TRAIN), recency(counts, TRAIN, 4))
    )
    assert by_poisson == pytest.approx(0.9005, abs=0.002)
    assert by_frequency == pytest.approx(by_poisson, abs=0.0006)
    assert by_recency > max(by_frequency, by_poisson)


def test_the_first_test_week_alone_comes_nearer_to_the_areas_first_measured_than_all_five() -> None:
    counts = new_york_counts()
    for method, measured in ((poisson, 0.9045), (frequency, 0.9046)):
        profile = method(counts, TRAIN)
        first_week, all_weeks = (roc(profile, counts, test).auc for test in (range(40, 41), TEST))
        assert first_week == pytest.approx(measured, abs=0.001)
        assert abs(first_week - measured) < abs(all_weeks - measured)


@pytest.mark.parametrize(("east_m", "north_m"), OFFSETS_M)
def test_the_half_life_chosen_on_training_weeks_is_four(east_m: int, north_m: int) -> None:
    choice = choose_half_life(new_york_counts(east_m, north_m), TRAIN)
    assert choice.half_life_periods == 4
    assert (choice.teaching, choice.validation) == (range(35), range(35, 40))

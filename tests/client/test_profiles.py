"""A device's owner hands over traces, or a profile; both are checked before anything is asked of a server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.client.excluded import ExcludedPlace
from crowdveil.client.history import place_to_report, read_profile, visits_of, without_excluded
from crowdveil.profile.place import Place
from crowdveil.traces import synthetic_visits
from crowdveil.traces.visits import Visits
from crowdveil.wire import Terms
from tests.client.fake_server import AREA, FakeServer, clear_policy, small_policy


def test_the_visits_of_one_person_are_taken() -> None:
    visits = synthetic_visits(np.random.default_rng(1), users=3, weeks=4)
    one = visits_of(visits, visits.users[1])
    assert one.users == (visits.users[1],)
    assert one.utc_s.tolist() == visits.utc_s[visits.user == 1].tolist()
    assert visits_of(one) is one
    with pytest.raises(
        cv.InputError, match=f"user = None: should name one of the 3 people, such as {visits.users[0]!r}$"
    ):
        visits_of(visits)
    with pytest.raises(cv.InputError, match="user = 'eve': should be one of the 3 people in the traces, such as"):
        visits_of(visits, "eve")
    nobody = Visits((), *np.zeros((5, 0)))
    with pytest.raises(cv.InputError, match=r"user = None: should name one of the 0 people, but there are none$"):
        visits_of(nobody)


def test_a_profile_is_read_from_cells_and_probabilities(tmp_path: Path) -> None:
    (tmp_path / "profile.csv").write_text("cell,probability\n12,1\n0,0\n9007199254740991,0.2\n")
    assert read_profile(tmp_path / "profile.csv") == {12: 1.0, 0: 0.0, 2**53 - 1: 0.2}
    for text, said in (
        ("cell,probability\n12,1.5\n", "probability = 1.5: should be between 0 and 1"),
        ("cell,probability\n-1,0.5\n", "cell = -1: should be a whole number from 0"),
        ("cell,probability\n9007199254740992,0.5\n", r"cell = 9.0072e\+15: should be a whole number from 0"),
        ("cell,probability\n0.5,0.5\n", "cell = 0.5: should be a whole number from 0"),
        ("cell,probability\n3,0.5\n3,0.5\n", "cell = 3: is named twice"),
    ):
        (tmp_path / "profile.csv").write_text(text)
        with pytest.raises(cv.FileFormatError, match=said):
            read_profile(tmp_path / "profile.csv")


def test_visits_to_all_excluded_places_are_dropped_and_no_others() -> None:
    latitude, longitude = (axis[[3, 8, 22]] for axis in AREA.centres())
    visits = Visits(("me",), [0] * 3, [0, 1, 2], [0] * 3, latitude, longitude)  # type: ignore[arg-type]
    excluded = [ExcludedPlace(float(latitude[at]), float(longitude[at])) for at in (0, 2)]
    kept, never = without_excluded(visits, AREA, excluded)
    assert isinstance(kept, Visits)
    assert kept.utc_s.tolist() == [1]
    assert never == {3, 22}


def place_of(
    policy: cv.Policy, rule: str, profile: dict[int, float], random_below: Callable[[int], int] = lambda _: 0
) -> Place:
    terms: Terms = FakeServer(policy).terms_of("noise").model_copy(update={"rule": rule})
    return place_to_report(profile, AREA, terms, today=date(2024, 1, 1), random_below=random_below)


@pytest.mark.parametrize("make", [small_policy, clear_policy])
def test_the_place_is_chosen_by_the_rule_and_the_targets_of_the_terms(make: Callable[[], cv.Policy]) -> None:
    policy = make()
    frequent = {8: 0.9, policy.targets[1]: 0.7, 9: 0.8}
    assert place_of(policy, "target-aware", frequent) == Place(policy.targets[1])
    chosen = [place_of(policy, "random", frequent, lambda _, k=k: k).cell for k in range(3)]  # type: ignore[misc]
    assert sorted(chosen) == sorted(frequent)

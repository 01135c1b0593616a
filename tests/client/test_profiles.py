"""A device's owner hands over traces, or a profile; both are checked before anything is asked of a server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.client.excluded import ExcludedPlace
from crowdveil.client.history import check_usable, place_to_report, read_profile, visits_of, without_excluded
from crowdveil.profile.periods import Periods
from crowdveil.profile.place import Place
from crowdveil.traces import synthetic_visits
from crowdveil.traces.visits import Visits
from crowdveil.wire import Terms
from tests.client.fake_server import AREA, FakeServer, clear_policy, small_policy, three_grades


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
    return place_to_report(profile, AREA, terms, least_delta=0.2, today=date(2024, 1, 1), random_below=random_below)


@pytest.mark.parametrize("make", [small_policy, clear_policy])
def test_the_place_is_chosen_by_the_rule_and_the_targets_of_the_terms(make: Callable[[], cv.Policy]) -> None:
    policy = make()
    frequent = {8: 0.9, policy.targets[1]: 0.7, 9: 0.8}
    assert place_of(policy, "target-aware", frequent) == Place(policy.targets[1])
    chosen = [place_of(policy, "random", frequent, lambda _, k=k: k).cell for k in range(3)]  # type: ignore[misc]
    assert sorted(chosen) == sorted(frequent)


# --- constants that a campaign publishes -------------------------------------------------------------------------


TODAY = date(2024, 12, 30)
HOME, GYM, CLINIC = 8, 3, 22
EVERYTHING = (50.0, *[0.0] * 6)
"""Calls every place regular that was ever seen."""
RAREST = (-20.0, -50.0, *[0.0] * 5)
"""The rarer, the likelier."""
NOTHING = (-50.0, *[0.0] * 6)


def a_year(weeks_of: dict[int, range]) -> Visits:
    """Visits to the middle of cells, in some weeks of the year before `TODAY`."""
    rows = [(week, cell) for cell, weeks in weeks_of.items() for week in weeks]
    first = int(datetime(2024, 1, 3, 12, tzinfo=UTC).timestamp())
    week, cell = (np.array(column) for column in zip(*sorted(rows), strict=True))
    latitude, longitude = (axis[cell] for axis in AREA.centres())
    nothing = np.zeros(len(week), dtype=np.int64)
    return Visits(("ann",), nothing, first + week * 7 * 86_400, nothing, latitude, longitude)


def reported(visits: Visits, constants: tuple[float, ...] | None, rule: str, least_delta: float = 0.2) -> Place:
    server = FakeServer(three_grades(targets=[CLINIC, 14]))
    server.terms |= {"profile_constants": constants, "rule": rule}
    terms = server.terms_of("noise")
    return place_to_report(visits, AREA, terms, least_delta=least_delta, today=TODAY, random_below=lambda _: 0)


@pytest.mark.parametrize("rule", ["target-aware", "random"])
@pytest.mark.parametrize("constants", [EVERYTHING, RAREST, NOTHING])
def test_no_published_constants_report_a_place_that_the_shipped_ones_call_rare(
    constants: tuple[float, ...], rule: str
) -> None:
    once = a_year({HOME: range(52), CLINIC: range(7, 8)})
    assert reported(once, None, rule) == Place(HOME, 0)
    assert reported(once, constants, rule).cell == HOME


@pytest.mark.parametrize("constants", [EVERYTHING, RAREST])
def test_where_every_place_is_rare_the_shipped_prediction_alone_decides(constants: tuple[float, ...]) -> None:
    rare = a_year({CLINIC: range(7, 8), GYM: range(20, 24)})
    assert reported(rare, None, "target-aware") == Place(GYM, 2)
    assert reported(rare, constants, "target-aware") == Place(GYM, 2)


def test_published_constants_refine_among_the_places_that_the_shipped_ones_call_likely() -> None:
    often = a_year({HOME: range(52), GYM: range(30, 52, 2), CLINIC: range(7, 8)})
    assert reported(often, RAREST, "random").cell == GYM
    assert reported(often, NOTHING, "random") == Place(GYM, 2)
    assert reported(often, EVERYTHING, "random") == Place(GYM, 0)


def test_the_owners_limit_says_what_is_likely() -> None:
    once = a_year({HOME: range(52), CLINIC: range(7, 8)})
    assert reported(once, RAREST, "target-aware", least_delta=0.0).cell == CLINIC
    often = a_year({HOME: range(52), GYM: range(30, 52, 2)})
    assert reported(often, RAREST, "random", least_delta=0.9).cell == HOME


# --- visits that tell nothing ---------------------------------------------------------------------------------

LAST_YEAR = Periods(date(2023, 6, 5), 52, 7)
NOON_S = int(datetime(2024, 3, 4, 12, tzinfo=UTC).timestamp())


def at_places(*places: tuple[float, float], first_s: int = NOON_S) -> Visits:
    """A visit a day, at these latitudes and longitudes."""
    latitude, longitude = zip(*places, strict=True)
    times = [first_s + 86_400 * day for day in range(len(places))]
    return Visits(("me",), [0] * len(places), times, [0] * len(places), latitude, longitude)  # type: ignore[arg-type]


def test_visits_with_exchanged_coordinates_are_refused_and_those_elsewhere_are_not() -> None:
    area = cv.Grid.on_lattice(40.70, -74.02, 40.76, -73.95, cell_km=1.0)
    latitude, longitude = (float(axis[0]) for axis in area.centres())  # the cell whose number is 0
    check_usable(at_places((latitude, longitude)), area, LAST_YEAR)
    check_usable(at_places((48.1, 11.5), (10.0, 90.5), (10.0, 179.0)), area, LAST_YEAR)
    check_usable(at_places((longitude, latitude), (latitude, longitude)), area, LAST_YEAR)
    for others in ((), ((10.0, 179.0),)):
        wrong = at_places((longitude, latitude), *others)
        with pytest.raises(cv.InputError) as refused:
            check_usable(wrong, area, LAST_YEAR)
        assert str(refused.value) == (
            f"visits = '{len(wrong)} visit{'s' * len(others)}': none lies in the campaign's area, but some would with "
            "latitude and longitude exchanged. Nothing was picked or kept: exchange the two columns"
        )


def test_visits_outside_of_the_periods_are_refused_with_their_dates() -> None:
    nothing = at_places((0.0, 0.0)).where(np.zeros(1, dtype=bool))
    check_usable(nothing, AREA, LAST_YEAR)
    long_ago = at_places((0.0, 0.0), (0.0, 0.0), first_s=NOON_S - 400 * 86_400)
    with pytest.raises(cv.InputError) as refused:
        check_usable(long_ago, AREA, LAST_YEAR)
    assert str(refused.value) == (
        "visits = '2 visits': none lies in the 364 days from 2023-06-05 that the campaign looks at; they lie between "
        "2023-01-29 and 2023-01-30. Nothing was picked or kept: check the times"
    )

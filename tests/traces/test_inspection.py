"""Messy visits: what is found, what is left out, and what is said."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from crowdveil.errors import InputError
from crowdveil.traces import VisitFinding, Visits, inspect_visits, synthetic_visits
from crowdveil.traces.dates import usual_days
from crowdveil.traces.several_files import merge_visits

DAY_S = 86_400
NOW_S = 1_720_000_000.0
"""July 2024; the synthetic city ends in March."""


def city(users: int = 30, weeks: int = 10) -> Visits:
    """A clean city near Munich, on the clock of its place."""
    return synthetic_visits(np.random.default_rng(3), users=users, weeks=weeks)


def changed(visits: Visits, rows: list[int], **columns: object) -> Visits:
    """The same visits with some values replaced."""
    copies = {name: getattr(visits, name).copy() for name in ("user", "utc_s", "offset_s", "latitude", "longitude")}
    for name, values in columns.items():
        copies[name][rows] = values
    return Visits(visits.users, **copies, dropped=visits.dropped)


def joined(*parts: Visits) -> Visits:
    """Visits of several exports, users by their names."""
    names = list(dict.fromkeys(name for part in parts for name in part.users))
    user = np.concatenate([np.array([names.index(name) for name in part.users])[part.user] for part in parts])
    utc_s, offset_s, latitude, longitude = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("utc_s", "offset_s", "latitude", "longitude")
    )
    return Visits(tuple(names), user, utc_s, offset_s, latitude, longitude)


def only(findings: tuple[VisitFinding, ...], kind: str) -> VisitFinding:
    assert [finding.kind for finding in findings] == [kind]
    return findings[0]


def test_a_clean_city_has_no_findings_and_stays_the_same_value() -> None:
    visits = city()
    found = inspect_visits(visits, now_s=NOW_S)
    assert found.findings == ()
    assert found.visits is visits


# --- dates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        (date(1970, 1, 1), "clocks that were never set"),
        (date(1980, 1, 6), "GPS receivers without a fix"),
        (date(2000, 1, 1), "clocks that were reset to 2000-01-01"),
        (date(2004, 7, 1), "GPS receivers that count 1,024 weeks too few"),
        (date(2011, 5, 17), None),
    ],
)
def test_dates_far_from_all_others_are_left_out_and_their_cause_is_named(wrong: date, cause: str | None) -> None:
    visits = city()
    wrong_s = (wrong - date(1970, 1, 1)).days * DAY_S + 40_000
    found = inspect_visits(changed(visits, [5, 40], utc_s=wrong_s), now_s=NOW_S)
    finding = only(found.findings, "outlying-dates")
    assert (finding.visits, finding.users, finding.left_out) == (2, len({*visits.user[[5, 40]].tolist()}), True)
    assert str(wrong) in finding.text
    assert 'keep "outlying-dates"' in finding.text
    assert ("Known causes" in finding.text) == (cause is not None)
    assert cause is None or cause in finding.text
    assert len(found.visits) == len(visits) - 2
    assert dict(found.visits.dropped) == {"date far from all others": 2}


def test_what_is_kept_on_request_is_still_said() -> None:
    visits = changed(city(), [5], utc_s=10 * DAY_S)
    found = inspect_visits(visits, keep=["outlying-dates"], now_s=NOW_S)
    assert not only(found.findings, "outlying-dates").left_out
    assert found.visits is visits


def test_an_unknown_oddity_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="keep = 'dates': should be one of future-times, outlying-dates"):
        inspect_visits(city(), keep=["dates"])  # type: ignore[list-item]
    with pytest.raises(InputError, match="min_weeks"):
        inspect_visits(city(), min_weeks=0)


def test_an_early_piece_of_a_history_stays_if_it_is_more_than_a_hundredth() -> None:
    days = np.array([*range(50), *range(400, 600)])
    assert usual_days(days).first == 0
    assert usual_days(days, np.where(days < 50, 1, 100)).first == 400


def test_a_gap_in_the_middle_of_a_history_stays() -> None:
    days = np.array([*range(300), *range(400, 700)])
    assert (usual_days(days).first, usual_days(days).last) == (0, 699)


def test_both_ends_together_lose_at_most_a_hundredth() -> None:
    middle = np.arange(10_000, 10_960)
    assert usual_days(np.concatenate([[0] * 5, middle, [20_000] * 4])).last == 10_959
    outer = usual_days(np.concatenate([[0] * 8, middle, [20_000] * 8]))
    assert (outer.first, outer.last) in [(10_000, 20_000), (0, 10_959)]


@pytest.mark.parametrize("days", [[0, 4000], [0, 1, 4000], [7]])
def test_a_few_visits_are_a_short_history_and_not_wrong_clocks(days: list[int]) -> None:
    assert (usual_days(np.array(days)).first, usual_days(np.array(days)).last) == (days[0], days[-1])


def test_times_in_the_future_are_left_out() -> None:
    found = inspect_visits(changed(city(), [7], utc_s=int(NOW_S) + 40 * DAY_S), now_s=NOW_S)
    assert only(found.findings, "future-times").visits == 1
    assert "2024-08-12" in found.findings[0].text
    assert dict(found.visits.dropped) == {"time in the future": 1}


def test_a_majority_in_the_future_is_kept_and_questioned() -> None:
    visits = city()
    found = inspect_visits(visits, now_s=float(visits.utc_s.min()) - 30 * DAY_S)
    assert "is the unit of the times right" in only(found.findings, "future-times").text
    assert found.visits is visits


# --- clocks -----------------------------------------------------------------------------------------------------


def test_visits_without_a_zone_far_from_greenwich_ask_for_one() -> None:
    west = changed(city(), slice(None), longitude=-74.0, offset_s=0)  # type: ignore[arg-type]
    finding = only(inspect_visits(west, now_s=NOW_S).findings, "clocks")
    assert "UTC-05:00, but no time zone is known" in finding.text
    assert (finding.visits, finding.left_out) == (len(west), False)


def test_phones_that_kept_the_time_of_home_are_counted() -> None:
    visits = changed(city(), [1, 2, 3], offset_s=9 * 3600)
    finding = only(inspect_visits(visits, now_s=NOW_S).findings, "clocks")
    assert finding.visits == 3
    assert "set the zone" in finding.text


def test_clocks_beyond_the_date_line_fit_their_place() -> None:
    line = changed(city(), slice(None), longitude=-157.4, offset_s=14 * 3600)  # type: ignore[arg-type]
    assert inspect_visits(line, now_s=NOW_S).findings == ()


# --- places -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.01, 0.4])
def test_swapped_coordinates_are_left_out_also_if_they_are_many(share: float) -> None:
    visits = city()
    rows = np.flatnonzero(np.random.default_rng(1).random(len(visits)) < share).tolist()
    mixed = changed(visits, rows, latitude=visits.longitude[rows], longitude=visits.latitude[rows])
    found = inspect_visits(mixed, now_s=NOW_S)
    finding = next(one for one in found.findings if one.kind == "swapped-coordinates")
    assert finding.visits == len(rows) == found.visits.dropped["latitude and longitude swapped"]
    assert found.visits.latitude.min() > 40


def test_a_trip_is_not_taken_for_swapped_coordinates() -> None:
    visits = city()
    trip = changed(visits, [1, 2], latitude=41.9, longitude=12.5)
    assert inspect_visits(trip, now_s=NOW_S).findings == ()


# --- repetitions ------------------------------------------------------------------------------------------------


def test_the_same_visits_from_two_exports_count_once() -> None:
    visits = city()
    half = visits.where(visits.utc_s > np.median(visits.utc_s))
    found = inspect_visits(joined(visits, half), now_s=NOW_S)
    assert only(found.findings, "duplicates").visits == len(half)
    for name in ("user", "utc_s", "latitude", "longitude"):
        assert getattr(found.visits, name).tolist() == getattr(visits, name).tolist()


def test_two_places_at_one_time_are_two_visits() -> None:
    visits = city()
    again = changed(visits, slice(None), latitude=visits.latitude + 0.01)  # type: ignore[arg-type]
    assert inspect_visits(joined(visits, again), now_s=NOW_S).findings == ()


def test_calls_in_the_same_minute_are_two_calls() -> None:
    visits = city()
    minutes = changed(visits, slice(None), utc_s=visits.utc_s // 60 * 60)  # type: ignore[arg-type]
    found = inspect_visits(joined(minutes, minutes), now_s=NOW_S)
    finding = only(found.findings, "identical-rows")
    assert (finding.visits, finding.left_out) == (len(minutes), False)
    assert "--distinct" in finding.text
    assert len(found.visits) == 2 * len(minutes)
    distinct = inspect_visits(joined(minutes, minutes), distinct=True, now_s=NOW_S)
    assert only(distinct.findings, "duplicates").visits == len(minutes)
    assert len(distinct.visits) == len(minutes)


def test_files_that_overlap_are_recognised_at_any_resolution_of_time() -> None:
    visits = city()
    minutes = changed(visits, slice(None), utc_s=visits.utc_s // 60 * 60)  # type: ignore[arg-type]
    once = inspect_visits(minutes, distinct=True, now_s=NOW_S).visits
    early, late = (once.where(once.utc_s % 600 < 400), once.where(once.utc_s % 600 >= 200))
    both = inspect_visits(merge_visits([early, late]), now_s=NOW_S)
    finding = only(both.findings, "duplicates")
    assert (finding.visits, finding.left_out) == (len(early) + len(late) - len(once), True)
    assert "an earlier file has too" in finding.text
    assert sorted(zip(both.visits.utc_s.tolist(), both.visits.latitude.tolist(), strict=True)) == sorted(
        zip(once.utc_s.tolist(), once.latitude.tolist(), strict=True)
    )
    kept = inspect_visits(merge_visits([early, late]), keep=["duplicates"], now_s=NOW_S)
    assert len(kept.visits) == len(early) + len(late)


def test_two_calls_of_one_minute_stay_two_in_files_that_overlap() -> None:
    one = city().where(np.arange(len(city())) < 40)
    minutes = changed(one, slice(None), utc_s=one.utc_s // 60 * 60)  # type: ignore[arg-type]
    found = inspect_visits(merge_visits([joined(minutes, minutes), minutes]), now_s=NOW_S)
    assert [finding.kind for finding in found.findings][:2] == ["duplicates", "identical-rows"]
    assert found.findings[0].visits == len(minutes)
    assert len(found.visits) == 2 * len(minutes)


def test_keeping_duplicates_and_counting_each_once_contradict_each_other() -> None:
    with pytest.raises(InputError, match="distinct"):
        inspect_visits(city(), keep=["duplicates"], distinct=True)


def test_an_account_with_the_visits_of_another_is_left_out_with_its_name() -> None:
    visits = city()
    most = int(np.bincount(visits.user).argmax())
    one = visits.where(visits.user == most)
    copy = Visits(("tablet",), np.zeros(len(one), int), one.utc_s, one.offset_s, one.latitude, one.longitude)
    found = inspect_visits(joined(visits, copy), now_s=NOW_S)
    finding = only(found.findings, "repeated-accounts")
    assert f"'tablet' those of '{visits.users[most]}'" in finding.text
    assert found.visits.users == visits.users
    assert len(found.visits) == len(visits)
    part = copy.where(np.arange(len(copy)) < len(copy) // 2)
    apart = changed(copy.where(np.arange(len(copy)) >= len(copy) // 2), slice(None), latitude=48.01)  # type: ignore[arg-type]
    shared = inspect_visits(joined(visits, part, apart), now_s=NOW_S)
    assert "give them one name" in only(shared.findings, "shared-visits").text
    assert "tablet" in shared.visits.users


# --- users ------------------------------------------------------------------------------------------------------


def test_many_users_seen_in_one_week_are_said_and_can_be_left_out() -> None:
    visits = city(weeks=6)
    few = visits.user < 12
    monday = int(visits.local_s.min()) // DAY_S * DAY_S
    brief = changed(visits, few, utc_s=monday + visits.utc_s[few] % (5 * DAY_S))  # type: ignore[arg-type]
    finding = only(inspect_visits(brief, now_s=NOW_S).findings, "one-week-users")
    assert finding.users >= 12
    left = inspect_visits(brief, min_weeks=2, now_s=NOW_S).visits
    assert len(left.users) == 30 - finding.users
    assert len(np.unique(left.user)) == len(left.users)
    assert left.dropped["user seen in too few weeks"] == finding.visits


def test_no_visit_at_all_is_no_finding() -> None:
    empty = city().where(np.zeros(len(city()), dtype=bool))
    assert inspect_visits(empty).findings == ()

"""`crowdveil compare`: one's own traces in, a comparison out; bad input is one line that says what would be right."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import duckdb
import numpy as np
import pytest
from typer.testing import Result

from crowdveil.area import Grid
from crowdveil.traces import Visits, synthetic_visits
from tests.cli.helpers import Run, refused

Compare = Callable[..., Result]
CAMPAIGN = ("--methods", "none,crowdveil,laplace,random")
ONE_ROUND = ("--methods", "none,crowdveil-known")
HEADING = "user,time,latitude,longitude\n"
CITY = synthetic_visits(np.random.default_rng(3), users=120, weeks=8, radius_km=4.0, visits_per_week=12.0)


def lines(visits: Visits, swapped: bool = False) -> Iterator[str]:
    """Rows of a CSV."""
    for user, utc_s, offset_s, latitude, longitude in zip(
        visits.user, visits.utc_s, visits.offset_s, visits.latitude, visits.longitude, strict=True
    ):
        time = datetime.fromtimestamp(int(utc_s), timezone(timedelta(seconds=int(offset_s)))).isoformat()
        first, second = (longitude, latitude) if swapped else (latitude, longitude)
        yield f"u{user},{time},{float(first)!r},{float(second)!r}\n"


@pytest.fixture
def compare(run: Run) -> Compare:
    """Run `crowdveil compare` on a small CSV, by methods without a policy unless others are given."""
    Path("visits.csv").write_text(HEADING + "".join(lines(CITY)))

    def invoke(*arguments: str, data: str | None = "visits.csv", seeds: str = "2") -> Result:
        source = () if data is None else ("--data", data)
        few = () if "--methods" in arguments else ("--methods", "none,random")
        return run("compare", *source, "--seeds", seeds, *few, *arguments)

    return invoke


def test_it_says_what_was_read_and_compares_every_method(compare: Compare) -> None:
    with Path("visits.csv").open("a") as file:
        file.write("u1,yesterday,48.0,11.0\nu1,2024-01-03T10:00:00+01:00,148.0,11.0\n")
    result = compare(
        "--methods", "none,random,laplace,laplace-posterior,algorithm-1,algorithm-2,crowdveil,crowdveil-known"
    )
    assert result.exit_code == 0, result.stderr
    for said in (
        f"traces: visits.csv: {len(CITY):,} visits of 120 users",
        "dropped: 2 rows (unreadable time: 1, latitude out of range: 1)",
        "clocks: UTC+01:00",
        "periods: 8 weeks from 2024-01-01: 7 to learn from, 1 to test on",
        "frequent place: ",
        "wanted (α): ",
        "every symbol was drawn from one of them",
    ):
        assert said in result.stdout
    table = result.stdout.splitlines()[-9:]
    assert table[0].split()[0] == "method"
    assert [line.split()[0] for line in table[1:]] == [
        *("none", "random", "laplace", "laplace-posterior", "algorithm-1", "algorithm-2", "crowdveil"),
        "crowdveil-known",
    ]
    assert table[1].endswith(" no")
    assert "nan" not in result.stdout
    assert "WARNING" not in result.stderr


def test_a_folder_takes_results_pictures_and_a_report(compare: Compare) -> None:
    result = compare(*CAMPAIGN, "--out", "a/found", "--densest", "2")
    assert result.exit_code == 0, result.stderr
    assert sorted(os.listdir("a/found")) == [
        *("comparison.png", "comparison.svg", "estimate.png", "estimate.svg", "hit.png", "hit.svg"),
        *("report.html", "results.json"),
    ]
    report = Path("a/found/report.html").read_text(encoding="utf-8")
    assert "visits.csv" in report
    assert "dropped" in report
    assert [record["targets"] for record in json.loads(Path("a/found/results.json").read_text())] == [2] * 4


def test_without_a_campaign_among_the_methods_there_are_no_maps(compare: Compare) -> None:
    assert compare("--methods", "none,random", "--out", "found").exit_code == 0
    assert sorted(os.listdir("found")) == ["comparison.png", "comparison.svg", "report.html", "results.json"]


def test_csv_and_parquet_of_the_same_visits_give_the_same_results(compare: Compare) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (FROM read_csv('visits.csv', all_varchar = true)) TO 'visits.parquet' (FORMAT parquet)"
        )
    for data in ("visits.csv", "visits.parquet"):
        assert compare(*ONE_ROUND, "--out", data.partition(".")[2], data=data).exit_code == 0
    assert Path("csv/results.json").read_bytes() == Path("parquet/results.json").read_bytes()


def test_columns_may_have_other_names(compare: Compare) -> None:
    plain = json.loads(compare("--json").stdout)
    text = Path("visits.csv").read_text()
    Path("visits.csv").write_text(text.replace(HEADING, "who,when,lat,lon\n"))
    refused(compare(), "visits.csv", "no column 'user'", "who, when, lat, lon")
    columns = ("--user-column", "who", "--time-column", "when", "--latitude-column", "lat", "--longitude-column", "lon")
    assert json.loads(compare("--json", *columns).stdout) == plain


def test_json_is_one_object_with_every_record(compare: Compare) -> None:
    found = json.loads(compare(*CAMPAIGN, "--json").stdout)
    assert found["visits"] == len(CITY)
    assert found["dropped"] == {}
    assert (found["train"], found["test"]) == (7, 1)
    assert [record["method"] for record in found["comparison"]] == ["none", "crowdveil", "laplace", "random"]
    assert 0 < found["users_with_a_frequent_place"] <= 120


def test_targets_may_be_cells_or_places_of_a_given_area(compare: Compare) -> None:
    grid = Grid.from_bounds(47.98, 10.97, 48.02, 11.03, cell_km=1.0)
    grid.save("area.json")
    latitude, longitude = grid.centres()
    cells = json.loads(compare("--area", "area.json", "--targets", "7,12", *ONE_ROUND, "--json").stdout)
    text = "; ".join(f"{latitude[cell]}, {longitude[cell]}" for cell in (7, 12))
    places = json.loads(compare("--area", "area.json", "--targets", text, *ONE_ROUND, "--json").stdout)
    assert places["targets"] == cells["targets"] == [7, 12]
    assert places["comparison"] == cells["comparison"]
    assert [place["cell"] for place in places["places"]] == [7, 12]
    assert cells["area_digest"] == grid.digest
    assert cells["left_out"]["outside of the area"] > 0


def test_days_weekdays_and_a_start_cut_other_periods(compare: Compare) -> None:
    days = compare("--period", "day", "--delta", "0.2", "--train", "20", "--test", "5", "--start", "2024-01-06")
    assert "periods: 25 days from 2024-01-06: 20 to learn from, 5 to test on" in days.stdout
    weekdays = compare("--period", "day", "--weekdays-only", "--delta", "0.2")
    assert "periods: 40 weekdays from 2024-01-01: 36 to learn from, 4 to test on" in weekdays.stdout
    assert "visits on a weekend" in weekdays.stdout
    weeks = compare("--weekdays-only", "--start", "2024-01-08")
    assert "periods: 7 weeks without weekends from 2024-01-08" in weeks.stdout


def test_call_logs_are_read_with_their_towers(compare: Compare) -> None:
    towers = [(48.0 + 0.012 * (n // 5 - 2), 11.0 + 0.018 * (n % 5 - 2)) for n in range(25)]
    Path("towers.csv").write_text("id,lat,lon\n" + "".join(f"{n},{a},{b}\n" for n, (a, b) in enumerate(towers)))
    centres = np.array(towers)
    apart = np.hypot(CITY.latitude[:, None] - centres[:, 0], CITY.longitude[:, None] - centres[:, 1])
    calls = zip(CITY.user, CITY.utc_s, apart.argmin(axis=1), strict=True)
    Path("calls.csv").write_text("".join(f"{user},{utc_s},{tower}\n" for user, utc_s, tower in calls))
    options = ("--format", "calls", "--towers", "towers.csv", "--zone", "Europe/Berlin", "--keep", "duplicates")
    result = compare(*options, data="calls.csv")
    assert result.exit_code == 0, result.stderr
    assert f"calls.csv: {len(CITY):,} visits of 120 users" in result.stdout
    refused(compare("--format", "calls", data="calls.csv"), "--towers is missing")


def test_without_data_it_simulates_a_synthetic_city(compare: Compare) -> None:
    result = compare("--methods", "none,random", data=None)
    assert result.exit_code == 0, result.stderr
    assert "traces: A synthetic city: " in result.stdout
    assert "certified: nothing" in result.stdout


def test_users_in_several_time_zones_are_counted(compare: Compare) -> None:
    text = Path("visits.csv").read_text()
    Path("visits.csv").write_text(text.replace("+01:00", "-05:00", 300))
    clocks = next(line for line in compare().stdout.splitlines() if line.startswith("clocks: "))
    assert f"2 offsets: UTC+01:00 ({len(CITY) - 300:,} visits), UTC-05:00 (300 visits)" in clocks
    assert "2 offsets" not in compare("--zone", "Europe/Berlin").stdout


# --- less than hoped for ---------------------------------------------------------------------------------------


def test_targets_that_nobody_visits_are_warned_of_and_covered_by_nobody(compare: Compare) -> None:
    Grid.from_bounds(47.97, 10.96, 48.10, 11.04, cell_km=1.0).save("area.json")
    result = compare("--area", "area.json", "--targets", "48.095:11.0", *ONE_ROUND, "--json")
    assert result.exit_code == 0
    assert "nobody was at a target (cell " in result.stderr
    assert "is anybody's frequent place" in result.stderr
    assert {record["value"] for record in json.loads(result.stdout)["comparison"]} == {0.0}


def test_periods_without_data_are_warned_of(compare: Compare) -> None:
    there = CITY.where((CITY.local_s < 1_704_067_200 + 42 * 86_400) | (CITY.local_s >= 1_704_067_200 + 49 * 86_400))
    Path("visits.csv").write_text(HEADING + "".join(lines(there)))
    result = compare("--test", "2")
    assert result.exit_code == 0
    assert "WARNING: 1 of 2 periods to test on have no visit at all (numbers 6)." in result.stderr
    emptied = compare("--train", "6", "--test", "1")
    assert "WARNING: nobody was at a target" in emptied.stderr


def test_an_area_that_holds_few_of_the_visits_is_warned_of(compare: Compare) -> None:
    Grid.from_bounds(48.0, 11.0, 48.02, 11.05, cell_km=1.0).save("area.json")
    assert "visits lie outside of the area" in compare("--area", "area.json", "--rounds", "1").stderr


def test_a_training_that_can_choose_no_half_life_says_so(compare: Compare) -> None:
    result = compare("--train", "1", "--test", "1", "--profile", "recency")
    assert result.exit_code == 0
    assert "half-life infinite: the training periods cannot choose one" in result.stdout


def test_a_single_week_to_learn_from_makes_nobody_a_regular_visitor(compare: Compare) -> None:
    refused(compare("--train", "1", "--test", "1"), "delta = 0.5", "the highest probability is 0.")


# --- how many are wanted, and grades -----------------------------------------------------------------------------


def test_a_share_is_one_of_everyone_and_a_number_gives_the_same(compare: Compare) -> None:
    by_share, by_number = (compare(*one, *ONE_ROUND, "--json") for one in (("--share", "0.1"), ("--wanted", "12")))
    assert by_share.exit_code == 0, by_share.stderr
    assert json.loads(by_share.stdout)["comparison"] == json.loads(by_number.stdout)["comparison"]
    assert "wanted (α): 12: 0.1 of everyone" in compare("--wanted", "12").stdout


def test_people_who_are_wanted_and_not_found_count_as_never_there(compare: Compare) -> None:
    few, all_of_them = (
        json.loads(compare("--wanted", one, "--methods", "none", "--json").stdout) for one in ("60", "120")
    )
    (one,), (other,) = few["comparison"], all_of_them["comparison"]
    assert one["selected"] == 1
    assert other["selected"] < 1
    assert other["value"] < one["value"]


def test_thresholds_divide_the_grades_of_our_methods(compare: Compare) -> None:
    usual = compare("--methods", "crowdveil-known")
    assert "how regular a visitor is (3 grades, divided at 0.5, 0.2; ε₁ = 2.07" in usual.stdout
    two = compare("--methods", "crowdveil-known", "--lower-deltas", "none", "--grade-epsilon", "ln64")
    assert "(2 grades, divided at 0.5; ε₁ = 4.15" in two.stdout
    four = json.loads(compare("--methods", "crowdveil-known", "--lower-deltas", "0.35,0.2", "--json").stdout)
    assert four["thresholds"] == [0.5, 0.35, 0.2]
    low = json.loads(compare("--methods", "crowdveil-known", "--delta", "0.2", "--json").stdout)
    assert low["thresholds"] == [0.2]


# --- bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--format", "gps"), ("--format", "'gps'", "foursquare")),
        (("--profile", "mean"), ("--profile", "'mean'")),
        (("--rule", "best"), ("--rule", "'best'")),
        (("--period", "month"), ("--period", "'month'")),
        (("--methods", "none,magic"), ("methods = 'magic'", "crowdveil-known")),
        (("--methods", "none,none"), ("methods = 'none'", "twice")),
        (("--methods", ","), ("methods", "one or more")),
        (("--rounds", "121"), ("rounds = 121", "users who have a frequent place")),
        (("--rounds", "0"), ("rounds = 0", "at least 1")),
        (("--rounds", "six"), ("rounds = 'six'", "whole number")),
        (("--share", "1.5"), ("share = 1.5", "at most 1", "only who reports is selected")),
        (("--share", "0"), ("share = 0.0", "above 0")),
        (("--wanted", "0"), ("wanted = 0", "at least 1")),
        (("--wanted", "121"), ("wanted = 121", "at most the 120 users")),
        (("--wanted", "3", "--share", "0.1"), ("share = '0.1'", "can't be combined with --wanted")),
        (("--lower-deltas", "0.5"), ("thresholds", "falling")),
        (("--lower-deltas", "0.1,0.3"), ("thresholds", "falling")),
        (("--lower-deltas", "few"), ("lower_deltas = 'few'",)),
        (("--seeds", "0"), ("seeds = 0", "from 1")),
        (("--confidence", "1"), ("confidence = 1.0", "between 0 and 1")),
        (("--delta", "1"), ("delta = 1.0", "below 1")),
        (("--period", "day", "--delta", "0.99999"), ("delta = 0.99999", "the highest probability is 0.")),
        (("--epsilon-per-km", "0"), ("epsilon_per_km = 0.0", "above 0")),
        (("--epsilon-per-km", "much"), ("epsilon_per_km = 'much'", "ln4")),
        (("--targets", "3", "--densest", "2"), ("densest = '2'", "can't be combined with --targets")),
        (("--targets", "100000"), ("targets = 100000",)),
        (("--targets", "0.5, 0.5"), ("targets = ['place 1']", "should lie in a cell")),
        (("--targets", "nowhere"), ("targets = 'nowhere'",)),
        (("--keep-apart",), ("--keep-apart", "applies only to --targets")),
        (("--densest", "0"), ("densest = 0", "from 1 to")),
        (("--densest", "5000"), ("densest = 5000", "from 1 to")),
        (("--start", "tomorrow"), ("start = 'tomorrow'", "2024-01-31")),
        (("--start", "2031-01-01"), ("0 full weeks from 2031-01-01 to 2024-02-25", "at least 2")),
        (("--test", "8"), ("test = 8", "at most 7 of 8")),
        (("--train", "8"), ("train + test = 9", "at most 8, the number of periods")),
        (("--train", "0"), ("train = 0", "at least 1")),
        (("--cell-km", "100"), ("cell_km = 100.0", "puts all positions into one cell")),
        (("--cell-km", "0"), ("cell_km = 0.0",)),
        (("--cell-km", "0.02", *CAMPAIGN), ("cells = ", "laplace: at most 3,000", "make cells larger")),
        (("--zone", "Mars/Crater"), ("zone = 'Mars/Crater'", "Europe/Berlin")),
        (("--towers", "towers.csv"), ("towers.csv", "not found")),
        (("--format", "snap", "--user-column", "id"), ("user_column = 'id'", "tables")),
        (("--methods", "foo"), ("methods = 'foo'", "should be some of none, random")),
        (("--area", "nowhere.json"), ("nowhere.json", "No such file")),
        (("--area", "visits.csv"), ("visits.csv",)),
        (("--out", "visits.csv"), ("out = 'visits.csv'", "name a folder")),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    compare: Compare, arguments: tuple[str, ...], said: tuple[str, ...]
) -> None:
    refused(compare(*arguments), *said)


def test_a_picture_is_not_text(compare: Compare) -> None:
    Path("picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    refused(compare(data="picture.png"), "picture.png: is not text")


def test_options_of_files_are_refused_without_a_file(compare: Compare) -> None:
    for option, value in (("--format", "snap"), ("--zone", "Europe/Berlin"), ("--time-column", "t")):
        refused(compare(option, value, data=None), value, "applies only to --data")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ("bad.csv: contains no rows", "user, time, latitude, longitude")),
        (HEADING, ("bad.csv: contains no rows",)),
        (HEADING + "a,2024-01-01T10:00:00Z,121.5,31.2\n", ("none of 1 rows can be used", "swapped?")),
        (HEADING + "a,never,31.2,121.5\n", ("none of 1 rows can be used (unreadable time: 1)",)),
        (HEADING + "a,2024-01-01T10:00:00Z,31.2,121.5\n", ("1 to 2024-01-01", "at least 2")),
        (
            HEADING + "".join(f"a,2024-01-{day:02}T10:00:00Z,31.{day},121.5\n" for day in range(1, 15)),
            ("users = 1", "two or more"),
        ),
        (
            HEADING + "".join(f"{day % 2},2024-01-{day:02}T10:00:00Z,{6 * day},-{12 * day}\n" for day in range(1, 15)),
            ("too far apart for one grid", "make an area and pass it"),
        ),
    ],
)
def test_traces_without_a_crowd_are_refused(compare: Compare, text: str, said: tuple[str, ...]) -> None:
    Path("bad.csv").write_text(text)
    refused(compare(data="bad.csv"), *said)


def test_a_file_that_is_not_there_is_refused(compare: Compare) -> None:
    refused(compare(data="nowhere.csv"), "nowhere.csv", "not found")


def test_an_area_elsewhere_is_refused_and_both_places_are_named(compare: Compare) -> None:
    Grid.from_bounds(40.7, -74.0, 40.74, -73.95).save("new-york.json")
    refused(compare("--area", "new-york.json"), "no visit lies in it", "40.7", "48.0", "degrees of latitude")


def test_swapped_coordinates_that_the_numbers_cannot_show_are_seen_against_the_area(compare: Compare) -> None:
    Path("swapped.csv").write_text(HEADING + "".join(lines(CITY, swapped=True)))
    Grid.from_bounds(47.95, 10.93, 48.05, 11.07).save("area.json")
    refused(compare("--area", "area.json", data="swapped.csv"), "are latitude and longitude swapped?")


def test_bare_points_are_no_area_for_traces(compare: Compare, run: Run) -> None:
    Path("points.csv").write_text("x_km,y_km\n0,0\n1,0\n")
    assert run("area", "points", "points.csv", "--out", "points.json").exit_code == 0
    refused(compare("--area", "points.json"), "has no latitude and longitude")


# --- several files, and clocks ------------------------------------------------------------------------------------


def test_files_that_overlap_are_read_together_and_counted_once(compare: Compare) -> None:
    whole = json.loads(compare("--json").stdout)
    rows = list(lines(CITY))
    Path("exports").mkdir()
    Path("exports/early.csv").write_text(HEADING + "".join(rows[::2] + rows[1::4]))
    Path("exports/late.csv").write_text(HEADING + "".join(rows[1::2]))
    both = ("--data", "exports/early.csv", "--data", "exports/late.csv")
    for source in (both, ("--data", "exports"), ("--data", "exports/*.csv")):
        result = compare("--json", *source, data=None)
        assert result.exit_code == 0, result.stderr
        found = json.loads(result.stdout)
        assert (found["visits"], found["users"]) == (whole["visits"], whole["users"])
        assert found["dropped"] == {"same user, time and place again": len(rows[1::4])}
        assert "that an earlier file has too" in result.stderr
    assert "traces: early.csv, late.csv: " in compare(*both, data=None).stdout


def test_the_clock_of_times_without_an_offset_has_to_be_said_with_a_zone(compare: Compare) -> None:
    text = Path("visits.csv").read_text()
    Path("visits.csv").write_text(text.replace("+01:00,", ","))
    zone = ("--zone", "Europe/Berlin")
    refused(compare(*zone), "--clock is missing", "visits.csv", "state no offset from UTC", "'local'", "'utc'")
    for clock, shown in (("local", "UTC+01:00"), ("utc", "UTC+01:00")):
        assert shown in compare(*zone, "--clock", clock).stdout
    assert compare().exit_code == 0
    refused(compare("--clock", "local"), "--zone is missing", "Europe/Berlin")
    refused(compare("--clock", "local", data=None), "clock = 'local'", "applies only to --data")
    refused(compare("--clock", "utc", "--format", "gpx"), "clock = 'utc'", "applies only to tables")


def test_an_empty_name_of_a_file_is_refused(compare: Compare) -> None:
    refused(compare(data=""), "data = ''", "should name a file")

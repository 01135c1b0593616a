"""`crowdveil profile`: what it says, what it refuses, and what it asks to be installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.helpers import Run, refused

ROWS = "user,time,latitude,longitude\n" + "".join(
    f"{user},{1_720_087_200 + day * 86_400},{40.705 + user / 100},-73.985\n" for user in range(3) for day in range(20)
)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    path = tmp_path / "fixes.csv"
    path.write_text(ROWS + "x,1720087200,91,0\nshort\n")
    return path


def test_it_says_what_was_counted_and_writes_it(run: Run, area: Path, traces: Path) -> None:
    asked = ("profile", "--traces", traces, "--area", area, "--out", "out")
    result = run(*asked)
    assert result.exit_code == 0, result.stderr
    assert "fixes: 60 counted in 25 cells" in result.stdout
    assert "left out: latitude out of range: 1, wrong number of fields: 1" in result.stdout
    assert "periods: 4 weeks from 2024-07-01, the first 4 to learn from" in result.stdout
    assert "people: 3, of whom 3 have a frequent place (δ = 0.5)" in result.stdout
    assert "Written to out: visits, profile, places, prior.csv, summary.json." in result.stderr
    again = run(*asked, "--json")
    summary = json.loads(again.stdout)
    assert summary == json.loads(Path("out/summary.json").read_text())
    assert summary["fixes_left_out"] == {"latitude out of range": 1, "wrong number of fields": 1}
    assert (summary["engine"], summary["users_with_a_place"]) == ("duckdb", 3)
    assert summary["users_with_a_frequent_place"] == 3
    settings = summary["profile_settings"]
    assert (settings["method"], settings["delta"], settings["lower_deltas"]) == ("logistic", 0.5, [0.2])
    assert "(visits, profile, places kept from an earlier run)" in again.stderr
    assert not Path("out/.spill").exists()
    policy = ("--targets", "3", "--epsilon-per-km", "1.4", "--beta", "0.1", "--out", "policy.json")
    assert run("policy", "--area", area, "--prior", "out/prior.csv", *policy).exit_code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--engine", "sparc"), ("engine = 'sparc'", "duckdb, spark")),
        (("--engine", "spark://"), ("engine = 'spark://'",)),
        (("--memory", "much"), ("memory = 'much'", "4GB")),
        (("--memory", "0GB"), ("memory = '0GB'", "at least 10MB")),
        (("--threads", "0"), ("threads = 0", "from 1")),
        (("--threads", "two"), ("threads = 'two'", "whole number")),
        (("--part-gb", "0"), ("part_gb = '0'", "above 0")),
        (("--part-gb", "nan"), ("part_gb = 'nan'", "above 0")),
        (("--part-gb", "inf"), ("part_gb = 'inf'", "above 0")),
        (("--delta", "1.5"), ("delta = 1.5",)),
        (("--method", "recency"), ("--half-life is missing",)),
        (("--half-life", "4"), ("half_life = 4.0", "recency")),
        (("--method", "recency", "--half-life", "0"), ("half_life = 0.0", "above 0")),
        (("--rule", "target-aware"), ("--targets is missing",)),
        (("--rule", "random", "--targets", "3"), ("targets", "target-aware")),
        (("--lower-deltas", "0.6"), ("falling",)),
        (("--rule", "target-aware", "--targets", "25"), ("targets = 25", "0 to 24")),
        (("--start", "July"), ("start = 'July'",)),
        (("--start", "2024-07-06", "--period", "day", "--weekdays-only"), ("start", "should be a weekday")),
        (
            ("--start", "2150-01-01", "--zone", "Europe/Berlin"),
            ("should have a fix in the area", "outside of the periods: 60"),
        ),
        (("--periods", "0"), ("periods = 0", "at least 1")),
        (("--periods", "1000000"), ("periods = 1000000", "from 1 to 100,000")),
        (("--train", "9"), ("train = 9", "at most 4, the number of periods")),
        (("--zone", "Berlin"), ("zone = 'Berlin'", "Europe/Berlin")),
        (("--clock", "local"), ("clock = 'local'", "needs a zone")),
        (("--zone", "UTC", "--offset-column", "latitude"), ("zone = 'UTC'", "together with --offset-column")),
        (("--latitude-column", "lat"), ("fixes.csv: has no column 'lat'", "user, time, latitude")),
        (("--user-column", ""), ("user_column = ''", "should name a column")),
        (("--offset-column", " "), ("offset_column = ' '", "should name a column")),
        (("--towers", "towers.csv"), ("towers = 'towers.csv'", "calls")),
        (("--format", "foursquare", "--clock", "local", "--zone", "UTC"), ("format = 'foursquare'", "tables")),
    ],
)
def test_bad_options_are_named(
    run: Run, area: Path, traces: Path, options: tuple[str, ...], said: tuple[str, ...]
) -> None:
    refused(run("profile", "--traces", traces, "--area", area, "--out", "out", *options), *said)


def test_missing_traces_are_asked_for(run: Run, area: Path) -> None:
    refused(run("profile", "--area", area, "--out", "out"), "--traces is missing")
    refused(run("profile", "--area", area, "--out", "out", "--traces", "*.parquet"), "*.parquet: no file matches")
    refused(run("profile", "--area", area, "--out", "out", "--traces", ""), "traces = ''", "should name a file")
    snap = ("--traces", "", "--format", "snap")
    refused(run("profile", "--area", area, "--out", "out", *snap), "traces = ''", "should name a file")


def test_an_empty_name_is_no_folder(run: Run, area: Path, traces: Path) -> None:
    refused(run("profile", "--traces", traces, "--area", area, "--out", ""), "--out", "should name a folder")


def test_an_address_is_left_to_spark(run: Run, area: Path) -> None:
    for address in ("hdfs://x/y.parquet", "s3://x/y.parquet", "http://x/y.parquet"):
        asked = ("profile", "--traces", address, "--area", area, "--out", "out")
        refused(run(*asked), f"traces = '{address}'", "only Spark reads addresses")


def test_a_published_format_is_read_first_and_what_it_drops_is_counted(run: Run, area: Path, tmp_path: Path) -> None:
    line = "470\t49bb\t4bf5\tCafe\t40.71981\t-73.98\t-240\tTue Apr 03 18:00:09 +0000 2012\n"
    (tmp_path / "nyc.txt").write_text(line * 2 + line.replace("40.7", "140.7"))
    asked = ("profile", "--traces", "nyc.txt", "--format", "foursquare", "--area", area, "--out", "out", "--json")
    for _ in range(2):
        result = run(*asked)
        assert result.exit_code == 0, result.stderr
        summary = json.loads(result.stdout)
        assert (summary["fixes_counted"], summary["users"]) == (1, 1)
        assert summary["fixes_left_out"] == {"exact duplicate": 1, "latitude out of range": 1}
    assert "visits, profile, places kept" in result.stderr
    assert sorted(path.name for path in Path("out").glob("*fixes*")) == ["fixes.json", "fixes.parquet"]


@pytest.mark.parametrize("broken", ["", "[]", "{}", '{"made_from": 1, "dropped": null}'])
def test_a_published_format_is_read_again_where_it_is_not_known_what_was_read(
    run: Run, area: Path, tmp_path: Path, broken: str
) -> None:
    line = "470\t49bb\t4bf5\tCafe\t40.71981\t-73.98\t-240\tTue Apr 03 18:00:09 +0000 2012\n"
    (tmp_path / "nyc.txt").write_text(line * 2)
    (tmp_path / "out").mkdir()
    for name in ("fixes.json", "fixes.parquet"):
        (tmp_path / "out" / name).write_text(broken)
    asked = ("profile", "--traces", "nyc.txt", "--format", "foursquare", "--area", area, "--out", "out", "--json")
    result = run(*asked)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["fixes_left_out"] == {"exact duplicate": 1}


def test_results_may_lie_below_a_folder_of_traces(run: Run, area: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in" / "000" / "Trajectory"
    folder.mkdir(parents=True)
    (folder / "1.plt").write_text("head\n" * 6 + "40.72,-73.98,0,100,45475.5,2024-07-04,12:00:00\n")
    for _ in range(2):
        result = run("profile", "--traces", "in", "--format", "geolife", "--area", area, "--out", "in/out")
        assert result.exit_code == 0, result.stderr
    assert "visits, profile, places kept" in result.stderr


WITHOUT_IBIS = """
import sys
sys.modules["ibis"] = None
from crowdveil.cli import main
main()
"""


def test_what_is_not_installed_is_named_with_the_way_to_install_it(area: Path, traces: Path, tmp_path: Path) -> None:
    asked = ["profile", "--traces", str(traces), "--area", str(area), "--out", str(tmp_path / "o")]
    run = [sys.executable, "-c", WITHOUT_IBIS, *asked]
    result = subprocess.run(run, capture_output=True, text=True, check=False)
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith("crowdveil: profile needs the extra `batch`: pip install 'crowdveil[batch]'")
    assert result.stderr.count("\n") == 1

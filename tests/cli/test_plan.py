"""`crowdveil plan`: what a panel will bring, how many people to ask, a year ahead, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.cli.helpers import Run, refused

POPULATION = "cell,people\n12,4000\n" + "".join(f"{cell},100\n" for cell in range(25) if cell != 12)


@pytest.fixture
def plan(run: Run, area: Path) -> Run:
    """Run `crowdveil plan` for two cells of the small area, of which the population is known."""
    Path("population.csv").write_text(POPULATION)

    def invoke(*arguments: str | Path) -> Result:
        places = () if "--targets" in arguments else ("--targets", "12,3")
        return run("plan", "--area", area, *places, *arguments)

    return invoke


def told(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


HABITS = ("--population", "population.csv", "--regular-share", "0.4", "--outside-share", "0.1", "--drivers", "no")


def test_it_says_who_will_come_in_how_wide_a_range(plan: Run) -> None:
    asked = ("--users", "400", "--each", "8")
    nothing, known = told(plan(*asked, "--json")), told(plan(*asked, *HABITS, "--json"))
    widths = [one["coverage"]["high"] - one["coverage"]["low"] for one in (nothing, known)]
    assert widths[0] > widths[1] > 0
    assert known["selected"]["middle"] == 16
    assert known["possible"][0]["middle"] > 5 * known["possible"][1]["middle"]
    shown = plan(*asked, *HABITS).stdout
    assert "people asked: 400" in shown
    assert "coverage: " in shown
    assert "come of all who answer" in shown


def test_people_who_answer_less_and_drivers_change_what_is_told(plan: Run) -> None:
    asked = ("--users", "400", "--wanted", "10", *HABITS[:-2], "--json")
    all_answer, some = told(plan(*asked)), told(plan(*asked, "--answering", "0.1"))
    assert some["possible"][0]["mean"] < 0.2 * all_answer["possible"][0]["mean"]
    assert (
        told(plan(*asked, "--drivers", "yes"))["coverage"]["mean"]
        > told(plan(*asked, "--drivers", "no"))["coverage"]["mean"]
    )


def test_a_prior_from_an_earlier_panel_tells_more_the_more_reports_it_had(plan: Run) -> None:
    Path("prior.csv").write_text("cell,probability\n" + "".join(f"{cell},0.04\n" for cell in range(25)))
    asked = ("--users", "400", "--wanted", "10", "--prior", "prior.csv", *HABITS[2:], "--json")
    widths = []
    for reports in ("50", "1000000"):
        there = told(plan(*asked, "--prior-reports", reports))["possible"][1]
        widths.append(there["high"] / there["low"])
    assert widths[0] > 1.5 * widths[1]
    assert told(plan(*asked))["possible"][1]["mean"] > 0


def test_it_says_how_many_to_ask_or_what_would_help(plan: Run) -> None:
    asked = ("--targets", "3", "--coming", "3", "--most", "2000", "--epsilon-per-km", "0.1,ln64", *HABITS)
    hopeless, good = told(plan(*asked, "--json"))["options"]
    assert hopeless["people"] is None
    assert good["people"] < 2000
    assert good["chance"] >= 0.8
    shown = plan(*asked)
    assert "no number is enough" in shown.stdout
    assert "A larger ε" in shown.stderr


def test_it_says_which_limit_stands_in_the_way(plan: Run) -> None:
    asked = ("--targets", "3", "--coming", "10", "--epsilon-per-km", "ln2,ln16", *HABITS)
    few = plan(*asked, "--most", "60")
    assert few.exit_code == 0, few.stderr
    assert "Ask more people" in few.stderr
    assert "--most is 60 now" in few.stderr
    assert "medians" in few.stderr
    rows = few.stdout.splitlines()[-2:]
    assert [row.split("  ")[-1] for row in rows] == ["by default", "if owners allow it"]
    capped = plan(*asked[:4], *HABITS, "--most", "20000", "--selected-for-one", "1")
    assert "At most 1 are selected for each one who should come; allow more" in capped.stderr
    assert "--selected-for-one is 1 now" in capped.stderr
    (found,) = told(plan(*asked[:4], *HABITS, "--most", "20000", "--selected-for-one", "1", "--json"))["options"]
    assert (found["limit"], found["within_defaults"], found["selected"]) == ("selected", True, 10)


def test_the_numbers_of_the_list_of_targets_are_used_unless_others_are_given(plan: Run) -> None:
    Path("shops.csv").write_text("cell,number\n3,5\n17,2\n")
    asked = ("--targets", "shops.csv", "--users", "300", *HABITS)
    listed = plan(*asked, "--json")
    assert listed.exit_code == 0, listed.stderr
    assert told(listed)["selected"]["high"] <= 7
    each = plan(*asked, "--each", "6", "--json")
    assert "The numbers of people in the list of targets are not used, because --each is given." in each.stderr
    assert told(each)["selected"]["high"] > 7
    assert "are medians" in plan(*asked).stderr


def test_places_outside_the_area_are_counted_and_said(plan: Run) -> None:
    Path("people.csv").write_text("latitude,longitude,people\n40.72,-73.975,12.5\n40.72,-73.96,0\n10,10,900\n")
    shown = plan("--users", "100", "--wanted", "5", "--population", "people.csv")
    assert "1 of 3 places of people.csv, with 900 people, lie outside of the area." in shown.stderr
    Path("people.csv").write_text("cell,people\n3,-1\n")
    refused(plan("--users", "100", "--wanted", "5", "--population", "people.csv"), "people = '-1'", "0 or more")


def test_it_compares_the_ways_to_answer_a_year_of_campaigns(plan: Run) -> None:
    asked = ("--users", "400", "--wanted", "10", "--weeks", "26", "--campaigns", "26", *HABITS)
    kept, fading = (told(plan(*asked, *more, "--json"))["options"] for more in ((), ("--fading", "0.1")))
    assert kept[0]["kind"] == "panel"
    assert {one["kind"] for one in kept} == {"panel", "fresh", "split"}
    panels = [{one["reports"]: one["mean"] for one in some if one["kind"] == "panel"} for some in (kept, fading)]
    assert panels[1][1] < 0.5 * panels[0][1]
    shown = plan(*asked).stdout
    assert "asked anew each time" in shown
    assert "right after an answer" in shown
    best = kept[0]["first"]
    assert f"{best['middle']:.0%} ({best['low']:.0%} to {best['high']:.0%})" in shown


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ((), ("--users is missing",)),
        (("--users", "100"), ("--wanted is missing",)),
        (("--users", "100", "--wanted", "5", "--each", "3"), ("--wanted is missing",)),
        (("--users", "100", "--wanted", "500"), ("wanted", "from 1 to 100")),
        (("--users", "100", "--each", "51"), ("each = '51'", "should be at most 50, for 2 places and 100 people")),
        (("--users", "9", "--wanted", "5", "--selected-for-one", "2"), ("selected_for_one", "only with --coming")),
        (("--coming", "5", "--users", "100"), ("users", "can't be combined with --coming")),
        (("--users", "100", "--wanted", "5", "--most", "9"), ("most", "applies only with --coming")),
        (("--users", "100", "--wanted", "5", "--epsilon-per-km", "1,2"), ("epsilon_per_km", "one number")),
        (("--users", "100", "--wanted", "5", "--weeks", "9"), ("weeks", "applies only with --campaigns")),
        (("--users", "100", "--wanted", "5", "--campaigns", "9"), ("--weeks is missing",)),
        (("--users", "100", "--wanted", "5", "--regular-share", "2"), ("regular_share", "from 0 to 1")),
        (("--users", "100", "--wanted", "5", "--prior-reports", "2"), ("applies only with --prior",)),
        (
            ("--users", "100", "--wanted", "5", "--prior", "a.csv", "--population", "b.csv"),
            ("can't be combined with --prior",),
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(plan: Run, given: tuple[str, ...], parts: tuple[str, ...]) -> None:
    refused(plan(*given), *parts)

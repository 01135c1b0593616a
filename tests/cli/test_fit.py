"""`crowdveil fit`: constants of the prediction from one's own traces, how they are tested, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from crowdveil.area import Grid
from crowdveil.cli.fit import verdict
from crowdveil.client import HttpTransport, RetryPolicy
from crowdveil.client.participant_client import ParticipantClient
from crowdveil.profile import fit_logistic, logistic, roc
from crowdveil.profile.calibration import calibration
from crowdveil.profile.constants_file import read_constants
from crowdveil.server.local import LocalServer
from crowdveil.simulate.dataset import Dataset, split_periods
from crowdveil.traces import read_traces
from crowdveil.wire import Terms
from tests.cli.helpers import PLAN, Run, campaign_name, refused
from tests.cli.test_compare import CITY, HEADING, lines
from tests.profile.test_constants_file import GOOD

TESTED = ["these constants", "logistic, as shipped", "recency", "poisson", "frequency"]


@pytest.fixture
def fit(run: Run) -> Run:
    """Run `crowdveil fit` on the visits of a small city, in eight weeks."""
    Path("visits.csv").write_text(HEADING + "".join(lines(CITY)))

    def invoke(*arguments: str | Path) -> Result:
        out = () if "--out" in arguments else ("--out", "constants.json")
        data = () if "--data" in arguments else ("--data", "visits.csv")
        return run("fit", *data, *out, *arguments)

    return invoke


def small_city() -> Dataset:
    """The same visits as the command reads them."""
    visits = read_traces("visits.csv")
    periods, split = split_periods(visits, period="week", test=2)
    return Dataset.from_visits(visits, Grid.around(visits, cell_km=1.0), periods, split)


def test_it_writes_the_constants_that_the_library_fits_and_says_how_well_they_do(fit: Run) -> None:
    result = fit("--test", "2")
    assert result.exit_code == 0, result.stderr
    city = small_city()
    fitted = fit_logistic(city.counts, city.split.train)
    document = json.loads(Path("constants.json").read_text())
    assert (document["format"], document["version"]) == ("crowdveil-profile-constants", 1)
    assert document["period"] == "week"
    assert document["constants"] == pytest.approx(fitted.values, abs=6e-5)
    about = {"data": "visits.csv", "start": "2024-01-01", "periods": 6, "users": 120, "cells": len(city.area)}
    assert document["fitted_on"] == about
    assert "data: visits.csv" in result.stdout
    *table, judged = result.stdout.splitlines()[-7:]
    assert judged.startswith("In the test these constants are ")
    assert "than those that phones have and " in judged or "as those that phones have and " in judged
    assert table[0].split("  ")[0] == "profile"
    assert [line.split("  ")[0] for line in table[1:]] == TESTED
    assert "crowdveil campaign create ID --constants constants.json" in result.stderr
    assert read_constants(Path("constants.json"), "week").values == tuple(document["constants"])


def test_every_test_period_is_predicted_from_all_periods_before_it(fit: Run) -> None:
    found = json.loads(fit("--test", "2", "--json").stdout)
    assert found["constants"] == json.loads(Path("constants.json").read_text())["constants"]
    assert [one["profile"] for one in found["tested"]] == TESTED
    city, shipped = small_city(), found["tested"][1]
    first = city.split.test.start
    auc = roc(logistic(city.counts, city.split.train), city.counts, range(first, first + 1), "trained").auc
    assert shipped["auc"] == auc
    weeks = [calibration(logistic(city.counts, range(w)), city.counts, range(w, w + 1)) for w in city.split.test]
    errors = []
    for low in {tenth.low for week in weeks for tenth in week}:
        parts = [tenth for week in weeks for tenth in week if tenth.low == low]
        total = sum(part.predictions for part in parts)
        if total >= 100:
            errors.append(abs(sum(part.predictions * (part.came - part.said) for part in parts)) / total)
    assert shipped["calibration_error"] == pytest.approx(max(errors))


def test_days_are_fitted_on_an_area_of_ones_own(fit: Run) -> None:
    Grid.from_bounds(47.95, 10.93, 48.05, 11.07, cell_km=2.0).save("area.json")
    result = fit("--period", "day", "--area", "area.json", "--start", "2024-01-02", "--train", "40", "--test", "5")
    assert result.exit_code == 0, result.stderr
    document = json.loads(Path("constants.json").read_text())
    assert (document["period"], document["fitted_on"]["periods"]) == ("day", 40)
    assert document["fitted_on"]["start"] == "2024-01-02"
    assert read_constants(Path("constants.json"), "day").period == "day"


def test_too_few_predictions_are_named_instead_of_an_error_of_calibration(fit: Run) -> None:
    few = [line for line in lines(CITY) if int(line.split(",")[0][1:]) < 40]
    Path("visits.csv").write_text(HEADING + "".join(few))
    result = fit("--cell-km", "4")
    assert result.exit_code == 0, result.stderr
    assert "too few predictions" in result.stdout
    found = json.loads(fit("--cell-km", "4", "--json").stdout)
    assert None in [one["calibration_error"] for one in found["tested"]]


def test_what_looks_wrong_in_the_traces_is_left_out_and_said_as_by_compare(fit: Run) -> None:
    clean = fit().stdout
    rows = list(lines(CITY))
    old = [row.replace("2024-", "1970-") for row in rows[:3]]
    swapped = list(lines(CITY, swapped=True))[5:9]
    text = HEADING + "".join([*rows, *rows[10:20], *old, *swapped])
    Path("visits.csv").write_text(text)
    result = fit()
    assert result.exit_code == 0, result.stderr
    assert result.stdout == clean
    for said in ("dates far from all others: 1970", "latitude and longitude exchanged", "do files overlap?"):
        assert said in result.stderr
    kept = fit("--keep", "outlying-dates,duplicates,swapped-coordinates", "--start", "2024-01-01", "--test", "1")
    assert kept.exit_code == 0, kept.stderr
    assert "They are kept, as you asked." in kept.stderr


@pytest.mark.parametrize(
    ("own", "shipped", "poisson", "said"),
    [
        ((0.80, 0.05), (0.75, 0.05), (0.80, 0.05), "better than those that phones have and as good as the profile"),
        ((0.80, 0.05), (0.801, 0.051), (0.9, 0.05), "as good as those that phones have and worse than the profile"),
        ((0.80, None), (0.70, 0.05), (0.80, None), "better than those that phones have and as good as the profile"),
        ((0.80, 0.02), (0.90, 0.05), (0.70, 0.01), "better in calibration but not in the other figure than those"),
    ],
)
def test_the_verdict_compares_with_the_constants_of_phones_and_with_poisson(
    own: tuple[float, float | None],
    shipped: tuple[float, float | None],
    poisson: tuple[float, float | None],
    said: str,
) -> None:
    results = [
        {"profile": name, "auc": auc, "calibration_error": error}
        for name, (auc, error) in (
            ("these constants", own),
            ("logistic, as shipped", shipped),
            ("recency", (0.9, 0.1)),
            ("poisson", poisson),
        )
    ]
    assert said in verdict(results)


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--out", "constants.csv"), ("out = 'constants.csv'", ".json")),
        (("--data", "nowhere.csv"), ("nowhere.csv", "not found")),
        (("--train", "1"), ("at least two periods",)),
        (("--train", "8"), ("train + test = 9", "at most 8, the number of periods")),
        (("--test", "8"), ("test = 8",)),
        (("--period", "month"), ("--period", "'month'")),
        (("--start", "tomorrow"), ("start = 'tomorrow'", "2024-01-31")),
        (("--area", "nowhere.json"), ("nowhere.json", "No such file")),
        (("--area", "a.json", "--cell-km", "1"), ("cell_km = '1'", "can't be combined with --area")),
        (("--cell-km", "0"), ("cell_km = 0.0",)),
        (("--zone", "Mars/Crater"), ("zone = 'Mars/Crater'",)),
    ],
)
def test_what_cannot_be_fitted_is_refused_and_nothing_written(
    fit: Run, arguments: tuple[str, ...], said: tuple[str, ...]
) -> None:
    refused(fit(*arguments), *said)
    assert not Path("constants.json").exists()


def test_too_few_visits_are_refused(fit: Run) -> None:
    few = [line for line in lines(CITY) if int(line.split(",")[0][1:]) < 2]
    Path("visits.csv").write_text(HEADING + "".join(few))
    result = fit("--train", "3", "--test", "1")
    refused(result, "are visited again", "should be at least 50 that are and as many that are not")
    assert not Path("constants.json").exists()


# --- published with a campaign -----------------------------------------------------------------------------------


def announced_terms(server: str, campaign: str) -> Terms:
    with HttpTransport(server) as transport:
        return ParticipantClient(transport, RetryPolicy(), lambda _: None).campaign(campaign).terms


def test_a_campaign_publishes_constants_and_thresholds_in_its_terms(
    fit: Run, run: Run, service: LocalServer, area: Path, request: pytest.FixtureRequest
) -> None:
    assert fit().exit_code == 0
    constants = json.loads(Path("constants.json").read_text())["constants"]
    name = campaign_name(request.node.name)
    thresholds = ("--lower-deltas", "0.35,0.2", "--grade-epsilon", "ln4")
    options = (*PLAN, "--area", area, "--constants", "constants.json", *thresholds)
    made = run("campaign", "create", name, *options, "--json")
    assert made.exit_code == 0, made.stderr
    plan = json.loads(made.stdout)["plan"]
    assert plan["profile_constants"] == constants
    assert plan["lower_deltas"] == [0.35, 0.2]
    assert run("campaign", "start", name).exit_code == 0
    terms = announced_terms(service.url, name)
    assert list(terms.profile_constants or ()) == constants
    assert (terms.thresholds, terms.grades, terms.rule) == ((0.5, 0.35, 0.2), 4, "target-aware")
    assert "how regular a visitor is (4 grades, ε₁ = 1.386" in run("campaign", "status", name).stdout


def test_a_device_predicts_with_the_published_constants(
    run: Run, service: LocalServer, area: Path, request: pytest.FixtureRequest
) -> None:
    days = ("04-29", "05-06", "05-13", "05-20")
    Path("visits.csv").write_text(HEADING + "".join(f"ann,2012-{day}T12:00:00Z,40.72,-73.975\n" for day in days))
    run("device", "create", "--ledger", "mine.ledger")
    for constants, often in (([3.0, *np.zeros(6)], "regularly"), ([-3.0, *np.zeros(6)], "now and then")):
        Path("constants.json").write_text(json.dumps({**GOOD, "constants": constants}))
        name = campaign_name(f"{often} {request.node.name}")
        assert run("campaign", "create", name, *PLAN, "--area", area, "--constants", "constants.json").exit_code == 0
        assert run("campaign", "start", name).exit_code == 0
        told = run(
            "device", "explain", name, "--ledger", "mine.ledger", "--data", "visits.csv", "--today", "2012-05-22"
        )
        assert f"which you visit {often}. " in told.stdout, told.stderr


def test_without_options_a_campaign_has_three_grades_and_no_constants(
    run: Run, service: LocalServer, campaign: str
) -> None:
    terms = announced_terms(service.url, campaign)
    assert (terms.thresholds, terms.profile_constants, terms.rule) == ((0.5, 0.2), None, "target-aware")
    assert terms.grade_epsilon == pytest.approx(np.log(8))


@pytest.mark.parametrize(
    ("options", "thresholds"),
    [(("--lower-deltas", "none"), (0.5,)), (("--delta", "0.2"), (0.2,)), (("--lower-deltas", "0.3"), (0.5, 0.3))],
)
def test_thresholds_may_be_none_or_others(
    run: Run,
    service: LocalServer,
    area: Path,
    request: pytest.FixtureRequest,
    options: tuple[str, ...],
    thresholds: tuple[float, ...],
) -> None:
    name = campaign_name(request.node.name)
    assert run("campaign", "create", name, *PLAN, "--area", area, *options).exit_code == 0
    assert run("campaign", "start", name).exit_code == 0
    assert announced_terms(service.url, name).thresholds == thresholds


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--constants", "nowhere.json"], ("nowhere.json", "cannot be read")),
        (["--constants", "area.json"], ("area.json", "should hold 7 constants")),
        (["--constants", "weekly.json", "--period", "day"], ("are for a week; the campaign predicts a day",)),
        (["--lower-deltas", "few"], ("lower_deltas = 'few'",)),
        (["--lower-deltas", "0.6"], ("lower_deltas should fall",)),
        (["--lower-deltas", "0.1,0.2"], ("lower_deltas should fall",)),
        (["--lower-deltas", "0"], ("lower_deltas",)),
        (["--lower-deltas", "0.19"], ("cannot tell from chance", "δ = 0.19", "give --beyond-default-limits")),
        (["--lower-deltas", "0.4,0.3"], ("how regularly you visit a place", "give --beyond-default-limits")),
        (["--lower-deltas", "0.3", "--clear"], ("lower_deltas = '0.3'", "can't be combined with --clear")),
    ],
)
def test_constants_and_thresholds_that_cannot_be_are_refused(
    run: Run, service: LocalServer, area: Path, options: list[str], said: tuple[str, ...]
) -> None:
    Path("weekly.json").write_text(json.dumps(GOOD))
    refused(run("campaign", "create", "never", "--area", area, *PLAN, *options), *said)

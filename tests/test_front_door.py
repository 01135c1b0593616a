"""The front door: one import, light, with everything that a researcher needs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import math
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import crowdveil as cv
from crowdveil import front_door
from crowdveil.traces import synthetic_visits


def run(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- names ------------------------------------------------------------------------------------------------------


def test_every_public_name_is_there_sorted_once_and_listed() -> None:
    assert len(set(cv.__all__)) == len(cv.__all__)
    for name in cv.__all__:
        assert getattr(cv, name) is not None
        assert name in dir(cv)
    assert cv.Device.__module__ == "crowdveil.client.device"


def test_every_public_function_and_class_has_a_docstring() -> None:
    for name in cv.__all__:
        value = getattr(front_door, name)
        if inspect.isfunction(value) or inspect.isclass(value):
            assert value.__doc__, name


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'crowdveil' has no attribute 'simulation'"):
        cv.simulation  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        front_door.simulation  # noqa: B018
    assert not hasattr(cv, "__path_that_does_not_exist__")


def test_the_version_is_that_of_the_package() -> None:
    assert cv.__version__.split(".")[0].isdigit()


def test_functions_named_like_modules_are_known_to_the_package() -> None:
    modules = {module.name for module in pkgutil.iter_modules(cv.__path__)}
    assert modules & set(cv.__all__) == cv._FUNCTIONS_NAMED_LIKE_MODULES


@pytest.mark.parametrize(
    "before", ["", "import crowdveil.certify, crowdveil.draw", "from crowdveil.draw import draw_many"]
)
@pytest.mark.parametrize("after", ["", "cv.certify; import crowdveil.certify, crowdveil.draw"])
def test_certify_and_draw_are_functions_in_whatever_order_things_are_imported(before: str, after: str) -> None:
    script = f"""
{before}
import crowdveil as cv
{after}
policy = cv.identity(cv.Grid.from_bounds(40.70, -74.02, 40.72, -73.99), None, [0], 1.0)
print(cv.certify(policy).ok, callable(cv.draw))
import crowdveil.certify.checker, sys
print(callable(cv.certify), sys.modules["crowdveil.certify"].certify is cv.certify)
"""
    assert run(script).split() == ["False", "True", "True", "True"]


# --- light ------------------------------------------------------------------------------------------------------

HEAVY = ("matplotlib", "httpx", "pydantic", "ibis", "duckdb", "pyarrow", "pandas", "polars", "narwhals", "fastapi")


def test_the_package_alone_loads_nothing_and_its_names_load_no_extra() -> None:
    script = f"""
import sys
import crowdveil as cv
print([name for name in sys.modules if name == "numpy" or name.startswith("crowdveil.")])
cv.Grid, cv.compare, cv.run_campaign, cv.Visits
print([name for name in {HEAVY} if name in sys.modules])
"""
    assert run(script) == "[]\n[]\n"


def test_a_submodule_can_be_imported_without_the_front_door() -> None:
    script = (
        "import sys; from crowdveil import errors; import crowdveil.area; print('crowdveil.front_door' in sys.modules)"
    )
    assert run(script) == "False\n"


def test_everything_but_drawing_works_without_the_extras() -> None:
    """matplotlib, DuckDB and data frame libraries are made impossible to import."""
    missing = ("matplotlib", "duckdb", "ibis", "pyarrow", "pandas", "polars", "fastapi", "sqlalchemy", "alembic")
    script = f"""
import sys
for name in {missing}:
    sys.modules[name] = None
import crowdveil as cv
visits = cv.synthetic_visits(1, users=60, weeks=6)
result = cv.compare(visits, seeds=1, methods=["none", "crowdveil"], rounds=2)
print(len(result.records), len(result._repr_html_()) > 100)
for broken in (result.plot, lambda: result.save("nowhere"), result.to_frame):
    try:
        broken()
    except cv.CrowdveilError as error:
        print(error)
cv.Device, cv.Operator
"""
    first, *errors = run(script).splitlines()
    assert first == "2 True"
    assert ["crowdveil[plots]" in error for error in errors] == [True, True, False]
    assert "pip install pandas" in errors[2]


# --- examples ---------------------------------------------------------------------------------------------------

WITH_EXAMPLES = (
    "crowdveil",
    "crowdveil.area.geojson",
    "crowdveil.dataframes",
    "crowdveil.extras",
    "crowdveil.front_door",
    "crowdveil.plots.comparison_report",
    "crowdveil.plots.maps",
    "crowdveil.policy.policy",
    "crowdveil.profile.from_visits",
    "crowdveil.profile.profile",
    "crowdveil.simulate.campaign_run",
    "crowdveil.simulate.compare",
    "crowdveil.simulate.comparison",
    "crowdveil.simulate.dataset",
    "crowdveil.traces.frames",
    "crowdveil.traces.read",
    "crowdveil.traces.summary",
    "crowdveil.traces.synthetic_city",
    "crowdveil.traces.visits",
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_in_docstrings_run(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried > 0
    assert failed == 0


# --- journeys ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("journey") / "visits.csv"
    synthetic_visits(5, users=150, weeks=8, radius_km=4.0).to_frame("polars").write_csv(path)
    return path


SETTINGS: dict[str, Any] = {"densest": 2, "epsilon_per_km": math.log(4), "seeds": 2, "methods": ["none", "crowdveil"]}


def test_from_a_csv_to_a_compared_result_in_a_few_lines(csv: Path) -> None:
    visits = cv.read_traces(csv, zone="Europe/Berlin")
    area = cv.Grid.around(visits, cell_km=1.0)
    frame = cv.compare(visits, area, **SETTINGS).to_frame()
    assert frame["method"].to_list() == ["none", "crowdveil"]
    assert (frame["coverage"] > 0).all()  # with seven people wanted, either may be ahead by one of them


def test_the_same_from_a_pandas_and_a_polars_frame_with_the_same_result(csv: Path) -> None:
    from_file = cv.compare(cv.read_traces(csv, zone="Europe/Berlin"), **SETTINGS)
    pandas = cv.Visits.from_frame(pd.read_csv(csv, parse_dates=["time"]), zone="Europe/Berlin", clock="utc")
    polars = cv.Visits.from_frame(pl.read_csv(csv, try_parse_dates=True), zone="Europe/Berlin", clock="utc")
    for visits in (pandas, polars):
        assert cv.compare(visits, **SETTINGS).coverage == from_file.coverage


def test_from_visits_to_profiles_places_and_a_private_campaign(csv: Path) -> None:
    visits = cv.read_traces(csv, zone="Europe/Berlin")
    area = cv.Grid.around(visits, cell_km=1.0)
    profile = cv.profile_visits(visits, area)
    places = cv.choose_places(profile, 0.6, "random", np.random.default_rng(1))
    plan = cv.Plan(area, targets=(0, 1), epsilon_per_km=math.log(4), users=len(places), wanted=5, rounds=2)
    result = cv.run_campaign(plan, places, seed=1)
    assert len(result.selection) <= 5
    assert len(profile.to_frame("pandas")) == len(profile)


def test_what_compare_is_given_is_what_it_uses(csv: Path) -> None:
    visits = cv.read_traces(csv, zone="Europe/Berlin")
    place = (float(visits.latitude[0]), float(visits.longitude[0]))
    area = cv.Grid.from_bounds(47.9, 10.9, 48.1, 11.1, cell_km=2.0)
    told: list[str] = []
    result = cv.compare(
        visits, area, targets=[place, 3], period="day", weekdays_only=True, start="2024-01-02", train=20, test=4,
        delta=0.05, profile="poisson", rule="random", share=0.1, rounds=2, confidence=0.9, seeds=1,
        methods=["random", "none"], name="mine", title="My people", progress=lambda *_: None,
        notify=told.append,
    )  # fmt: skip
    cell = int(area.locate([place[0]], [place[1]])[0])
    assert result.settings.targets == (cell, 3)
    periods = result.dataset.counts.periods
    assert (periods.start.isoformat(), periods.days, periods.weekdays_only, len(periods)) == ("2024-01-02", 1, True, 24)
    assert [record.method for record in result.records] == ["random", "none"]
    assert (result.dataset.name, result.dataset.title) == ("mine", "My people")
    assert result.dataset.facts["traces"].startswith("My people: ")


def test_a_warning_is_a_python_warning_unless_it_is_asked_for() -> None:
    visits = cv.synthetic_visits(5, users=60, weeks=6)
    far = int(np.argmin(np.bincount(cv.Grid.around(visits).locate(visits.latitude, visits.longitude).clip(0))))
    options: dict[str, Any] = {"targets": [far], "methods": ["none"], "seeds": 1, "delta": 0.6}
    with pytest.warns(UserWarning, match="nobody"):
        cv.compare(visits, **options)
    told: list[str] = []
    cv.compare(visits, **options, notify=told.append)
    assert told


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"targets": [1], "densest": 2}, "densest = 2: can't be combined with targets"),
        ({"area": cv.Grid.from_bounds(47.9, 10.9, 48.1, 11.1), "cell_km": 2.0}, "cell_km = 2.0: can't be combined"),
        ({"area": cv.Grid.from_bounds(0.0, 0.0, 0.1, 0.1)}, "no visit lies in it"),
        ({"targets": ["home"]}, r"targets\[0\] = 'home': should be the number of a cell, or \(latitude, longitude\)"),
        ({"targets": [(0.0, 0.0)]}, r"targets\[0\] = '0.0:0.0': lies in no cell of this area"),
        ({"targets": [99_999]}, "targets"),
        ({"densest": 0}, "densest = 0: should be from 1"),
        ({"start": "soon"}, "start = 'soon': should be a day, such as 2024-01-31"),
        ({"period": "month"}, "period = 'month': should be one of week, day"),
        ({"test": 6}, "test = 6: should leave a period to learn from"),
        ({"profile": "mean"}, "profile = 'mean': should be one of frequency, poisson, recency"),
        ({"methods": []}, "methods"),
    ],
)
def test_compare_says_what_would_be_right(options: dict[str, Any], said: str) -> None:
    with pytest.raises(cv.InputError, match=said):
        cv.compare(cv.synthetic_visits(5, users=20, weeks=6), **options)


def test_compare_wants_visits() -> None:
    with pytest.raises(cv.InputError, match="visits = 'str': should be Visits: use read_traces"):
        cv.compare("visits.csv")  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_comparison_is_a_frame_of_any_library(backend: Any) -> None:
    visits = cv.synthetic_visits(5, users=60, weeks=6)
    result = cv.compare(visits, methods=["none", "random"], seeds=2)
    frame = result.to_frame(backend)
    columns = frame.to_pydict() if backend == "pyarrow" else {name: frame[name].to_list() for name in frame.columns}
    assert columns["method"] == ["none", "random"]
    assert columns["coverage"] == [record.value for record in result.records]
    none, random = columns["private_from_epsilon_per_km"]
    assert none is None or math.isnan(none)
    assert random == 0.0
    assert json.dumps(columns["wanted"]) == json.dumps([result.wanted] * 2)

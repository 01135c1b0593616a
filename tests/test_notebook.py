"""Policies, comparisons and certificates show themselves in a notebook."""

from __future__ import annotations

import sys
from base64 import b64decode
from dataclasses import replace
from io import BytesIO
from math import log
from pathlib import Path
from typing import Any

import matplotlib.image
import pytest
from matplotlib.figure import Figure

import crowdveil as cv
from crowdveil.simulate.comparison import ComparisonSettings, compare_methods
from tests.simulate.small import small_dataset

GRID = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=2.0)
POLICY = cv.optimal_policy(GRID, None, [7], epsilon_per_km=log(4), beta=0.1)


@pytest.fixture(scope="module")
def result() -> cv.Comparison:
    dataset = small_dataset()
    methods = ("none", "crowdveil", "random")
    return compare_methods(dataset, ComparisonSettings((int(dataset.densest[0]),), log(4), seeds=2, methods=methods))  # type: ignore[arg-type]


def picture_in(html: str) -> Any:
    data = html.partition("data:image/png;base64,")[2].partition('"')[0]
    return matplotlib.image.imread(BytesIO(b64decode(data)))


def test_a_policy_shows_its_map() -> None:
    html = POLICY._repr_html_()  # type: ignore[attr-defined]
    assert picture_in(html).shape[2] == 4
    assert "<table>" not in html


def test_a_comparison_shows_its_chart_and_its_table(result: cv.Comparison) -> None:
    html = result._repr_html_()  # type: ignore[attr-defined]
    assert picture_in(html).shape[2] == 4
    for record in result.records:
        assert f"{record.value:.1%}" in html


def test_a_certificate_shows_its_verdict_and_escapes_what_it_says() -> None:
    good = cv.certify(POLICY)
    assert "Private" in good._repr_html_()  # type: ignore[attr-defined]
    bad = replace(good, ok=False, cells_ok=False, policy_hash="<script>")
    html = bad._repr_html_()  # type: ignore[attr-defined]
    assert "Not private" in html
    assert "<script>" not in html


def test_plots_are_figures_that_show_themselves_without_pyplot(result: cv.Comparison) -> None:
    for figure in (POLICY.plot(), POLICY.plot(title="Mine"), result.plot()):
        assert isinstance(figure, Figure)
        assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    texts = [text.get_text() for text in POLICY.plot(title="Mine & $5").texts]
    assert "Mine & $5" in texts


def test_drawing_leaves_the_users_settings_alone(result: cv.Comparison) -> None:
    before = dict(matplotlib.rcParams)
    result.plot()
    POLICY._repr_html_()  # type: ignore[attr-defined]
    assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_numbers_are_shown_and_plot_says_what_to_install(
    result: cv.Comparison, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    values: list[Any] = [POLICY, result]
    for value in values:
        html = value._repr_html_()
        assert "crowdveil[plots]" in html
        assert "<table>" in html
        with pytest.raises(cv.MissingExtraError, match=r"pip install 'crowdveil\[plots\]'"):
            value.plot()
    with pytest.raises(cv.MissingExtraError):
        result.save(tmp_path)


def test_saving_writes_what_the_verb_writes(result: cv.Comparison, tmp_path: Path) -> None:
    written = result.save(tmp_path / "a" / "compared")
    assert sorted(written) == sorted(path.name for path in (tmp_path / "a" / "compared").iterdir())
    assert {"results.json", "comparison.png", "comparison.svg", "report.html", "estimate.png", "hit.svg"} <= set(
        written
    )
    report = (tmp_path / "a" / "compared" / "report.html").read_text(encoding="utf-8")
    assert "crowdveil.compare(visits, area, targets=" in report
    result.save(str(tmp_path), command="my own words")
    assert "my own words" in (tmp_path / "report.html").read_text(encoding="utf-8")
    (tmp_path / "file").touch()
    with pytest.raises(cv.InputError, match=r"folder = .*: cannot be written to"):
        result.save(tmp_path / "file")

"""The pictures of a study: what is drawn is what the records say, nothing overlaps, the same bytes every time."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import exp, isclose, log
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.image
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from crowdveil.area import Area, Grid, Hexagons, Towers
from crowdveil.errors import InputError
from crowdveil.plots.charts import draw, map_of_cells
from crowdveil.plots.figure_spec import FigureSpec
from crowdveil.plots.labels import epsilon_name, series_name, written
from crowdveil.plots.style import METHODS, save
from crowdveil.simulate.records import Record
from tests.plots.made_up import bars, calibration, curves, dots, lines, record, spec, waterfall

NEW_YORK = (40.65, -74.03, 40.82, -73.90)
SAMPLES = {
    "bars": (spec("bars"), bars()),
    "lines": (spec("lines", "epsilon_per_km"), lines()),
    "dots": (spec("dots", "rank"), dots()),
    "curves": (spec("curves", "curve", percent=False), curves()),
    "waterfall": (spec("waterfall", "method"), waterfall()),
    "calibration": (spec("calibration", "predicted"), calibration()),
}


def panels_of(figure: Figure) -> list[Any]:
    """Its axes, whose parts matplotlib types too narrowly to ask them for what they show."""
    return list(figure.axes)


def diamonds(axes: Any) -> set[tuple[float, float]]:
    """Where the paper's marks stand."""
    return {
        (float(x), float(y))
        for line in axes.lines
        if line.get_marker() == "D"
        for x, y in zip(*line.get_data(), strict=True)
    }


def words(figure: Figure) -> list[str]:
    """Every text of a figure, its legends' too."""
    return [text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_text()]


# --- numbers ------------------------------------------------------------------------------------------------


def test_bars_are_as_high_as_the_values_with_their_intervals_and_the_papers_marks() -> None:
    figure = draw(spec("bars"), bars())
    assert len(figure.axes) == 2
    for axes, label in zip(panels_of(figure), ("dense target", "sparser target"), strict=True):
        expected = [r for r in bars() if r.label == label]
        assert sorted(bar.get_height() for bar in axes.patches) == sorted(r.value for r in expected)
        assert all(bar.get_y() == 0 for bar in axes.patches)
        drawn = {
            (round(float(low), 12), round(float(high), 12))
            for container in axes.containers
            if isinstance(container, matplotlib.container.ErrorbarContainer)
            for (_, low), (_, high) in container.lines[2][0].get_segments()
        }
        assert drawn == {(round(r.ci_low, 12), round(r.ci_high, 12)) for r in expected}
        assert {y for _, y in diamonds(axes)} == {r.paper for r in expected if r.paper is not None}
        written_above = {text.get_text() for text in axes.texts}
        assert written_above == {f"{100 * r.value:.1f}" for r in expected}
        assert axes.get_ylim()[0] == 0
        assert "30 %" in [text.get_text() for text in axes.get_yticklabels()]


def test_a_bar_has_its_methods_colour_and_the_papers_mark_stands_on_the_right_bar() -> None:
    axes = panels_of(draw(spec("bars"), bars()))[0]
    drawn = {(to_hex(bar.get_facecolor()), bar.get_height()): bar.get_x() + bar.get_width() / 2 for bar in axes.patches}
    expected = [r for r in bars() if r.label == "dense target"]
    assert set(drawn) == {(METHODS[r.method].colour, r.value) for r in expected}
    marks = {y: x for x, y in diamonds(axes)}
    for r in expected:
        if r.paper is not None:
            assert isclose(marks[r.paper], drawn[METHODS[r.method].colour, r.value])


def test_bars_of_one_series_at_several_x_make_groups() -> None:
    found = [record(method, 0.1 * many, targets=many) for method in ("crowdveil", "random") for many in (4, 1, 2)]
    axes = panels_of(draw(spec("bars", "targets"), found))[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "2", "4"]
    heights = [bar.get_height() for bar in sorted(axes.patches, key=lambda bar: float(bar.get_x()))]
    assert heights == pytest.approx([0.1, 0.1, 0.2, 0.2, 0.4, 0.4])


def test_lines_go_through_the_values_in_order_of_x_with_shaded_intervals() -> None:
    axes = panels_of(draw(spec("lines", "epsilon_per_km"), lines()))[0]
    for method in ("crowdveil", "algorithm-2", "random"):
        own = sorted((r for r in lines() if r.method == method), key=lambda r: r.epsilon_per_km or 0.0)
        colour = METHODS[method].colour
        line = next(one for one in axes.lines if one.get_color() == colour and one.get_marker() != "D")
        assert list(line.get_xdata()) == [r.epsilon_per_km for r in own]
        assert list(line.get_ydata()) == [r.value for r in own]
        shade = next(one for one in axes.collections if to_hex(one.get_facecolor()[0]) == colour)
        corners = {(round(x, 9), round(y, 9)) for x, y in shade.get_paths()[0].vertices}
        for r in own:
            assert r.epsilon_per_km is not None
            assert (round(r.epsilon_per_km, 9), round(r.ci_low, 9)) in corners
            assert (round(r.epsilon_per_km, 9), round(r.ci_high, 9)) in corners
    assert diamonds(axes) == {(log(4), 0.217)}
    assert [text.get_text() for text in axes.get_xticklabels()] == ["ln 2", "ln 4", "ln 6", "ln 8"]


def test_dots_have_a_row_for_each_rank_with_small_and_big_ones() -> None:
    axes = panels_of(draw(spec("dots", "rank"), dots()))[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == [str(rank) for rank in range(1, 21)]
    drawn = {
        (round(float(line.get_xdata()[0]), 9), round(float(line.get_ydata()[0])) + 1, line.get_markersize() > 6)
        for line in axes.lines
        if line.get_marker() not in ("None", "", None)
    }
    assert drawn == {(round(r.value, 9), r.extra["rank"], r.offset is None) for r in dots()}


def test_a_mean_of_all_ranks_stands_in_a_panel_of_its_own_on_the_same_axis() -> None:
    mean = record(value=0.2, label="mean of all", extra={"rank": 0})
    figure = draw(spec("dots", "rank"), [mean, *dots()])
    above, below = figure.axes
    assert above.get_xlim() == below.get_xlim()
    assert above.get_position().y0 > below.get_position().y1
    assert [text.get_text() for text in above.get_yticklabels()] == [""]


def test_curves_are_drawn_point_by_point_with_their_area_in_the_legend() -> None:
    axes = panels_of(draw(*SAMPLES["curves"]))[0]
    drawn = {line.get_label(): line for line in axes.lines}
    for r in curves():
        line = drawn[f"{r.method} (AUC {r.value:.3f})"]
        assert list(line.get_xdata()) == r.extra["curve"]["x"]
        assert list(line.get_ydata()) == r.extra["curve"]["y"]
    assert any(list(line.get_xdata()) == [0, 1] and line.get_linestyle() == ":" for line in axes.lines)


def test_steps_of_a_waterfall_lead_from_the_first_value_to_the_last() -> None:
    figure = draw(spec("waterfall", "method"), waterfall())
    for axes, label in zip(panels_of(figure), ("here", "there"), strict=True):
        own = [r for r in waterfall() if r.label == label]
        lost = [r.value for r in own if r.measure == "coverage_lost"]
        first, *steps, last = sorted(axes.patches, key=lambda bar: float(bar.get_x()))
        assert (first.get_y(), first.get_height()) == (0, 0.98)
        level = 0.98
        for bar, value in zip(steps, lost, strict=True):
            assert (bar.get_y(), bar.get_height()) == pytest.approx((min(level, level - value), abs(value)))
            level -= value
        assert (last.get_y(), last.get_height()) == pytest.approx((0, level))
        assert {text.get_text() for text in axes.texts} >= {"98.0", f"{100 * level:.1f}"}
        ends = [
            (round(float(low), 9), round(float(high), 9))
            for container in axes.containers
            if isinstance(container, matplotlib.container.ErrorbarContainer)
            for (_, low), (_, high) in container.lines[2][0].get_segments()
        ]
        # The interval of a loss hangs from the level before it.
        assert (round(0.98 - lost[0] - 0.015, 9), round(0.98 - lost[0] + 0.01, 9)) in ends
    assert {"lost", "gained"} <= set(words(figure))
    assert "gained" not in words(draw(spec("waterfall", "method"), waterfall()[:7]))


def test_a_waterfall_without_steps_is_refused() -> None:
    with pytest.raises(InputError, match="the steps between them"):
        draw(spec("waterfall", "method"), [record("hindsight", 0.9)])


def test_calibration_shows_every_tenth_with_its_count_beside_the_line_of_equals() -> None:
    figure = draw(spec("calibration", "predicted"), calibration())
    for axes, name in zip(panels_of(figure), ("frequency", "poisson", "recency"), strict=True):
        own = [r for r in calibration() if r.label == name]
        assert any(list(line.get_xdata()) == [0, 1] and line.get_linestyle() == ":" for line in axes.lines)
        (line,) = [one for one in axes.lines if len(one.get_xdata()) == 10]
        assert list(line.get_xdata()) == [r.extra["predicted"] for r in own]
        assert list(line.get_ydata()) == [r.value for r in own]
        assert [text.get_text() for text in axes.texts][:3] == ["700k", "117k", "19k"]


def test_several_profiles_in_one_panel_are_told_apart_by_a_legend_instead_of_counts() -> None:
    together = [replace(r, label="a town") for r in calibration()]
    (axes,) = panels_of(figure := draw(spec("calibration", "predicted"), together))
    assert not axes.texts
    assert {"frequency", "poisson", "recency"} <= set(words(figure))


def test_panels_of_one_measure_share_their_axis() -> None:
    figure = draw(spec("bars"), bars())
    assert len({axes.get_ylim() for axes in figure.axes}) == 1


def test_a_logarithmic_axis_shows_every_value() -> None:
    found = [
        record(value=seconds, measure="seconds", paper=450.0, extra={"interval": "quartiles"}) for seconds in (0.1,)
    ]
    figure = draw(spec("bars", percent=False, log=True), found)
    low, high = figure.axes[0].get_ylim()
    assert 0 < low < 0.09
    assert high > 450
    assert figure.axes[0].get_yscale() == "log"
    assert "quartiles" in words(figure)


def test_two_records_at_the_same_spot_are_refused() -> None:
    for chart, x in (("bars", "label"), ("lines", "targets")):
        with pytest.raises(InputError, match="the same spot"):
            draw(spec(chart, x), [record(), record(value=0.1)])  # type: ignore[arg-type]


def test_no_records_and_an_unknown_x_are_refused() -> None:
    with pytest.raises(InputError, match="at least one"):
        draw(spec("bars"), [])
    with pytest.raises(InputError, match="a field of the records"):
        draw(spec("lines", "nothing"), [record()])
    with pytest.raises(InputError, match="should be a number"):
        draw(spec("lines", "offset"), [record(), record("random", 0.02, offset=1)])


# --- words --------------------------------------------------------------------------------------------------


def test_series_are_named_for_people() -> None:
    assert series_name(record("crowdveil")) == "crowdveil (ours)"
    assert series_name(record("algorithm-2")) == "Algorithm 2 as printed"
    assert series_name(record("laplace"), ("profile", "rule")) == (
        "planar Laplace, nearest first, recency, target-aware"
    )
    assert series_name(record("none", rule="random"), ("rule",)) == "no obfuscation, random place"
    assert series_name(record("recency"), ("profile",)) == "recency"


def test_profile_and_rule_are_named_only_where_several_meet() -> None:
    one = draw(spec("lines", "targets"), [record(), record("random", 0.02)])
    assert not any("target-aware" in text for text in words(one))
    mixed = draw(spec("lines", "targets"), [record(), record(profile="poisson", rule="random", value=0.2)])
    assert "crowdveil (ours), poisson, random place" in words(mixed)
    by_panel = [record(label="recency profile"), record(profile="poisson", rule="random", label="poisson profile")]
    titles = [axes.get_title(loc="left") for axes in draw(spec("lines", "targets"), by_panel).axes]
    assert titles == ["recency profile, target-aware", "poisson profile, random place"]


@pytest.mark.parametrize("base", [2, 3, 4, 6, 8, 10, 1000])
def test_an_epsilon_that_is_a_logarithm_is_named_as_one(base: int) -> None:
    assert epsilon_name(log(base)) == f"ln {base}"
    assert epsilon_name(log(base) + 1e-6) == f"{log(base) + 1e-6:.4g}"


def test_other_epsilons_are_numbers() -> None:
    assert epsilon_name(1.0) == "1"
    assert epsilon_name(exp(-20)) == f"{exp(-20):.4g}"


def test_values_are_written_with_one_decimal_of_a_percent_or_three_digits() -> None:
    assert written(0.26349, percent=True) == "26.3 %"
    assert written(0.0123456, percent=False) == "0.0123"
    assert written(2700.0, percent=False) == "2,700"


# --- pictures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SAMPLES)
def test_no_two_texts_overlap_and_none_is_cut_off(kind: str) -> None:
    figure = draw(*SAMPLES[kind])
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    page = figure.bbox
    boxes = []
    for text in figure.findobj(matplotlib.text.Text):
        if text.get_visible() and text.get_text():
            box = text.get_window_extent(canvas.get_renderer())
            assert page.x0 <= box.x0, text
            assert box.x1 <= page.x1, text
            assert page.y0 <= box.y0, text
            assert box.y1 <= page.y1, text
            boxes.append((box, text))
    assert len(boxes) > 5
    for (one, first), (two, second) in combinations(boxes, 2):
        assert first.get_text() == second.get_text() or not one.overlaps(two), (first, second)


@pytest.mark.parametrize("kind", SAMPLES)
def test_the_same_records_give_the_same_bytes(kind: str, tmp_path: Path) -> None:
    pictures = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        pictures.append(save(draw(*SAMPLES[kind]), tmp_path / name, "chart"))
    assert pictures[0] == pictures[1]
    assert (tmp_path / "one" / "chart.svg").read_bytes() == (tmp_path / "two" / "chart.svg").read_bytes()
    assert pictures[0].svg == (tmp_path / "one" / "chart.svg").read_text(encoding="utf-8")
    assert pictures[0].png == (tmp_path / "one" / "chart.png").read_bytes()
    assert "<dc:date>" not in pictures[0].svg


def test_a_png_has_150_dots_per_inch(tmp_path: Path) -> None:
    figure = draw(*SAMPLES["lines"])
    save(figure, tmp_path, "chart")
    height, width = matplotlib.image.imread(tmp_path / "chart.png").shape[:2]
    assert (width, height) == tuple(int(150 * inches) for inches in figure.get_size_inches())


def test_matplotlibs_settings_stay_as_they_were(tmp_path: Path) -> None:
    before = dict(matplotlib.rcParams)
    save(draw(*SAMPLES["bars"]), tmp_path, "chart")
    assert dict(matplotlib.rcParams) == before


def test_dollars_in_a_title_are_no_formula(tmp_path: Path) -> None:
    shown = FigureSpec("a", "From $5 to $6", "", "", "bars", "label", "", "coverage")
    picture = save(draw(shown, [record(label="$1 and $2")]), tmp_path, "chart")
    assert "From $5 to $6" in picture.svg
    assert "$1 and $2" in picture.svg


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        save(draw(*SAMPLES["bars"]), tmp_path / "nowhere", "chart")


@pytest.mark.parametrize("panels", [1, 2, 3, 4, 5, 7])
def test_panels_wrap_after_three(panels: int) -> None:
    found: list[Record] = [record(label=f"panel {number}") for number in range(panels)]
    columns = {round(axes.get_position().x0, 6) for axes in draw(spec("lines", "targets"), found).axes}
    assert len(columns) == {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 7: 3}[panels]


@pytest.mark.parametrize(
    "area",
    [
        Grid.from_bounds(*NEW_YORK),
        Hexagons.from_bounds(*NEW_YORK, resolution=7),
        Towers.from_positions([5.3, 5.32, 5.4, 5.41], [-4.0, -4.02, -4.1, -3.9]),
    ],
)
def test_cells_of_every_area_are_coloured_by_their_values(area: Area, tmp_path: Path) -> None:
    values = np.arange(len(area), dtype=np.float64)
    figure = map_of_cells(area, values, [1, 2], "Visits", "visits")
    cells = panels_of(figure)[0].collections[0]
    assert len(cells.get_paths()) == len(area)
    assert np.array_equal(np.asarray(cells.get_array())[1:], values[1:])
    stars = figure.axes[0].lines[0].get_xydata()
    assert np.allclose(stars, area.xy_m[[1, 2]] / 1000)
    assert "visits" in save(figure, tmp_path, "map").svg


def test_a_map_without_targets_has_no_star_and_wrong_values_are_refused() -> None:
    grid = Grid.from_bounds(*NEW_YORK)
    assert not map_of_cells(grid, np.ones(len(grid)), [], "Visits", "share", percent=True).axes[0].lines
    with pytest.raises(InputError, match="one number for each of the 209 cells"):
        map_of_cells(grid, [1.0], [], "Visits", "visits")

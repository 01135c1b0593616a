"""The map of a policy: written, readable, the same bytes every time."""

from __future__ import annotations

from math import log
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

from crowdveil.area import Area, Grid, Hexagons, Towers
from crowdveil.errors import InputError
from crowdveil.formatting import in_plain_words
from crowdveil.plots.maps import caption, draw_policy
from crowdveil.policy.baselines.identity import identity
from crowdveil.policy.policy import Policy
from crowdveil.policy.solver.stack import panel_policy, policy_per_target

NEW_YORK = (40.65, -74.03, 40.82, -73.90)


def closed_form(area: Area, targets: list[int], epsilon: float = log(4), value: float = 0.263) -> Policy:
    """p = F(max_t (1 - ε d)), F the CDF of the standard Laplace distribution (docs/explanations/mathematics.md)."""
    score = (1 - epsilon * area.distances_km(targets)).max(axis=0)
    tail = np.exp(-np.abs(score)) / 2
    hit = np.rint(np.where(score < 0, tail, 1 - tail) * 2**53).astype(np.int64)
    weights = np.column_stack([hit, 2**53 - hit])
    return Policy(area, epsilon, tuple(targets), weights, value=value, beta=0.171)


@pytest.fixture
def policy() -> Policy:
    return closed_form(Grid.from_bounds(*NEW_YORK), [60, 150])


def test_a_png_decodes_to_a_picture_of_the_maps_shape(policy: Policy, tmp_path: Path) -> None:
    draw_policy(policy, tmp_path / "map.png")
    height, width = matplotlib.image.imread(tmp_path / "map.png").shape[:2]
    assert (width, height) == (1240, 1748)


def test_an_svg_holds_the_caption_as_text(policy: Policy, tmp_path: Path) -> None:
    draw_policy(policy, tmp_path / "map.svg", title="Midtown & $5 coffee")
    text = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert "ε = 1.3863 per km" in text
    assert in_plain_words(policy.epsilon_per_km) in text
    assert "26.30 % of the selected are at a target; 17.10 % of all are selected (β)" in text
    assert f"209 cells · policy {policy.hash[:12]}" in text
    assert "chance of" in text
    assert "being selected" in text
    assert "Midtown &amp; $5 coffee" in text


def test_the_caption_says_what_each_kind_of_policy_yields() -> None:
    grid = Grid.from_bounds(*NEW_YORK)
    each = policy_per_target(grid, None, [60, 150], epsilon_per_km=1.0, betas=[0.02, 0.03])
    low, high = (f"{100 * value:.2f} %" for value in sorted(each.values))
    assert caption(each)[-2].startswith(f"{low} to {high} of those selected for a target are at it; 5.00 % of all are")
    panel = panel_policy(grid, [60, 150, 30], targets=[60, 150], epsilon_per_km=1.0)
    least = 100 * min(panel.weights[60, 0], panel.weights[150, 1]) / panel.total
    assert caption(panel)[-2].startswith(f"regular visitors of a target name it in {least:.2f} % of answers or more; ")


@pytest.mark.parametrize("name", ["map.png", "map.svg", "map.PNG"])
def test_the_same_policy_gives_the_same_bytes(policy: Policy, tmp_path: Path, name: str) -> None:
    written = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        draw_policy(policy, tmp_path / folder / name)
        written.append((tmp_path / folder / name).read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize(
    "area",
    [
        Grid.from_bounds(*NEW_YORK).subset(np.arange(0, 209, 3)),
        Hexagons.from_bounds(*NEW_YORK, resolution=7),
        Towers.from_positions([5.3, 5.32, 5.4, 5.41], [-4.0, -4.02, -4.1, -3.9]),
        Area.from_points_km([[0, 0], [0, 1], [0, 5]]),
        Area.from_points_km([[0, 0], [1, 0]]),
    ],
)
@pytest.mark.parametrize("epsilon", [0.01, log(4), 900.0])
def test_every_kind_of_area_can_be_drawn(area: Area, epsilon: float, tmp_path: Path) -> None:
    draw_policy(closed_form(area, [1], epsilon), tmp_path / "map.svg")
    assert (tmp_path / "map.svg").stat().st_size > 5000


def test_many_regions_become_an_image_inside_the_svg(tmp_path: Path) -> None:
    side = np.arange(75.0)
    area = Area.from_points_km(np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2))
    draw_policy(closed_form(area, [100], 0.2), tmp_path / "map.svg")
    text = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert "<image" in text
    assert "5,625 cells" in text


def test_a_policy_that_gives_places_away_is_not_captioned_as_private(tmp_path: Path) -> None:
    area = Grid.from_bounds(*NEW_YORK, cell_km=3.0)
    policy = identity(area, np.full(len(area), 1 / len(area)), [4], 1.0)
    assert caption(policy)[0] == "Not private"
    draw_policy(policy, tmp_path / "map.png")


def test_a_wrong_ending_and_a_missing_folder_are_named(policy: Policy, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"should end in \.png or \.svg"):
        draw_policy(policy, tmp_path / "map.pdf")
    with pytest.raises(InputError, match="cannot be written"):
        draw_policy(policy, tmp_path / "nowhere" / "map.png")

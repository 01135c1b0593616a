"""What a participant is told about a policy with a symbol for each place, in words that are true for it."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.client.explain import (
    describe_information,
    describe_report,
    describe_symbol,
    information_figures,
    named_cells,
    report_figures,
)
from crowdveil.client.information import information
from crowdveil.profile.place import Place
from crowdveil.vocabulary import NULL

LN4 = log(4)
AREA = cv.Area.from_points_km([(x, y) for x in range(5) for y in range(5)])
GRADED = {"null_epsilon": log(64), "grade_epsilon": log(8)}
PANEL = cv.panel_policy(AREA, epsilon_per_km=LN4)
GRADED_PANEL = cv.panel_policy(AREA, [12, 3, 20], targets=[12, 3], epsilon_per_km=LN4, grades=3, **GRADED)  # type: ignore[arg-type]
FEW = cv.policy_per_target(AREA, None, [12, 3], epsilon_per_km=LN4, betas=[0.02, 0.01])


def about(share: float) -> str:
    return "less than 1 %" if share < 0.01 else f"about {100 * share:.0f} %"


@pytest.mark.parametrize("policy", [PANEL, GRADED_PANEL, FEW])
def test_the_share_of_answers_with_another_place_is_that_of_the_policy(policy: cv.Policy) -> None:
    cells = np.array([-9 if cell is None else cell for cell in named_cells(policy)])
    for cell in (12, 3, 24):
        chances = policy.probabilities(cell)
        share = float(chances[(cells >= 0) & (cells != cell)].sum())
        told = describe_report(policy, Place(cell))
        assert f"In {about(share)} of cases it names a place other than yours." in told
        assert told.startswith("Your phone will answer at random. In ")


def test_the_likeliest_answer_is_named_as_the_campaign_names_its_targets() -> None:
    told = describe_report(PANEL, Place(12))
    assert 'the most likely answer is "near the target in part 12 of the map" (' in told
    assert 'the most likely answer is "near the library" (' in describe_report(PANEL, Place(12), {12: "the library"})
    far = describe_report(FEW, Place(24), {12: "the library"})
    assert "In less than 1 % of cases" in far
    assert 'the most likely answer is "not near a target" (' in far


def test_outside_any_place_that_is_named_is_not_ones_own() -> None:
    cells = named_cells(GRADED_PANEL)
    share = float(GRADED_PANEL.probabilities(NULL)[[cell is not None for cell in cells]].sum())
    told = describe_report(GRADED_PANEL, Place(NULL))
    assert told.startswith("Your phone will answer at random all the same. In ")
    assert f"{about(share)} of cases it names a place. The most likely" in told


def test_a_policy_that_names_no_place_says_nothing_of_places() -> None:
    plain = cv.optimal_policy(AREA, None, [12, 3], epsilon_per_km=LN4, beta=0.1)
    assert "names a place" not in describe_report(plain, Place(12))


@pytest.mark.parametrize("name", ["grade x", "grade 0", "cell x", "place", "constructor"])
def test_a_name_that_means_nothing_is_shown_as_it_is(name: str) -> None:
    assert describe_symbol(name) == name


def test_figures_list_the_likeliest_of_many_symbols_and_count_the_others() -> None:
    figures = report_figures(PANEL, Place(12))
    assert figures.startswith("Symbols to draw from: 'place 12' ")
    assert figures.endswith(", and 21 others.")


@pytest.mark.parametrize("policy", [PANEL, GRADED_PANEL, FEW])
def test_the_bits_of_many_symbols_bound_the_information_under_any_prior(policy: cv.Policy) -> None:
    table = policy.table()
    found = information(policy)
    rng = np.random.default_rng(1)
    for concentration in (0.05, 0.3, 1.0, 10.0):
        for _ in range(20):
            prior = rng.dirichlet(np.full(len(table), concentration))
            joint = prior[:, None] * table
            bits = float((joint * np.log2(table / (prior @ table))).sum())
            assert bits <= found.at_most_bits
    assert found.uniform_bits is not None
    assert found.uniform_bits <= found.at_most_bits < np.log2(policy.symbol_count)
    assert f"at most {found.at_most_bits:.2f} bits" in information_figures(policy)
    questions = f"no more than {np.ceil(10 * found.at_most_bits) / 10:.1f} yes-or-no questions"
    assert questions in describe_information(policy)

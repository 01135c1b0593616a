"""The one place to report."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdveil.errors import InputError
from crowdveil.profile import Profile
from crowdveil.profile.place import (
    Place,
    choose_graded_place,
    choose_graded_places,
    choose_place,
    choose_places,
    how_often,
)
from crowdveil.vocabulary import NULL, Rule

RULES: tuple[Rule, ...] = ("random", "target-aware")


def profile_of(rows: list[dict[int, float]], cells: int = 6) -> Profile:
    flat = [(user, cell, row[cell]) for user, row in enumerate(rows) for cell in sorted(row)]
    user, cell = (np.array([entry[k] for entry in flat], dtype=np.int64) for k in (0, 1))
    return Profile(len(rows), cells, user, cell, np.array([entry[2] for entry in flat]))


def profiles() -> st.SearchStrategy[list[dict[int, float]]]:
    chances = st.sampled_from([0.0, 0.3, 0.7, 0.71, 0.9, 1.0])
    return st.lists(st.dictionaries(st.integers(0, 5), chances, max_size=6), max_size=6)


@pytest.mark.parametrize("rule", RULES)
def test_a_place_is_frequent_only_above_the_threshold(rule: Rule) -> None:
    profile = profile_of([{0: 0.7}, {1: 0.70001}, {}, {2: 0.1, 3: 0.8}])
    assert profile.frequent(0.7).tolist() == [False, True, False, True]
    chosen = choose_places(profile, 0.7, rule, np.random.default_rng(1), targets=[2])
    assert chosen.tolist() == [NULL, 1, NULL, 3]


def test_random_picks_each_frequent_place_equally_often_however_likely_it_is() -> None:
    draws = 30_000
    chosen = choose_places(
        profile_of([{0: 0.99, 2: 0.71, 3: 0.2, 5: 0.8}] * draws), 0.7, "random", np.random.default_rng(7)
    )
    seen = np.bincount(chosen, minlength=6)
    assert seen[[1, 3, 4]].tolist() == [0, 0, 0]
    bound = 4 * sqrt(draws * (1 / 3) * (2 / 3))
    assert (np.abs(seen[[0, 2, 5]] - draws / 3) < bound).all()
    assert bound < 0.05 * draws / 3  # so that a place picked 5 % too often would not pass


def test_target_aware_reports_the_likeliest_frequent_place_that_is_a_target() -> None:
    profile = profile_of([{0: 0.99, 2: 0.75, 4: 0.8}, {2: 0.6, 3: 0.9}, {2: 0.8, 4: 0.8}, {5: 0.1}])
    for seed in range(20):
        chosen = choose_places(profile, 0.7, "target-aware", np.random.default_rng(seed), targets=[4, 2])
        assert chosen.tolist() == [4, 3, 2, NULL]


def test_a_phone_reports_the_likeliest_target_and_of_equal_ones_the_first() -> None:
    for place, expected in (({1: 0.9, 4: 0.8}, 1), ({1: 0.8, 4: 0.9}, 4), ({4: 0.8, 1: 0.8}, 1), ({1: 0.7, 4: 0.8}, 4)):
        assert choose_place({0: 0.99, **place}, 0.7, "target-aware", targets=[4, 1]) == expected


@given(profiles(), st.sampled_from(RULES), st.sets(st.integers(0, 5), min_size=1), st.integers(0, 2**32))
def test_what_is_chosen_is_frequent_and_a_target_where_that_can_be(
    rows: list[dict[int, float]], rule: Rule, targets: set[int], seed: int
) -> None:
    chosen = choose_places(profile_of(rows), 0.7, rule, np.random.default_rng(seed), sorted(targets))
    assert len(chosen) == len(rows)
    for row, cell in zip(rows, chosen.tolist(), strict=True):
        frequent = {place: chance for place, chance in row.items() if chance > 0.7}
        hits = {place: chance for place, chance in frequent.items() if place in targets}
        if not frequent:
            assert cell == NULL
        elif rule == "target-aware" and hits:
            assert (cell, hits[cell]) == (min(p for p in hits if hits[p] == hits[cell]), max(hits.values()))
        else:
            assert cell in frequent


@given(profiles(), st.integers(0, 2**32), st.sets(st.integers(0, 5), min_size=1))
def test_under_one_seed_the_rules_differ_only_where_a_target_decides(
    rows: list[dict[int, float]], seed: int, targets: set[int]
) -> None:
    one, two = (choose_places(profile_of(rows), 0.7, r, np.random.default_rng(seed), sorted(targets)) for r in RULES)
    assert all(b in targets for a, b in zip(one.tolist(), two.tolist(), strict=True) if a != b)
    again = choose_places(profile_of(rows), 0.7, "random", np.random.default_rng(seed))
    assert again.tolist() == one.tolist()


@settings(max_examples=50)
@given(profiles(), st.sampled_from(RULES), st.integers(0, 5))
def test_a_phone_chooses_as_the_study_does_when_both_draw_alike(
    rows: list[dict[int, float]], rule: Rule, number: int
) -> None:
    class Fixed(np.random.Generator):
        def integers(self, _low: int, high: object) -> object:  # type: ignore[override]
            return number % np.asarray(high)

    profile = profile_of(rows)
    study = choose_places(profile, 0.7, rule, Fixed(np.random.PCG64(1)), targets=[1, 4])
    phones = [choose_place(profile.of(u), 0.7, rule, [1, 4], lambda k: number % k) for u in range(len(rows))]
    assert phones == study.tolist()


def test_a_phone_draws_by_the_systems_generator_unless_told_otherwise() -> None:
    seen = {choose_place({0: 0.9, 3: 0.8, 5: 0.2}, 0.7, "random") for _ in range(200)}
    assert seen == {0, 3}
    assert choose_place({}, 0.7, "random") == NULL
    assert choose_place({0: 0.9, 3: 0.8}, 0.7, "target-aware", targets=3) == 3


def test_nobody_and_nothing_are_well_defined() -> None:
    assert choose_places(profile_of([]), 0.7, "random", np.random.default_rng(1)).tolist() == []
    assert choose_places(profile_of([{}, {}]), 0.0, "random", np.random.default_rng(1)).tolist() == [NULL, NULL]


@pytest.mark.parametrize("delta", [1.0, -0.1, nan])
def test_a_threshold_is_a_probability_below_1(delta: float) -> None:
    with pytest.raises(InputError, match="delta"):
        choose_places(profile_of([{0: 0.9}]), delta, "random", np.random.default_rng(1))
    with pytest.raises(InputError, match="delta"):
        choose_place({0: 0.9}, delta, "random")


def test_what_cannot_be_chosen_by_is_refused() -> None:
    profile, generator = profile_of([{0: 0.9}]), np.random.default_rng(1)
    with pytest.raises(InputError, match="rule = 'nearest': should be one of random, target-aware"):
        choose_places(profile, 0.7, "nearest", generator)  # type: ignore[arg-type]
    nothings: tuple[list[int] | None, ...] = (None, [])
    for nothing in nothings:
        with pytest.raises(InputError, match="should be one or more cells"):
            choose_places(profile, 0.7, "target-aware", generator, nothing)
    with pytest.raises(InputError, match="targets = 6"):
        choose_places(profile, 0.7, "target-aware", generator, [6])
    with pytest.raises(InputError, match=r"numpy\.random\.Generator"):
        choose_places(profile, 0.7, "random", 7)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"random_below\(1\) = 1"):
        choose_place({0: 0.9}, 0.7, "random", random_below=lambda k: k)
    with pytest.raises(InputError, match=r"^targets = .*cells are whole numbers"):
        choose_place({0: 0.9}, 0.7, "target-aware", targets=[0.5])
    for chance in (nan, -0.1, 1.0001):
        with pytest.raises(InputError, match=rf"profile\[0\] = {chance}"):
            choose_place({0: chance}, 0.7, "random")
    with pytest.raises(InputError, match=r"profile\[-1\] = 0.5"):
        choose_place({-1: 0.5}, 0.7, "random")


@pytest.mark.parametrize("rows", [[{0: 0.9}], [{0: 0.3}]], ids=["frequent", "occasional"])
def test_graded_places_refuse_targets_that_are_no_cells(rows: list[dict[int, float]]) -> None:
    for wrong in ([6], [0.5]):
        with pytest.raises(InputError, match=r"^targets = "):
            choose_graded_places(profile_of(rows), (0.7,), "target-aware", np.random.default_rng(1), wrong)
    with pytest.raises(InputError, match=r"^targets = "):
        choose_graded_place(rows[0], (0.7,), "target-aware", [0.5])


@settings(max_examples=50)
@given(profiles(), st.sampled_from(RULES), st.integers(0, 5))
def test_everyone_who_was_seen_has_a_place_with_a_grade(rows: list[dict[int, float]], rule: Rule, number: int) -> None:
    class Fixed(np.random.Generator):
        def integers(self, _low: int, high: object) -> object:  # type: ignore[override]
            return number % np.asarray(high)

    profile = profile_of(rows)
    falling = (0.7, 0.4, 0.1)
    cells, grades = choose_graded_places(profile, falling, rule, Fixed(np.random.PCG64(1)), targets=[1, 4])
    regular = choose_places(profile, 0.7, rule, Fixed(np.random.PCG64(1)), targets=[1, 4])
    for user, row in enumerate(rows):
        phone = choose_graded_place(profile.of(user), falling, rule, [1, 4], lambda k: number % k)
        assert phone == Place(cells[user], grades[user])
        seen = {cell: chance for cell, chance in row.items() if chance > 0}
        if not seen:
            assert phone == (NULL, 0)
            continue
        assert phone.grade == sum(row[phone.cell] <= threshold for threshold in falling)
        there = {cell: chance for cell, chance in seen.items() if cell in (1, 4) and chance > 0.1}
        if rule == "target-aware" and there:
            assert phone.cell == min(cell for cell in there if there[cell] == max(there.values()))
        elif regular[user] != NULL:
            assert phone == (regular[user], 0)
        else:
            assert phone.cell == min(cell for cell in seen if seen[cell] == max(seen.values()))


def test_a_target_is_reported_down_to_the_last_threshold_even_if_another_place_is_likelier() -> None:
    place = {2: 0.9, 4: 0.3, 5: 0.2}
    assert choose_graded_place(place, (0.5, 0.2), "target-aware", targets=[4, 5]) == Place(4, 1)
    assert choose_graded_place(place, (0.5, 0.3), "target-aware", targets=[4, 5]) == Place(2, 0)
    assert choose_graded_place(place, (0.5, 0.2), "random", targets=[4, 5]) == Place(2, 0)
    assert choose_graded_place({2: 0.1, 4: 0.15}, (0.5, 0.2), "random") == Place(4, 2)
    assert choose_graded_place({2: 0.0}, (0.7,), "random") == Place(NULL, 0)


def test_a_phone_and_the_study_grade_alike_by_hand() -> None:
    rows = [{1: 0.5, 3: 0.2}, {1: 0.1, 4: 0.4, 5: 0.4}, {2: 0.6, 1: 0.2}, {}, {0: 0.0}, {4: 0.2001, 2: 0.6}]
    expected = [Place(1, 1), Place(4, 1), Place(2, 0), Place(NULL), Place(NULL), Place(4, 1)]
    cells, grades = choose_graded_places(
        profile_of(rows), (0.5, 0.2), "target-aware", np.random.default_rng(1), targets=[4, 1]
    )
    assert list(zip(cells.tolist(), grades.tolist(), strict=True)) == expected
    assert cells.dtype.kind == grades.dtype.kind == "i"
    assert [choose_graded_place(row, (0.5, 0.2), "target-aware", [4, 1]) for row in rows] == expected
    # 0.2 does not exceed the last threshold, so that the likeliest place is reported.
    ties = {5: 0.1, 2: 0.15, 3: 0.15, 1: 0.05}
    assert choose_graded_place(ties, (0.5, 0.2), "random") == Place(2, 2)


def test_without_a_target_among_them_frequent_places_are_drawn_also_with_grades() -> None:
    profile = profile_of([{0: 0.6, 3: 0.9, 4: 0.1}] * 50)
    cells, grades = choose_graded_places(profile, (0.5, 0.2), "target-aware", np.random.default_rng(1), targets=[4])
    assert set(cells.tolist()) == {0, 3}
    assert not grades.any()


def test_words_for_grades_fall_and_the_last_is_that_of_all_further_ones() -> None:
    assert [how_often(grade) for grade in range(6)] == [
        "regularly",
        "occasionally",
        "now and then",
        "rarely",
        "rarely",
        "rarely",
    ]


@pytest.mark.parametrize("thresholds", [(), (0.5, 0.5), (0.2, 0.5), (1.0, 0.5), (0.5, -0.1), (nan,)])
def test_thresholds_fall_and_lie_between_0_and_1(thresholds: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match=r"thresholds|delta"):
        choose_graded_place({2: 0.5}, thresholds, "random")

"""Crowds that agree with what an operator knows, worked out by hand where every draw has a known result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log, log1p, sqrt
from typing import Any, cast

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.arrays import FloatArray
from crowdveil.campaign import Plan, RoundClosed, RoundOpened, State, advance, begin, next_policy
from crowdveil.campaign.knowledge import Knowledge, KnownFrom, PossibleCrowd, possible_crowds
from crowdveil.prior import Round, Smoothness
from crowdveil.prior.log_gaussian import cell_factor
from tests.town import people_around, square_town

TOWN = square_town(4)
CELLS = 16
PLACES = (5, 14)
PRIOR = people_around(TOWN, 3)
CHANCES = (0.7, 0.3, 0.05)
GRADES = 3
PANEL = Plan(TOWN, PLACES, log(4), 400, rounds=1, panel=True, grade_chances=CHANCES)
ONE_GRADE = replace(PANEL, grade_epsilon=None)


@dataclass
class Rigged:
    """A generator of which every draw is known: `normal` of a Gaussian, `part` of the way between two bounds."""

    normal: float = 0.0
    part: float = 0.0
    which: int = 0
    chance: float = 0.9

    def uniform(self, low: float, high: float) -> float:
        return low + self.part * (high - low)

    def standard_normal(self, shape: tuple[int, ...] | None = None) -> Any:
        return self.normal if shape is None else np.full(shape, self.normal)

    def integers(self, number: int) -> int:
        assert number == 4
        return self.which

    def random(self) -> float:
        return self.chance


def crowd(known: Knowledge, plan: Plan = PANEL, places: tuple[int, ...] = PLACES, **draws: Any) -> PossibleCrowd:
    generator = cast("np.random.Generator", Rigged(**draws))
    (one,) = possible_crowds(plan, known, places, 1, generator)
    return one


def logit(share: float) -> float:
    return log(share / (1 - share))


def expit(number: float) -> float:
    return 1 / (1 + exp(-number))


def shares(told: FloatArray | None) -> FloatArray:
    """What is known, each grade on its own, with one in fifty people anywhere; independent of the unit."""
    if told is None:
        return np.full((GRADES, CELLS), 1 / CELLS)
    rows = np.broadcast_to(np.atleast_2d(told), (GRADES, CELLS))
    return np.array([0.98 * row / row.sum() + 0.02 / CELLS if row.any() else [1 / CELLS] * CELLS for row in rows])


def scaled(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def cells_of(one: PossibleCrowd) -> FloatArray:
    """Where the people of each grade are."""
    return scaled(one.prior)


# --- where ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "raised"),
    [
        (Knowledge(), 2.0),
        (Knowledge(PRIOR, "population"), 0.7),
        (Knowledge(40 * PRIOR, "population"), 0.7),
        (Knowledge(PRIOR), 0.0),
        (Knowledge(np.stack([PRIOR, PRIOR[::-1], 0 * PRIOR])), 0.0),
    ],
    ids=["nothing", "inhabitants", "in another unit", "a prior", "a prior with grades"],
)
def test_in_the_middle_people_are_where_they_are_known_to_be_and_more_of_them_at_the_places(
    known: Knowledge, raised: float
) -> None:
    expected = shares(known.shape)
    expected[:, PLACES] *= exp(raised)
    assert cells_of(crowd(known)) == pytest.approx(scaled(expected))


def test_places_that_are_all_cells_are_not_like_others() -> None:
    assert cells_of(crowd(Knowledge(), places=tuple(range(CELLS)))) == pytest.approx(shares(None))


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(
    ("kind", "spread", "raised"),
    [
        ("nothing", (0.8, 2.2), (2.0, 1.3)),
        ("population", (0.3, 1.2), (0.7, 0.6)),
        ("prior", (0.1, 0.6), (0.0, 0.0)),
    ],
)
def test_cells_deviate_together_and_each_alone(
    kind: KnownFrom, spread: tuple[float, float], raised: tuple[float, float], part: float, which: int
) -> None:
    """With every Gaussian number at 1.5, the deviation of a cell is 1.5 σ (√(1-r) of the smooth part + √r)."""
    known = Knowledge() if kind == "nothing" else Knowledge(PRIOR, kind)
    sigma, rough = spread[0] + part * (spread[1] - spread[0]), 0.2 + part * 0.6
    length = (1.0, 2.0, 4.0, 8.0)[which]
    apart = np.linalg.norm(TOWN.xy_m[:, None] - TOWN.xy_m[None], axis=2) / np.abs(np.diff(TOWN.xy_m[:2, 0]))
    covariance = np.exp(-0.5 * (apart / length) ** 2) + 1e-8 * np.eye(CELLS)
    smooth = np.linalg.cholesky(covariance).sum(axis=1)
    grades = np.linalg.cholesky([[1, 0.7, 0.7], [0.7, 1, 0.7], [0.7, 0.7, 1]]).sum(axis=1)
    field = 1.5 * grades[:, None] * (sqrt(1 - rough) * smooth + sqrt(rough))
    expected = np.log(shares(known.shape)) + sigma * field
    expected[:, PLACES] += raised[0] + 1.5 * raised[1]
    found = cells_of(crowd(known, normal=1.5, part=part, which=which))
    assert found == pytest.approx(scaled(np.exp(expected)), rel=1e-4)


@pytest.mark.parametrize("reports", [10, 1000, 100_000])
@pytest.mark.parametrize("part", [0.0, 1.0])
def test_the_more_reports_the_less_cells_deviate_and_the_less_places_are_raised(reports: int, part: float) -> None:
    known = Knowledge(PRIOR, "reports", reports)
    told = shares(PRIOR)
    left = 1 / (1 + 2.0 * 0.03 * reports * told / GRADES)
    root = cell_factor(TOWN, 1.0 * cv.prior.log_gaussian.spacing_km(TOWN), Smoothness(2.0, 1.0, 0.0)).sum(axis=1)
    grades = np.linalg.cholesky([[1, 0.7, 0.7], [0.7, 1, 0.7], [0.7, 0.7, 1]]).sum(axis=1)
    rough = 0.2 + 0.6 * part
    field = grades[:, None] * (sqrt(1 - rough) * root + sqrt(rough))
    expected = np.log(told) + np.sqrt((0.1 + 0.2 * part) ** 2 + 2.0 * left) * field
    expected[:, PLACES] += (2.0 + 1.3) * left[:, PLACES]
    found = cells_of(crowd(known, normal=1.0, part=part, which=1))
    assert found == pytest.approx(scaled(np.exp(expected)), rel=1e-6)


# --- how regularly ----------------------------------------------------------------------------------------------


def levels(one: PossibleCrowd) -> list[float]:
    return [*one.prior.sum(axis=1).tolist(), one.null_share]


def divided(regular: float, other: float, outside: float) -> Any:
    return pytest.approx([regular, (1 - regular) * other, (1 - regular) * (1 - other), outside])


@pytest.mark.parametrize("z", [0.0, 1.0, -2.0])
def test_of_people_of_whom_nothing_is_known_a_third_are_regular_and_a_twentieth_outside(z: float) -> None:
    found = crowd(Knowledge(), normal=z)
    assert levels(found) == divided(expit(-0.6 + 1.6 * z), expit(-0.8 + 0.9 * z), expit(-3.0 + 1.2 * z))


@pytest.mark.parametrize("z", [0.0, 1.0, -2.0])
def test_shares_that_are_told_vary_little(z: float) -> None:
    found = crowd(Knowledge(regular_share=0.4, outside_share=0.1), normal=z)
    assert levels(found) == divided(expit(logit(0.4) + 0.3 * z), expit(-0.8 + 0.9 * z), expit(logit(0.1) + 0.3 * z))
    certain = crowd(Knowledge(regular_share=1.0, outside_share=0.0), normal=z)
    assert levels(certain) == divided(
        expit(logit(1 - 1e-4) + 0.3 * z), expit(-0.8 + 0.9 * z), expit(logit(1e-4) + 0.3 * z)
    )


@pytest.mark.parametrize("z", [0.0, 1.0])
def test_shares_of_grades_are_taken_from_a_shape_that_has_them(z: float) -> None:
    joint = 30 * np.outer([0.5, 0.1, 0.4], PRIOR)
    found = crowd(Knowledge(joint), normal=z)
    assert levels(found) == divided(
        expit(logit(0.5) + 0.3 * z), expit(logit(0.1 / 0.5) + 0.3 * z), expit(-3.0 + 1.2 * z)
    )
    told = crowd(Knowledge(joint, regular_share=0.7), normal=z)
    assert levels(told) == divided(
        expit(logit(0.7) + 0.3 * z), expit(logit(0.1 / 0.5) + 0.3 * z), expit(-3.0 + 1.2 * z)
    )
    only_regular = crowd(Knowledge(np.outer([1.0, 0.0, 0.0], PRIOR)), normal=z)
    assert levels(only_regular) == divided(
        expit(logit(1 - 1e-4) + 0.3 * z), expit(logit(1e-4) + 0.3 * z), expit(-3.0 + 1.2 * z)
    )
    one_row = crowd(Knowledge(PRIOR[None, :]), normal=z)
    assert levels(one_row) == divided(expit(-0.6 + 1.6 * z), expit(-0.8 + 0.9 * z), expit(-3.0 + 1.2 * z))


def test_shares_from_more_reports_vary_less() -> None:
    joint = np.outer([0.5, 0.1, 0.4], PRIOR)
    for reports in (10, 1000):
        unsure = sqrt(0.15**2 + 10 / reports)
        found = crowd(Knowledge(joint, "reports", reports, outside_share=0.2), normal=1.0)
        assert levels(found) == divided(expit(unsure), expit(logit(0.2) + unsure), expit(logit(0.2) + unsure))


def test_without_grades_only_regular_people_have_a_place() -> None:
    found = crowd(Knowledge(regular_share=0.4, outside_share=0.1), plan=ONE_GRADE)
    assert found.prior.shape == (1, CELLS)
    assert found.prior.sum() == pytest.approx(1)
    assert found.null_share == pytest.approx(1 - 0.9 * 0.4)


def test_with_two_grades_all_who_are_not_regular_have_the_second() -> None:
    plan = replace(PANEL, grade_chances=(0.7, 0.1))
    found = crowd(Knowledge(regular_share=0.4), plan=plan)
    assert found.prior.sum(axis=1) == pytest.approx([0.4, 0.6])


# --- who comes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("z", [0.0, 1.0, -2.0])
def test_visitors_come_as_often_as_their_grade_says_the_rarer_the_less_surely(z: float) -> None:
    expected = [expit(logit(w) + (0.2 + 0.7 * (1 - w) ** 4) * z) for w in CHANCES]
    assert crowd(Knowledge(), normal=z).grade_chances == pytest.approx(expected)
    never = replace(PANEL, grade_chances=(1.0, 0.0))
    certain = crowd(Knowledge(), plan=never, normal=z).grade_chances
    assert certain == pytest.approx([expit(logit(1 - 1e-6) + 0.2 * z), expit(logit(1e-6) + 0.9 * z)], rel=1e-6)


@pytest.mark.parametrize("z", [0.0, 1.0])
def test_people_pass_by_now_and_then_and_those_who_cover_the_whole_area_all_the_time(z: float) -> None:
    for known, roams in ((Knowledge(roaming=False), False), (Knowledge(roaming=True), True)):
        for chance in (0.1, 0.9):
            mean, deviation = (4.5, 1.5) if roams else (-0.7, 0.8)
            found = crowd(known, normal=z, chance=chance)
            assert found.passing == pytest.approx(exp(mean + deviation * z))
    assert crowd(Knowledge(), chance=0.199).passing == pytest.approx(exp(4.5))
    assert crowd(Knowledge(), chance=0.2).passing == pytest.approx(exp(-0.7))


def test_nobody_is_certain_to_pass_by() -> None:
    crowded = PossibleCrowd(np.array([[0.98, 0.02]]), 0.0, np.array([0.5]), 1e3)
    come = crowded.coming((0, 1))
    assert come[0].tolist() == pytest.approx([0.5, 0.95, 1 - 0.5 * 0.05])
    assert come[1].tolist() == pytest.approx([0.95, 0.5, 1 - 0.5 * 0.05])
    everyone = PossibleCrowd(np.array([[1.0, 0.0]]), 0.0, np.array([0.5]), 0.01)
    # All people are at place 0; in the limit of a share of 1 a single visit is certain, however small κ is.
    assert everyone.coming((0,))[1, 0] == pytest.approx(1 - exp(0.01 * log(1e-9)), rel=1e-6)
    assert everyone.coming((1,))[0, 0] == 0


def test_everybody_is_drawn_anew() -> None:
    crowds = possible_crowds(PANEL, Knowledge(), PLACES, 5, np.random.default_rng(1))
    assert len(crowds) == 5
    assert len({one.passing for one in crowds}) == len({one.null_share for one in crowds}) == 5
    again = possible_crowds(PANEL, Knowledge(), PLACES, 5, np.random.default_rng(1))
    assert [one.passing for one in again] == [one.passing for one in crowds]
    with pytest.raises(ValueError, match="read-only"):
        crowds[0].prior[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        crowds[0].grade_chances[0] = 1.0


def test_who_is_outside_where_nothing_is_known_is_a_logistic_number() -> None:
    found = [one.null_share for one in possible_crowds(PANEL, Knowledge(), PLACES, 400, np.random.default_rng(2))]
    logits = [log(share) - log1p(-share) for share in found]
    assert np.mean(logits) == pytest.approx(-3.0, abs=0.2)
    assert np.std(logits) == pytest.approx(1.2, abs=0.15)


# --- what is known ----------------------------------------------------------------------------------------------


def test_what_is_not_said_is_not_known() -> None:
    nothing, prior = Knowledge(), Knowledge(PRIOR)
    assert (nothing.known_from, nothing.source, nothing.shape, nothing.reports) == ("nothing", "nothing", None, None)
    assert (nothing.regular_share, nothing.outside_share, nothing.answering, nothing.roaming) == (None, None, 1.0, None)
    assert (prior.known_from, prior.source) == ("prior", "prior")
    assert prior.shape is not None
    with pytest.raises(ValueError, match="read-only"):
        prior.shape[0] = 1.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"known_from": "hearsay"}, "known_from = 'hearsay': should be one of nothing, population, prior, reports"),
        ({"known_from": "prior"}, "known_from = 'prior': should be nothing if and only if no shape is given"),
        (
            {"shape": PRIOR, "known_from": "nothing"},
            "known_from = 'nothing': should be nothing if and only if no shape is given",
        ),
        ({"shape": [0.5, -0.25]}, "shape = -0.25: should be numbers of 0 or more, not all 0"),
        ({"shape": [0.5, float("inf")]}, "shape = inf: should be numbers of 0 or more, not all 0"),
        ({"shape": [0.0, 0.0]}, "shape = 0.0: should be numbers of 0 or more, not all 0"),
        ({"shape": []}, "shape = 0.0: should be numbers of 0 or more, not all 0"),
        ({"shape": ["many"]}, "shape = ['many']: should be an array of numbers"),
        (
            {"shape": PRIOR, "known_from": "reports"},
            "reports = None: should be given if and only if known_from is reports",
        ),
        ({"reports": 5}, "reports = 5: should be given if and only if known_from is reports"),
        (
            {"shape": PRIOR, "known_from": "reports", "reports": 0},
            "reports = 0: should be a whole number, at least 1",
        ),
        ({"regular_share": 1.1}, "regular_share = 1.1: should be a share from 0 to 1"),
        ({"outside_share": -0.1}, "outside_share = -0.1: should be a share from 0 to 1"),
        ({"answering": 0.0}, "answering = 0.0: should be a share above 0, at most 1"),
        ({"answering": 1.1}, "answering = 1.1: should be a share above 0, at most 1"),
    ],
)
def test_what_cannot_be_known_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(cv.InputError) as refused:
        Knowledge(**given)
    assert str(refused.value) == said


def test_certainty_is_knowledge() -> None:
    for share in (0.0, 1.0):
        assert Knowledge(regular_share=share, outside_share=share).regular_share == share
    assert Knowledge(np.eye(CELLS)[3]).source == "prior"
    assert Knowledge(PRIOR, "reports", 1).reports == 1


@pytest.mark.parametrize("shape", [PRIOR[:-1], np.outer([0.5, 0.5], PRIOR), np.ones((3, CELLS + 1))])
def test_a_shape_of_other_cells_or_grades_is_refused(shape: FloatArray) -> None:
    with pytest.raises(cv.InputError) as refused:
        crowd(Knowledge(shape))
    assert str(refused.value) == (
        f"shape = 'shape {shape.shape}': should be of shape (16,) or (3, 16): cells, or grades and cells"
    )


def test_what_a_campaign_taught_is_known_of_its_reports() -> None:
    def after(plan: Plan, rounds: int, nulls: int = 0) -> State:
        state = begin(plan)
        for number in range(rounds):
            policy = next_policy(state)
            counts = np.full(policy.symbol_count, number + 2)
            state = advance(advance(state, RoundOpened(policy)), RoundClosed(Round(policy, counts, nulls)))
        return state

    renewed = after(replace(PANEL, rounds=2), 2)
    known = Knowledge.from_state(renewed)
    assert (known.source, known.reports, known.outside_share) == (
        "reports",
        renewed.closed[1].reports,
        renewed.null_share,
    )
    assert known.shape is not None
    assert known.shape.tolist() == renewed.prior.tolist()
    clear = Plan(TOWN, PLACES, log(4), 400, wanted=9, rounds=2, null_epsilon=None, grade_epsilon=None)
    closed = after(clear, 2, nulls=7)
    known = Knowledge.from_state(closed)
    assert (known.reports, known.outside_share) == (closed.closed[0].reports + closed.closed[1].reports, None)
    with pytest.raises(cv.InputError, match="state = 'no reports': should have a closed round with reports"):
        Knowledge.from_state(begin(clear))

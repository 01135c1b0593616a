"""One simulated campaign."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

import crowdveil as cv
from crowdveil.arrays import IntArray
from crowdveil.errors import InputError, NotPrivateError
from crowdveil.paper.uploads import several_places, simulate_uploads
from crowdveil.simulate import privic, simulation
from crowdveil.simulate.simulation import METHODS, Crowd, Method, coverage_of, simulate
from crowdveil.vocabulary import NULL
from tests.simulate.small import small_dataset

DATASET = small_dataset()
DENSE = (int(DATASET.densest[6]),)


def places(seed: int = 1, delta: float = 0.7) -> IntArray:
    return DATASET.places("recency", "target-aware", delta, DENSE, np.random.default_rng(seed))


def crowd(**more: object) -> Crowd:
    return Crowd(DATASET.area, DENSE, places(), log(4), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_selects_reporters_once_each_and_no_more_than_wanted(method: Method) -> None:
    who = crowd()
    outcome = simulate(who, method, 3)
    assert len(np.unique(outcome.selected)) == len(outcome.selected) <= outcome.wanted == who.wanted
    assert set(outcome.selected.tolist()) <= set(who.reporters.tolist())
    assert outcome.reports == len(who.reporters)


@pytest.mark.parametrize("method", METHODS)
def test_the_same_seed_gives_the_same_selection_and_another_seed_another(method: Method) -> None:
    who = crowd(share_wanted=0.1)
    first, again, other = (simulate(who, method, seed).selected.tolist() for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_without_obfuscation_only_people_at_a_target_are_selected() -> None:
    outcome = simulate(crowd(), "none", 1)
    assert len(outcome.selected) > 0
    assert (places()[outcome.selected] == DENSE[0]).all()


@pytest.mark.usefixtures("refusing_checker")
def test_every_symbol_comes_from_a_certified_policy() -> None:
    """With a checker that refuses everything, no private method can draw at all; the others do not need to."""
    for method in METHODS:
        if method in ("none", "random"):
            simulate(crowd(), method, 1)
        else:
            with pytest.raises(NotPrivateError):
                simulate(crowd(), method, 1)


@pytest.mark.long
def test_ours_finds_far_more_people_at_the_target_than_chance() -> None:
    share = {
        method: np.mean([np.isin(places()[simulate(crowd(), method, s).selected], DENSE).mean() for s in range(30)])
        for method in ("crowdveil", "algorithm-2", "random")
    }
    assert share["crowdveil"] > 3 * share["random"]
    assert share["crowdveil"] > share["algorithm-2"] - 0.1


def test_privic_makes_a_certified_policy_for_what_it_has_learnt_in_every_round() -> None:
    outcome = simulate(crowd(rounds=4), "privic", 1)
    assert outcome.policies == len(outcome.tables) == len(outcome.divergence) == 4
    assert len({policy.hash for policy in outcome.tables}) == 4
    assert all(cv.certify(policy).ok for policy in outcome.tables)
    assert [policy.provenance["method"] for policy in outcome.tables][1:] == ["Blahut-Arimoto"] * 3


def privic_divergences(people: int, steps: int) -> list[float]:
    true = np.random.default_rng(2).dirichlet(np.full(len(DATASET.area), 0.5))
    cells = np.random.default_rng(3).choice(len(true), (4, people), p=true)
    run = privic.run_privic(DATASET.area, list(cells), 4.0, np.random.default_rng(4), steps=steps)
    return [cv.divergence(true, prior) for prior in run.priors]


def test_with_enough_people_and_steps_privic_learns_where_they_are() -> None:
    many = privic_divergences(30_000, 1_000)
    assert many[-1] < many[0]
    assert many[-1] < 0.01


def test_with_the_people_of_a_campaign_privic_learns_more_in_few_steps() -> None:
    few, many = (privic_divergences(100, steps)[-1] for steps in (privic.STEPS, 1_000))
    assert few < many


def test_laplace_is_remapped_before_the_nearest_are_selected() -> None:
    """All but one person live at the target, so that every report near it is taken for one of theirs."""
    far = int(DATASET.area.distances_km(np.array([DENSE[0]]))[0].argmax())
    places = np.full(200, DENSE[0])
    places[7] = far
    who = Crowd(DATASET.area, DENSE, places, log(4), share_wanted=0.5)
    remapped = simulate(who, "laplace-remapped", 1).selected.tolist()
    users = np.random.default_rng([1, 0]).permutation(200).tolist()
    # Nearly everyone is remapped to the target, so who came first is selected, not who drew the least noise.
    assert remapped == [user for user in users if user != 7][:100]
    assert simulate(who, "laplace", 1).selected.tolist() != remapped


def test_coverage_is_the_mean_share_of_test_periods_at_a_target() -> None:
    assert coverage_of(np.array([0, 2]), np.array([0.5, 1.0, 0.0])) == 0.25
    assert coverage_of(np.array([], dtype=np.int64), np.array([0.5])) == 0.0


def test_nobody_to_report_is_said_so() -> None:
    empty = Crowd(DATASET.area, DENSE, np.full(5, NULL), log(4))
    with pytest.raises(InputError, match="nobody has a frequent place"):
        simulate(empty, "crowdveil", 1)


@pytest.mark.parametrize("method", METHODS)
def test_a_single_reporter_is_a_campaign_too(method: Method) -> None:
    alone = Crowd(DATASET.area, DENSE, np.array([NULL, DENSE[0], NULL]), log(4))
    outcome = simulate(alone, method, 1)
    assert set(outcome.selected.tolist()) <= {1}


def test_several_places_are_different_frequent_ones() -> None:
    profile = DATASET.profiles["poisson"]
    columns = several_places(profile, 0.5, "target-aware", DENSE, 3, np.random.default_rng(1))
    frequent = profile.frequent(0.5)
    allowed = set(zip(profile.user[frequent].tolist(), profile.cell[frequent].tolist(), strict=True))
    for user, row in enumerate(columns.tolist()):
        real = [cell for cell in row if cell != NULL]
        assert len(set(real)) == len(real)
        assert all((user, cell) in allowed for cell in real)
        assert row[len(real) :] == [NULL] * (len(row) - len(real))
        assert len(real) == min(3, sum(1 for who, _ in allowed if who == user))


def test_several_uploads_split_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of m reports is drawn at ε/m, so all of them together lose no more than one at ε."""
    seen = []
    real = cv.draw_many

    def watch(policy: cv.Policy, *rest: object) -> IntArray:
        seen.append(policy.epsilon_per_km)
        return real(policy, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(simulation, "draw_many", watch)
    outcome = simulate_uploads(
        DATASET.area,
        DATASET.profiles["poisson"],
        np.random.default_rng(1),
        1,
        targets=DENSE,
        rule="random",
        delta=0.5,
        epsilon_per_km=log(4),
        rounds=3,
        uploads=2,
    )
    assert seen == [log(4) / 2] * 3
    assert len(outcome.selected) == outcome.wanted

"""The planar Laplace baseline: integrated exactly, private at its ε, in ground units."""

from __future__ import annotations

from math import log, pi, sqrt

import numpy as np
import pytest
from pyproj import Geod
from scipy.integrate import dblquad, quad
from scipy.special import k1, lambertw
from scipy.stats import chi2, kstest

from crowdveil.area import Area, Grid, Towers
from crowdveil.arrays import FloatArray
from crowdveil.certify import certify
from crowdveil.errors import InputError
from crowdveil.policy.baselines.laplace import laplace_table, planar_laplace, sample_planar_laplace
from crowdveil.policy.policy import Policy

LN4 = log(4)
NEW_YORK = (40.65, -74.03, 40.82, -73.90)


def square(side: int) -> Area:
    return Area.from_points_km([[x, y] for y in range(side) for x in range(side)])


def uniform(area: Area) -> FloatArray:
    return np.full(len(area), 1 / len(area))


def smallest_epsilon(policy: Policy) -> float:
    """max over i, j, c of ln(P(c|i) / P(c|j)) / d(i,j), by brute force."""
    logs = np.log(policy.weights.astype(np.float64))
    distance = policy.area.distances_km(np.arange(len(policy)))
    np.fill_diagonal(distance, np.inf)
    return max(float(((logs[i] - logs).max(axis=1) / distance[i]).max()) for i in range(len(policy)))


def misfit(counts: FloatArray, chances: FloatArray) -> float:
    """p-value of Pearson's chi-squared test, cells with under ten expected counts taken together."""
    expected = chances * counts.sum()
    rare = expected < 10
    seen = np.append(counts[~rare], counts[rare].sum())
    due = np.append(expected[~rare], max(float(expected[rare].sum()), 1e-9))
    return float(chi2.sf(((seen - due) ** 2 / due).sum(), len(due) - 1))


# --- the integral -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.05, LN4, 20.0])
def test_the_table_equals_adaptive_quadrature(epsilon: float) -> None:
    table = laplace_table(square(5), epsilon)

    def density(y: float, x: float) -> float:
        return float(epsilon**2 / (2 * pi) * np.exp(-epsilon * np.hypot(x, y)))

    def mass(x: tuple[float, float], y: tuple[float, float]) -> float:
        return float(dblquad(density, *x, *y, epsabs=1e-14, epsrel=1e-12)[0])

    assert table[12, 12] == pytest.approx(4 * mass((0, 0.5), (0, 0.5)), abs=1e-13)
    assert table[12, 13] == pytest.approx(2 * mass((0.5, 1.5), (0, 0.5)), abs=1e-13)
    assert table[12, 18] == pytest.approx(mass((0.5, 1.5), (0.5, 1.5)), abs=1e-13)
    assert table[6, 18] == pytest.approx(mass((1.5, 2.5), (1.5, 2.5)), abs=1e-13)
    far = 60 / epsilon
    assert table[12, 24] == pytest.approx(mass((1.5, 1.5 + far), (1.5, 1.5 + far)), abs=1e-9)


def test_two_cells_split_the_plane_at_their_bisector() -> None:
    # The mass beyond a line at distance h: ∫ of the marginal density, which is ε²|x| K₁(ε|x|) / π.
    beyond = quad(lambda x: LN4**2 * x * k1(LN4 * x) / pi, 0.5, np.inf, epsabs=1e-14)[0]
    table = laplace_table(Area.from_points_km([[0.0, 0.0], [0.6, 0.8]]), LN4)
    np.testing.assert_allclose(table, [[1 - beyond, beyond], [beyond, 1 - beyond]], atol=1e-12)


def test_a_single_cell_keeps_everything() -> None:
    assert laplace_table(Area.from_points_km([[3, 4]]), LN4).tolist() == [[1.0]]


def test_cells_on_a_line_have_parallel_walls() -> None:
    line = laplace_table(Area.from_points_km([[i, 2 * i] for i in (3, 0, 1, 2)]), LN4)
    np.testing.assert_allclose(line.sum(axis=1), 1, atol=1e-12)
    straight = laplace_table(Area.from_points_km([[round(i * sqrt(5), 3), 0] for i in (3, 0, 1, 2)]), LN4)
    np.testing.assert_allclose(line, straight, atol=1e-3)
    nearly = laplace_table(Area.from_points_km([[3.0, 6.001], [0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]), LN4)
    np.testing.assert_allclose(line, nearly, atol=1e-3)


@pytest.mark.parametrize("epsilon", [1e-4, 0.1, LN4, 700.0, 1e5, 1e300])
def test_rows_sum_to_one_at_every_scale(epsilon: float) -> None:
    rng = np.random.default_rng(2)
    for area in (square(9), Area.from_points_km(rng.uniform(-300, 300, (70, 2))), square(2)):
        table = laplace_table(area, epsilon)
        np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-12)
        assert (table >= 0).all()


def test_the_table_equals_frequencies_of_two_million_draws_and_rejects_thirty_percent() -> None:
    rng = np.random.default_rng(11)
    area = Area.from_points_km(rng.uniform(0, 6, (40, 2)))
    for source in (0, 17):
        noisy = sample_planar_laplace(np.tile(area.xy_m[source] / 1000, (1_000_000, 1)), LN4, rng)
        counts = np.bincount(area.tree.query(noisy * 1000)[1], minlength=40).astype(np.float64)
        assert misfit(counts, laplace_table(area, LN4)[source]) > 1e-4
        for wrong in (0.7, 1.3):
            assert misfit(counts, laplace_table(area, wrong * LN4)[source]) < 1e-12


# --- privacy ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "area",
    [
        square(7),
        Area.from_points_km([[x, 0] for x in range(12)]),
        Area.from_points_km([[0, 0], [1, 0]]),
        Area.from_points_km(np.random.default_rng(3).uniform(0, 5, (60, 2))),
        Grid.from_bounds(*NEW_YORK, cell_km=2.0),
    ],
)
@pytest.mark.parametrize("epsilon", [0.1, LN4, 8.0])
def test_it_is_private_at_its_epsilon(area: Area, epsilon: float) -> None:
    policy = planar_laplace(area, uniform(area), [0], epsilon)
    assert smallest_epsilon(policy) <= epsilon
    assert certify(policy).ok


def test_it_is_not_private_at_half_its_epsilon() -> None:
    area = square(9)
    policy = planar_laplace(area, uniform(area), [40], LN4)
    assert 0.9 * LN4 < smallest_epsilon(policy) <= LN4
    assert certify(policy).smallest_epsilon_per_km == pytest.approx(smallest_epsilon(policy), rel=1e-6)


def test_towers_metres_apart_stay_private() -> None:
    area = Towers.from_positions([40.7, 40.70001, 40.70002, 40.75], [-74, -74, -74.00001, -74])
    assert area.nearest_neighbour_km < 0.003
    policy = planar_laplace(area, uniform(area), [1], LN4)
    assert smallest_epsilon(policy) <= LN4
    assert certify(policy).ok


@pytest.mark.parametrize("epsilon", [35.0, 700.0, 5000.0, 1e300])
def test_a_huge_epsilon_is_no_obfuscation_up_to_the_mixed_in_share(epsilon: float) -> None:
    area = square(4)
    policy = planar_laplace(area, uniform(area), [5], epsilon)
    np.testing.assert_allclose(policy.table(), np.eye(16), atol=2e-6)
    assert smallest_epsilon(policy) <= epsilon


# --- ground units -------------------------------------------------------------------------------------------


def test_noise_spreads_as_far_north_as_east_on_the_ground_at_new_york() -> None:
    """Others put it on Earth-centred axes: 813 m north-south where √3/ε = 1,249 m is due."""
    plane = Grid.from_bounds(*NEW_YORK).origin
    noisy = sample_planar_laplace(np.zeros((20_000, 2)), LN4, np.random.default_rng(4)) * 1000
    latitude, longitude = plane.to_degrees(noisy[:, 0], noisy[:, 1])
    home = np.broadcast_to(np.array(plane.to_degrees(0.0, 0.0))[:, None], (2, 20_000))
    azimuth, _, distance = Geod(ellps="WGS84").inv(home[1], home[0], longitude, latitude)
    north, east = distance * np.cos(np.radians(azimuth)), distance * np.sin(np.radians(azimuth))
    assert north.std() == pytest.approx(1249.4, rel=0.03)
    assert east.std() == pytest.approx(1249.4, rel=0.03)


def test_the_table_treats_north_and_east_alike() -> None:
    table = laplace_table(Grid.from_bounds(40.65, -74.03, 40.72, -73.94), LN4)
    columns = Grid.from_bounds(40.65, -74.03, 40.72, -73.94).columns
    middle = 3 * columns + 3
    assert table[middle, middle + 1] == pytest.approx(table[middle, middle + columns], abs=1e-14)


# --- the sampler --------------------------------------------------------------------------------------------


def test_the_radius_has_the_law_that_lambert_w_inverts() -> None:
    rng = np.random.default_rng(8)
    radius = np.hypot(*sample_planar_laplace(np.zeros((50_000, 2)), 2.0, rng).T)
    assert kstest(radius, lambda r: 1 - (1 + 2 * r) * np.exp(-2 * r)).pvalue > 1e-4
    quantile = -(np.real(lambertw((0.9 - 1) / np.e, -1)) + 1) / 2.0
    assert np.quantile(radius, 0.9) == pytest.approx(quantile, rel=0.02)


def test_the_sampler_keeps_the_shape_and_refuses_what_is_not_points() -> None:
    rng = np.random.default_rng(0)
    assert sample_planar_laplace([1.0, 2.0], 1.0, rng).shape == (2,)
    assert sample_planar_laplace(np.zeros((3, 4, 2)), 1.0, rng).shape == (3, 4, 2)
    with pytest.raises(InputError, match="xy_km"):
        sample_planar_laplace(np.zeros((4, 3)), 1.0, rng)


# --- as a policy --------------------------------------------------------------------------------------------


def test_value_and_beta_are_those_of_the_prior() -> None:
    area = square(6)
    prior = np.random.default_rng(1).dirichlet(np.ones(36))
    policy = planar_laplace(area, prior, [20, 7], LN4)
    assert policy.selecting == policy.targets == (20, 7)
    assert policy.symbols[:2] == ("0", "1")
    assert policy.symbol_name(20) == "cell 20"
    hit = laplace_table(area, LN4)[:, [7, 20]].sum(axis=1)
    assert policy.beta == pytest.approx(float(prior @ hit), rel=1e-6)
    assert policy.value == pytest.approx(policy.value_under(prior), rel=1e-12)
    assert policy == Policy.from_bytes(policy.to_bytes())


def test_what_cannot_be_a_table_is_refused_with_what_to_do() -> None:
    large = Area.from_points_km(np.column_stack([np.arange(3001), np.zeros(3001)]) / 10)
    with pytest.raises(InputError, match="at most 3,000"):
        planar_laplace(large, uniform(large), [0], LN4)
    near = Area.from_points_km([[0.0, 0.0], [0.001, 0.0], [1.0, 1.0]])
    with pytest.raises(InputError, match="use larger cells"):
        planar_laplace(near, uniform(near), [0], 1e-7)
    with pytest.raises(InputError, match="epsilon_per_km"):
        planar_laplace(near, uniform(near), [0], 0.0)
    with pytest.raises(InputError, match="prior"):
        planar_laplace(near, [1.0], [0], 1.0)

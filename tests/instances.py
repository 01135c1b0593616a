"""Random instances of the problem, for every test that wants hundreds of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from crowdveil import Area, Grid, Hexagons
from crowdveil.arrays import FloatArray


@dataclass(frozen=True, repr=False)
class Instance:
    area: Area
    prior: FloatArray
    targets: list[int]
    epsilon_per_km: float
    beta: float

    @property
    def D(self) -> FloatArray:  # noqa: N802 (the name it has in every formula)
        return self.epsilon_per_km * self.area.distances_km(np.arange(len(self.area)))

    def __repr__(self) -> str:
        kind = f"{type(self.area).__name__} of {len(self.area)}"
        return f"<{kind}, targets {self.targets}, ε {self.epsilon_per_km:.4g}, β {self.beta:.4g}>"


def make_instance(kind: str, cells: int, z: int, epsilon_per_km: float, beta: float, seed: int) -> Instance:
    """An area of about `cells` cells with a lumpy prior of which a tenth or so is zero."""
    generator = np.random.default_rng(seed)
    area: Area
    if kind == "grid":
        side = max(2, round(cells**0.5))
        y, x = np.mgrid[:side, :side]
        area = Area.from_points_km(np.column_stack([x.ravel(), y.ravel()]) * generator.choice([0.25, 0.5, 1.0]))
    elif kind == "hexagons":
        half = 0.0035 * max(2.0, cells**0.5)
        hexagons = Hexagons.from_bounds(40.7 - half, -74 - half, 40.7 + half, -74 + half, resolution=8)
        area = hexagons.subset(np.arange(min(cells, len(hexagons))))
    elif kind == "map":
        half = 0.0045 * max(1.0, cells**0.5)
        area = Grid.from_bounds(48.8 - half, 2.3 - half, 48.8 + half, 2.3 + half, cell_km=1.0)
    else:
        area = Area.from_points_km(generator.random((cells, 2)) * max(1.0, cells**0.5))
    n = len(area)
    prior = generator.gamma(0.5, size=n)
    prior[generator.random(n) < generator.choice([0.0, 0.1, 0.4])] = 0.0
    prior[generator.integers(n)] += 0.1
    prior /= prior.sum()
    targets = sorted(generator.choice(n, min(z, n - 1), replace=False).tolist())
    return Instance(area, prior, targets, epsilon_per_km, beta)


@st.composite
def instances(
    draw: st.DrawFn,
    *,
    most_cells: int,
    largest_loss: float = float("inf"),
    kinds: tuple[str, ...] = ("grid", "map", "hexagons", "points"),
) -> Instance:
    """Instances as the issue asks: z = 1..16, ε 0.1..5 per km, β 0.001..0.5; εd kept below `largest_loss`."""
    kind = draw(st.sampled_from(kinds))
    cells = draw(st.integers(2, most_cells))
    z = draw(st.integers(1, 16))
    epsilon = float(np.exp(draw(st.floats(np.log(0.1), np.log(5.0)))))
    beta = float(np.exp(draw(st.floats(np.log(0.001), np.log(0.5)))))
    seed = draw(st.integers(0, 2**32 - 1))
    instance = make_instance(kind, cells, z, epsilon, beta, seed)
    loss = float(instance.D.max())
    if loss > largest_loss:
        instance = Instance(instance.area, instance.prior, instance.targets, epsilon * largest_loss / loss, beta)
    return instance

"""More reports bring the estimate nearer to the truth, and nearer than the paper's and qif's estimates.

What does not hold is listed in `EXCEPTIONS` with its figure, in nats beyond two standard errors.
"""

from __future__ import annotations

import pytest

from tests.prior.more_reports import DISTRIBUTIONS, HEADING, SIZES, Measured, distribution, measure, row

EXCEPTIONS: dict[tuple[str, int], dict[str, float]] = {
    ("uniform", 50): {"rise": 0.022, "algorithm 2": 0.009},
    ("uniform", 500): {"algorithm 2": 0.013},
    ("uniform", 5_000): {"rise": 0.003, "algorithm 2": 0.010},
    ("uniform", 50_000): {"algorithm 2": 0.003},
    ("uniform", 500_000): {"algorithm 2": 0.003},
    ("uniform", 5_000_000): {"algorithm 2": 0.005},
    ("bumps of 1 km", 500): {"rise": 0.001},
    ("bumps of 1 km", 5_000_000): {"rise": 0.006, "Bayesian update": 0.017},
    ("bumps of 2 km", 50): {"rise": 0.022},
    ("bumps of 2 km", 50_000): {"rise": 0.001},
    ("bumps of 2 km", 500_000): {"rise": 0.001},
    ("bumps of 4 km", 50): {"rise": 0.023},
    ("bumps of 4 km", 5_000): {"rise": 0.006},
    ("bumps of 4 km", 5_000_000): {"rise": 0.002},
    ("rough 0.5", 50): {"rise": 0.023},
    ("rough 0.5", 500): {"rise": 0.004, "update": 0.006, "algorithm 2": 0.019},
    ("rough 0.5", 5_000): {"update": 0.002},
    ("rough 1", 50): {"rise": 0.023},
    ("rough 1", 500): {"rise": 0.004, "update": 0.011, "algorithm 2": 0.024},
    ("rough 1", 5_000): {"rise": 0.004},
    ("rough 2", 500): {"rise": 0.015},
    ("rough 2", 5_000_000): {"Bayesian update": 0.009},
    ("line", 5_000_000): {"rise": 0.004},
}
"""By distribution and number of reports: `rise` from a round to a later one, or what is nearer, and by how much.

- A uniform town is the start itself, so that reports can only lead away from it; so do a few reports in a rough town.
- With three seeds and fifteen pairs of rounds, some of the smallest figures are chance. Noise also hides: from
  5,000,000 reports of a line the mean divergence rises from 0.252 after two rounds to 0.450, where qif's is 0.285.
"""
SLACK = 0.005
"""Figures may differ by this much between processors."""


def misses(found: Measured) -> dict[str, float]:
    figures = {
        "rise": found.rise,
        "update": found.behind(found.update),
        "algorithm 2": found.behind(found.algorithm2),
        "Bayesian update": found.behind(found.bayesian),
    }
    return {what: figure for what, figure in figures.items() if figure > 0}


def check(name: str, sizes: tuple[int, ...]) -> None:
    true = distribution(name)
    if true is None:
        pytest.skip(f"the data set of {name} is not there: it may not be shipped with the project")
    lines, wrong = [HEADING], []
    for reports in sizes:
        found = measure(true, reports)
        lines.append(row(name, reports, true, found))
        listed = EXCEPTIONS.get((name, reports), {})
        for what, figure in misses(found).items():
            if figure > listed.get(what, 0.0) + SLACK:
                wrong.append(f"{name}, {reports:,} reports, {what}: {figure:.3f}, listed {listed.get(what, 0.0):.3f}")
    table = "\n".join(lines)
    print(table)  # noqa: T201 - shown by -rP
    assert not wrong, "\n".join([*wrong, table])


@pytest.mark.long
def test_more_reports_help_in_a_smooth_town() -> None:
    check("bumps of 2 km", (5_000,))


@pytest.mark.long
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_more_reports_help_everywhere_but_where_listed(name: str) -> None:
    check(name, SIZES)

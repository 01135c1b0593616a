"""Cover each of the densest cells alone: our method beside the paper's and Laplace, on the same people and profiles.

    python -m benchmarks.targets new-york ../shared/data/dataset_TSMC2014_NYC.txt.xz
    python -m benchmarks.targets gowalla ../shared/data/gowalla_new_york.txt.gz --seeds 4

For each of the 20 densest cells and each number of people wanted, every method is simulated under the same seeds. A
place that nobody is found for counts as a person who does not come. `crowdveil` protects the place, how regular a
visitor is, and being outside. The paper's method and Laplace noise protect the place alone: who has no frequent place
says so in the clear. For a comparison at the same privacy they are simulated a second time with nothing said in the
clear: everyone reports their place, and who is outside reports from a cell at random (`everyone`).

Prints the mean coverage of each method, and by how much ours is ahead: the mean of the paired differences over targets
and seeds, with its 95 % interval; and every target at which another method is ahead.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from math import log

import numpy as np

from crowdveil.arrays import FloatArray
from crowdveil.paper.cities import CitySource, open_city
from crowdveil.simulate.comparison import ComparisonSettings
from crowdveil.simulate.dataset import Dataset
from crowdveil.simulate.records import interval
from crowdveil.simulate.simulation import Crowd, Method, coverage_of, simulate
from crowdveil.vocabulary import NULL

METHODS: tuple[Method, ...] = ("none", "crowdveil", "crowdveil-clear", "algorithm-2", "laplace-posterior", "random")
PEERS: tuple[Method, ...] = ("algorithm-2", "laplace-posterior")
DENSEST = 20
Found = dict[str, list[list[float]]]


def measure(dataset: Dataset, settings: ComparisonSettings, found: Found) -> None:
    """Add the coverage of every method at one target, seed by seed."""
    share = dataset.coverage(settings.targets)
    here: dict[str, list[float]] = {}
    for seed in range(settings.seeds):
        crowd = settings.crowd(dataset, seed)
        for method in METHODS:
            here.setdefault(method, []).append(_coverage(crowd, method, seed, share))
        cells, _ = crowd.graded
        anywhere = np.random.default_rng([seed, 7]).integers(0, len(crowd.area), len(cells))
        everyone = replace(
            crowd, places=np.where(cells == NULL, anywhere, cells), null_epsilon=None, grade_epsilon=None
        )
        for method in PEERS:
            here.setdefault(f"{method}, everyone", []).append(_coverage(everyone, method, seed, share))
    for name, values in here.items():
        found.setdefault(name, []).append(values)


def _coverage(crowd: Crowd, method: Method, seed: int, share: FloatArray) -> float:
    outcome = simulate(crowd, method, seed)
    return coverage_of(outcome.selected, share, outcome.wanted)


def main() -> None:
    """Compare, and print a table for each number of people wanted."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.targets", description=__doc__.splitlines()[0])
    options.add_argument("name", choices=("new-york", "gowalla"))
    options.add_argument("traces")
    options.add_argument("--wanted", type=int, nargs="+", default=[20, 50])
    options.add_argument("--seeds", type=int, default=2)
    options.add_argument("--targets", type=int, default=DENSEST)
    given = options.parse_args()
    dataset = open_city(CitySource(given.name, given.traces))
    targets = dataset.densest[: given.targets].tolist()
    for wanted in given.wanted:
        found: Found = {}
        for number, target in enumerate(targets):
            measure(dataset, ComparisonSettings((target,), log(4), wanted=wanted, seeds=given.seeds), found)
            sys.stderr.write(f"\r{given.name}, {wanted} wanted: target {number + 1} of {len(targets)}")
        sys.stderr.write("\n")
        sys.stdout.write(
            f"{given.name}: {dataset.counts.users:,} people, {wanted} wanted at each of {len(targets)} targets, "
            f"{given.seeds} seeds\n"
        )
        for method, values in found.items():
            sys.stdout.write(f"  {method:28} {np.mean(values):7.2%}\n")
        pairs = [("crowdveil", f"{peer}, everyone") for peer in PEERS]
        pairs += [(mine, peer) for mine in ("crowdveil", "crowdveil-clear") for peer in PEERS]
        for mine, other in pairs:
            ahead = np.array(found[mine]) - np.array(found[other])
            mean, low, high = interval(ahead.ravel().tolist(), least=-1.0, most=1.0)
            behind = [str(target) for target, by in zip(targets, ahead.mean(axis=1), strict=True) if by < 0]
            sys.stdout.write(
                f"  {mine} ahead of {other} by {mean:+.2%} ({low:+.2%} to {high:+.2%}); behind at "
                f"{len(behind)} targets{': cells ' if behind else ''}{', '.join(behind)}\n"
            )
        sys.stdout.flush()


if __name__ == "__main__":
    main()

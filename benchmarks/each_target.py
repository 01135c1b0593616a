"""Ask whether every target gets its people on New York: a number for each target beside any target, Laplace and none.

    python -m benchmarks.each_target ../shared/data/dataset_TSMC2014_NYC.txt.xz

8 targets are drawn from the 40 densest cells, 3 people are wanted at each, ε = ln 4 per km, π known. Real visits of the
test weeks are counted, by all who were selected: in all, at the very target they were selected for, at the median
target, and at the least of those that somebody would report, by all and by those selected for it; in people a week.
Each draw of targets is one value, the mean over many drawings of symbols from the same policies: the least of eight
small numbers varies a lot from one drawing to the next. Intervals are 95 %, those of ratios by the delta method. Three
settings:

    recency, δ = 0.7, protecting the place alone
    logistic, δ = 0.5 (the default profile), protecting the place alone
    the same, with grades and outside protected at the default; Laplace and none as before

Then larger crowds: people of New York drawn with replacement, so that π stays. With V_t* = π_t / Σ_l π_l e^{-D_lt}, the
highest chance of being at t that any private symbol can have, it prints the least V_t / V_t* of the policies, and the
mean chance of those who were selected for t as a share of V_t*, at the target where it is least.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from math import log

import numpy as np

import crowdveil as cv
from crowdveil.arrays import FloatArray
from crowdveil.paper.cities import CitySource, open_city
from crowdveil.paper.figures.balance import NUMBER, draw_targets
from crowdveil.paper.verdicts import Interval, of_values
from crowdveil.simulate.balance import BalanceMethod, balance_of, cover_targets_again, promised_at
from crowdveil.simulate.comparison import ComparisonSettings
from crowdveil.simulate.simulation import Crowd

TARGETS = 8
METHODS: tuple[BalanceMethod, ...] = ("any", "each", "each-panel", "laplace-posterior", "none", "by-profile")
LEARNT: tuple[BalanceMethod, ...] = ("any-learnt", "each-learnt")
MEASURES = ("visitors", "where_selected", "median", "least", "least_where_selected")
LEAST_TIMES, TOTAL_TIMES = 2.0, 0.75
"""What the least target and all targets together should have with a number for each, as multiples of any target."""
CROWDS = (3_000, 30_000)


def settings_of(name: str, targets: tuple[int, ...]) -> ComparisonSettings:
    """Give the terms of one of the three settings."""
    wanted = NUMBER * len(targets)
    if name == "protected":
        return ComparisonSettings(targets, log(4), wanted=wanted)
    clear = ComparisonSettings(targets, log(4), wanted=wanted, null_epsilon=None, grade_epsilon=None)
    return replace(clear, profile="recency", delta=0.7) if name == "recency" else clear


def measure(
    source: CitySource, setting: str, draws: int, seeds: int, methods: tuple[BalanceMethod, ...]
) -> tuple[dict[str, FloatArray], list[int]]:
    """Return the measures of every method, shape (draws, measures), and how many people had a place."""
    dataset = open_city(source)
    found: dict[str, list[FloatArray]] = {}
    reporters = []
    for draw in range(draws):
        targets = draw_targets(source, TARGETS, draw)
        settings = settings_of(setting, targets)
        share = dataset.coverage_by_target(targets)
        promised = promised_at(dataset.profiles[settings.profile], targets)
        numbers = (NUMBER,) * len(targets)
        crowd = settings.crowd(dataset, draw)
        reporters.append(len(crowd.reporters))
        for method in methods:
            again = cover_targets_again(crowd, numbers, promised, method, range(seeds))
            balances = [balance_of(one, share, crowd, numbers) for one in again]
            values = [[getattr(balance, one) for one in MEASURES] for balance in balances]
            found.setdefault(method, []).append(np.mean(values, axis=0))
        sys.stderr.write(f"\r{setting}: draw {draw + 1} of {draws}")
    sys.stderr.write("\n")
    return {method: np.array(values) for method, values in found.items()}, reporters


def ratio(one: FloatArray, other: FloatArray) -> Interval:
    """Return the ratio of two means over the same draws, with its interval by the delta method."""
    times = one.mean() / other.mean()
    return of_values(times + (one - one.mean() - times * (other - other.mean())) / other.mean())


def shown(interval: Interval) -> str:
    """Write a number with its interval."""
    return f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def report(found: dict[str, FloatArray]) -> list[str]:
    """Write the table, and what is asked of it."""
    lines = [f"  {'':18}" + "".join(f"{one:>24}" for one in MEASURES)]
    for method, values in found.items():
        lines.append(f"  {method:18}" + "".join(f"{shown(of_values(column)):>24}" for column in values.T))
    total, least = (MEASURES.index(one) for one in ("visitors", "least"))
    for ours in (one for one in found if one.startswith("each")):
        peer = "any-learnt" if ours == "each-learnt" else "any"
        times = [ratio(found[ours][:, at], found[peer][:, at]) for at in (least, total)]
        lines.append(
            f"  {ours} against {peer}: least {shown(times[0])} times, asked {LEAST_TIMES:g}: "
            f"{times[0].above(LEAST_TIMES)}; all {shown(times[1])} times, asked {TOTAL_TIMES:g}: "
            f"{times[1].above(TOTAL_TIMES)}"
        )
        ahead = [of_values(found[ours][:, at] - found["laplace-posterior"][:, at]) for at in (least, total)]
        lines.append(
            f"  {ours} ahead of laplace-posterior: least {shown(ahead[0])}: {ahead[0].above(0.0)}; "
            f"all {shown(ahead[1])}: {ahead[1].above(0.0)}"
        )
    return lines


def bounds(source: CitySource, people: int, draws: int, seeds: int) -> str:
    """Compare a larger crowd with Lemma 2's bound, target by target."""
    dataset = open_city(source)
    of_policy, of_selected = [], []
    for draw in range(draws):
        targets = draw_targets(source, TARGETS, draw)
        settings = settings_of("recency", targets)
        crowd = _resampled(settings.crowd(dataset, draw), people, draw)
        best = best_chances(crowd)
        there = best > 0
        chances, numbers = np.zeros((seeds, len(targets))), (NUMBER,) * len(targets)
        again = cover_targets_again(crowd, numbers, np.zeros((people, len(targets))), "each", range(seeds))
        for seed, found in enumerate(again):
            chances[seed] = np.bincount(found.targets, found.chances, minlength=len(targets)) / NUMBER
        (policy,) = found.policies
        of_policy.append((np.array(policy.values)[there] / best[there]).min())
        of_selected.append((chances.mean(axis=0)[there] / best[there]).min())
    return (
        f"{people:,} people, {draws} draws of {TARGETS} targets, {seeds} seeds: "
        f"least V_t / V_t* {min(of_policy):.4f} of {len(of_policy)} policies; mean chance of the selected "
        f"/ V_t* at the least target of a draw {min(of_selected):.4f} at worst, "
        f"{np.mean(of_selected):.4f} in the mean"
    )


def best_chances(crowd: Crowd) -> FloatArray:
    """Compute V_t* of all targets; 0 where nobody is."""
    prior, epsilon = crowd.prior(), crowd.epsilon_per_km
    best = [cv.lemma2_bound(crowd.area, prior, target, epsilon_per_km=epsilon) for target in crowd.targets]
    return np.array(best)


def _resampled(crowd: Crowd, people: int, seed: int) -> Crowd:
    drawn = np.random.default_rng([seed, 17]).choice(crowd.places[crowd.reporters], people)
    return replace(crowd, places=drawn)


def main() -> None:
    """Simulate the three settings and the larger crowds, and print what is asked."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.each_target", description=__doc__.splitlines()[0])
    options.add_argument("traces")
    options.add_argument("--draws", type=int, default=24, help="of targets")
    options.add_argument("--seeds", type=int, default=40, help="drawings of symbols for each")
    options.add_argument("--settings", nargs="*", default=["recency", "logistic", "protected"])
    options.add_argument("--learnt", action="store_true", help="also learn π in rounds; use few seeds")
    given = options.parse_args()
    source = CitySource("new-york", given.traces)
    for setting in given.settings:
        methods = METHODS + LEARNT * given.learnt
        found, reporters = measure(source, setting, given.draws, given.seeds, methods)
        sys.stdout.write(
            f"{setting}: {given.draws} draws of targets, {given.seeds} of symbols each, {np.mean(reporters):.0f} "
            "people with a frequent place; people a week\n" + "\n".join(report(found)) + "\n"
        )
        sys.stdout.flush()
    for people in CROWDS:
        sys.stdout.write(bounds(source, people, min(given.draws, 20), 10) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

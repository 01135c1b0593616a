"""Make policies with a symbol for each of several places, so that everyone who is selected is selected for a place.

One selecting symbol says "near some target", not which, and the optimum spends itself on the busiest. In a *stack*
every target t has a symbol of its own, with the column p^t, and the rest is r = 1 - Σ_t p^t. With D the distances of
policy.py, q the prior of all inputs and a quota β_t for each target:

    p^t_i ≤ e^{D_ij} p^t_j         r_i ≤ e^{D_ij} r_j         Σ_i q_i p^t_i = β_t

and the value of a target is V_t = Σ_g w_g q_(t,g) p^t_(t,g) / β_t, where w_g is the chance that a visitor of grade g
comes.

**Each target alone** (Lemma 2 of the paper, for any metric). Only the first condition concerns a single column. With
one grade that counts it gives p^t_i ≥ p^t_t e^{-D_it}, hence β_t ≥ p^t_t Z_t with Z_t = Σ_i q_i e^{-D_it}, and V_t ≤
V_t* = w q_t / Z_t, with equality for p^t_i = θ_t e^{-D_it}, θ_t = β_t / Z_t. Where several grades count, V_t* is the
optimum for t alone at a small quota (cutting_planes.py), whose column has a peak at every grade of t; only its scale
depends on β_t.

**All targets at once.** Take these columns and let a_i = Σ_t p^t_i. If a_i ≤ 1/(1+e^{-D_min}) for all inputs i, with
D_min the least distance of any two inputs, then r is private, and every target reaches its own bound.

*Proof.* Let u = e^{D_ij}. Every column has p^t_i ≥ p^t_j / u, so that a_i ≥ a_j / u, and r_i = 1 - a_i ≤ 1 - a_j / u.
This is at most u (1 - a_j) = u r_j if a_j (u - 1/u) ≤ u - 1, that is a_j ≤ u / (u + 1) = 1 / (1 + e^{-D_ij}), which
grows with D_ij. ∎ Grades and NULL are inputs like any other: D_min then includes ε₁ and ε₀.

So in the usual regime there is nothing to solve. Beyond it r is looked at pair by pair, and often still holds. Where it
does not, the columns are *saturated*: joint_columns.py solves the linear program, and column_generation.py finds nearly
the best columns where it is large. For areas with too many pairs of inputs the columns are mixed with the constants β_t
until a keeps to its limit; the gap says what that may cost.

**A panel** has no quotas: every place gets the largest capacity that all can have (capacity.py), so that one report
serves whatever place is asked for later.

**The rest.** With the completion "informative" every other cell gets a symbol too, as far as privacy allows: who is not
near a target then still tells roughly where they are. In the protected form what remains is split into `outside` and
the grades (grade_symbols.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import FloatArray, IntArray, as_floats
from crowdveil.errors import InputError
from crowdveil.policy.checks import (
    DEFAULT_BITS,
    MAX_TABLE_ENTRIES,
    check_epsilon,
    check_grade_chances,
    check_prior,
    check_targets,
)
from crowdveil.policy.peaks import Peaks, weights_of
from crowdveil.policy.policy import Policy
from crowdveil.policy.provenance import provenance
from crowdveil.policy.rounding import stack_floor, stack_share
from crowdveil.policy.solver.capacity import largest_equal_capacities, remaining_capacities
from crowdveil.policy.solver.column_generation import generate_columns
from crowdveil.policy.solver.cutting_planes import solve
from crowdveil.policy.solver.grade_symbols import rest_names, split_error, split_rest
from crowdveil.policy.solver.input_metric import InputMetric
from crowdveil.policy.solver.joint_columns import MAX_VARIABLES, solve_jointly
from crowdveil.policy.solver.linear_program import solver_version
from crowdveil.policy.solver.optimal import check_making, protection_of, relative_gap
from crowdveil.policy.solver.stack_columns import PeakedColumns
from crowdveil.vocabulary import Progress

MAX_REFINED_CELLS = 500
"""Up to this many cells the informative completion gives a symbol to every cell."""
FEW_SELECTED = 1e-3
"""For the bound of one target alone its largest probability is kept below this, far from where the rest binds."""
MAX_TOTAL_BETA = 0.9


def policy_per_target(
    area: Area,
    prior: ArrayLike | None,
    targets: ArrayLike,
    *,
    epsilon_per_km: float,
    betas: ArrayLike,
    completion: str = "equal",
    bits: int = DEFAULT_BITS,
    null_epsilon: float | None = None,
    null_share: float = 0.0,
    grade_epsilon: float | None = None,
    grade_chances: Sequence[float] | None = None,
    progress: Progress | None = None,
) -> Policy:
    """Make the policy with the largest mean of V_t, the share of those selected for a target who really are there.

    `betas` are the shares of all reports that should select for each target, in the order of the targets. The symbol
    `selecting[k]` selects for `targets[k]`, and `values[k]` is V_t. The mean of V_t, its upper bound and the proven
    gap are in `policy.provenance`. The other parameters are those of `optimal_policy`; with the completion
    "informative" every other cell has a symbol as well, up to 500 cells.

    >>> import crowdveil as cv
    >>> grid = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=2.0)
    >>> policy = cv.policy_per_target(grid, None, [7, 20], epsilon_per_km=1.0, betas=[0.05, 0.02])
    >>> [round(value, 3) for value in policy.values]
    [0.111, 0.123]
    """
    metric = _metric(area, epsilon_per_km, null_epsilon, null_share, grade_epsilon, grade_chances)
    check_making(area, completion, bits)
    cells = check_targets(targets, len(area), all_cells=True)
    chances = check_grade_chances(grade_chances, metric.grades)
    pi = check_prior(prior, len(area), metric.grades)
    quotas = check_betas(betas, len(cells))
    inputs = _inputs(metric, pi, null_share)
    worth = _worth(metric, cells, chances)
    columns, regime = _best_columns(metric, inputs, cells, chances, worth, quotas, progress)
    others, capacities = np.zeros(0, dtype=np.int64), np.zeros(0)
    if completion == "informative" and len(area) <= MAX_REFINED_CELLS:
        others = np.setdiff1d(np.arange(len(area)), cells)
        most = float(largest_equal_capacities(metric, np.arange(len(area))).min())
        capacities = remaining_capacities(metric, others, columns.chances(metric).sum(axis=1), most)
        others, capacities = others[capacities > 0], capacities[capacities > 0]
    peaks = _rounded(metric, columns, others, capacities, bits)
    weights = _weights(metric, peaks)
    per_target = weights[:, : len(cells)] / (1 << bits)
    reached = inputs @ per_target
    values = (worth * inputs * per_target.T).sum(axis=1) / reached
    return Policy(
        area=area,
        epsilon_per_km=metric.epsilon_per_km,
        targets=cells,
        weights=_others(metric, weights, bits),
        symbols=_symbols(metric, cells, others),
        selecting=tuple(range(len(cells))),
        bits=bits,
        value=float(values @ reached) / float(reached.sum()),
        beta=float(reached.sum()),
        values=tuple(values.tolist()),
        provenance=provenance(
            pi.ravel(),
            method="per target",
            regime=regime,
            solver=solver_version(),
            completion=completion,
            rounds=columns.rounds,
            mean_value=float(values.mean()),
            upper_bound=columns.upper_bound,
            gap=relative_gap(columns.upper_bound, float(values.mean())),
            **({} if metric.protection is None else {"null_share": float(null_share)}),
        ),
        null_epsilon=null_epsilon,
        grade_epsilon=grade_epsilon,
        grades=metric.grades,
        peaks=peaks,
    )


def targets_compete(
    area: Area,
    prior: ArrayLike | None,
    targets: ArrayLike,
    *,
    epsilon_per_km: float,
    betas: ArrayLike,
    null_epsilon: float | None = None,
    null_share: float = 0.0,
    grade_epsilon: float | None = None,
    grade_chances: Sequence[float] | None = None,
) -> bool:
    """Tell whether targets take from each other at these quotas; if not, each has the best policy made for it alone.

    The parameters are those of `policy_per_target`, which takes much longer where targets compete.
    """
    metric = _metric(area, epsilon_per_km, null_epsilon, null_share, grade_epsilon, grade_chances)
    cells = check_targets(targets, len(area), all_cells=True)
    chances = check_grade_chances(grade_chances, metric.grades)
    inputs = _inputs(metric, check_prior(prior, len(area), metric.grades), null_share)
    quotas = check_betas(betas, len(cells))
    alone = _each_alone(metric, inputs, cells, chances, _worth(metric, cells, chances), quotas)
    return not _is_private_at_once(metric, alone.chances(metric).sum(axis=1))


def panel_policy(
    area: Area,
    places: ArrayLike | None = None,
    *,
    epsilon_per_km: float,
    targets: ArrayLike | None = None,
    bits: int = DEFAULT_BITS,
    null_epsilon: float | None = None,
    grade_epsilon: float | None = None,
    grades: int | None = None,
) -> Policy:
    """Make the policy in which all places are alike, each with as much capacity as privacy allows.

    The capacity of a place is the chance that a regular visitor sends its symbol; the least of all places is as large
    as possible, and is in `policy.provenance`. `places` are cells; by default all of them. `targets`, some of the
    places, are those whose symbols select; by default all of them. Their symbols come first, in the order given.

    >>> import crowdveil as cv
    >>> grid = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=2.0)
    >>> panel = cv.panel_policy(grid, epsilon_per_km=1.0)
    >>> round(float(panel.provenance["least_capacity"]), 3)
    0.413
    """
    counted = None if grades is None else (1.0,) * grades
    metric = _metric(area, epsilon_per_km, null_epsilon, 0.0, grade_epsilon, counted)
    check_making(area, "equal", bits)
    all_places = check_targets(np.arange(len(area)) if places is None else places, len(area), all_cells=True)
    cells = all_places if targets is None else check_targets(targets, len(area), all_cells=True)
    for cell in cells:
        if cell not in all_places:
            raise InputError("targets", cell, "should be one of the places")
    others = np.array([cell for cell in all_places if cell not in set(cells)], dtype=np.int64)
    seeds = np.concatenate([np.array(cells, dtype=np.int64), others])
    check_places_fit(len(seeds), len(area), metric.grades, protected=metric.protection is not None)
    capacities = largest_equal_capacities(metric, seeds)
    chosen = PeakedColumns(np.arange(len(cells)), np.array(cells), capacities[: len(cells)], np.zeros(len(cells)), 1.0)
    peaks = _rounded(metric, chosen, others, capacities[len(cells) :], bits)
    weights = _weights(metric, peaks)
    uniform = np.full(metric.count, 1 / metric.count)
    return Policy(
        area=area,
        epsilon_per_km=metric.epsilon_per_km,
        targets=cells,
        weights=_others(metric, weights, bits),
        symbols=_symbols(metric, cells, others),
        selecting=tuple(range(len(cells))),
        bits=bits,
        beta=float(uniform @ weights[:, : len(cells)].sum(axis=1)) / (1 << bits),
        provenance=provenance(
            uniform,
            method="panel",
            solver=solver_version(),
            least_capacity=float(capacities.min()),
            largest_capacity=float(capacities.max()),
        ),
        null_epsilon=null_epsilon,
        grade_epsilon=grade_epsilon,
        grades=metric.grades,
        peaks=peaks,
    )


def check_betas(betas: ArrayLike, targets: int) -> FloatArray:
    """Refuse quotas that are not one share above 0 for each target, or that add up to too much."""
    quotas = as_floats("betas", betas)
    if quotas.shape != (targets,):
        raise InputError("betas", f"{quotas.size} numbers", f"should have one for each of {targets} targets")
    if not (np.isfinite(quotas) & (quotas > 0)).all():
        raise InputError("betas", quotas.tolist(), "should each be above 0; leave out targets that need nobody")
    if quotas.sum() > MAX_TOTAL_BETA:
        raise InputError("sum of betas", float(quotas.sum()), f"should be at most {MAX_TOTAL_BETA}")
    return quotas


def _metric(
    area: Area,
    epsilon_per_km: float,
    null_epsilon: float | None,
    null_share: float,
    grade_epsilon: float | None,
    grade_chances: Sequence[float] | None,
) -> InputMetric:
    grades = 2 if grade_chances is None else len(grade_chances)
    protection = protection_of(null_epsilon, null_share, grade_epsilon, grades)
    return InputMetric(area, check_epsilon(epsilon_per_km), protection)


def _inputs(metric: InputMetric, prior: FloatArray, null_share: float) -> FloatArray:
    return prior.ravel() if metric.protection is None else np.append((1 - null_share) * prior.ravel(), null_share)


def max_places(cells: int, grades: int, *, protected: bool) -> int:
    """Return for how many places of a map a policy can have a symbol, so that it does not get too large to make."""
    return MAX_TABLE_ENTRIES // (cells * grades + protected) - 2 - grades


def check_places_fit(places: int, cells: int, grades: int, *, protected: bool) -> None:
    """Refuse more places than a policy can have symbols for."""
    most = max_places(cells, grades, protected=protected)
    if places > most:
        expected = f"should be at most {most:,} on a map of {cells:,} cells; "
        expected += "name the places that may be asked for (--targets), or take larger cells"
        raise InputError("targets", f"{places:,} places", expected)


def _worth(metric: InputMetric, cells: Sequence[int], chances: Sequence[float]) -> FloatArray:
    """Return, for each target, the chance that a device with each input comes to it."""
    found = np.zeros((len(cells), metric.count))
    for grade, chance in enumerate(chances):
        found[np.arange(len(cells)), grade * len(metric.area) + np.array(cells)] = chance
    return found


def _best_columns(
    metric: InputMetric,
    prior: FloatArray,
    cells: tuple[int, ...],
    chances: tuple[float, ...],
    worth: FloatArray,
    quotas: FloatArray,
    progress: Progress | None,
) -> tuple[PeakedColumns, str]:
    """Return each target's own best column if the rest allows all of them at once, else the best that it allows."""
    check_places_fit(len(cells), len(metric.area), metric.grades, protected=metric.protection is not None)
    alone = _each_alone(metric, prior, cells, chances, worth, quotas)
    sent = alone.chances(metric)
    used = sent.sum(axis=1)
    if _is_private_at_once(metric, used):
        return alone, "unsaturated"
    if metric.is_small:
        if worth.size <= MAX_VARIABLES:
            found = solve_jointly(metric, prior, worth, quotas, progress)
        else:
            found = generate_columns(metric, prior, worth, quotas, sent.T, progress)
        bound = min(found.upper_bound, alone.upper_bound)
        return PeakedColumns(found.symbol, found.input, found.height, found.floor, bound, found.rounds), "saturated"
    beta, limit = float(quotas.sum()), 1 / (1 + exp(-metric.least))
    if beta >= limit:
        raise InputError(
            "sum of betas", beta, f"should be below {limit:.3g} for an area of this size; ask for fewer people"
        )
    share = (float(used.max()) - limit) / (float(used.max()) - beta)
    return PeakedColumns(
        alone.symbol, alone.input, (1 - share) * alone.height, share * quotas, alone.upper_bound
    ), "mixed with the constant"


def _each_alone(
    metric: InputMetric,
    prior: FloatArray,
    cells: tuple[int, ...],
    chances: tuple[float, ...],
    worth: FloatArray,
    quotas: FloatArray,
) -> PeakedColumns:
    """Return the best column of every target, as if it were alone, and the mean of their values."""
    n = len(metric.area)
    reach = np.exp(-metric.rows(np.array(cells)))
    spread = reach @ prior
    if sum(chance > 0 for chance in chances) == 1:
        bound = (worth * prior).sum(axis=1) / spread
        return PeakedColumns(
            np.arange(len(cells)), np.array(cells), quotas / spread, np.zeros(len(cells)), float(bound.mean())
        )
    symbols, inputs, heights, bounds = [], [], [], []
    for position, cell in enumerate(cells):
        few = FEW_SELECTED * float(spread[position])
        best = solve(
            metric.area, prior, (cell,), metric.epsilon_per_km, few, protection=metric.protection, grade_chances=chances
        )
        bounds.append(best.upper_bound)
        own = cell + n * np.arange(metric.grades)
        scale = float(quotas[position]) / float(prior @ np.exp(best.log_hit))
        for at in own.tolist():
            symbols.append(position)
            inputs.append(at)
            heights.append(scale * float(np.exp(best.log_hit[at])))
    return PeakedColumns(
        np.array(symbols), np.array(inputs), np.array(heights), np.zeros(len(cells)), float(np.mean(bounds))
    )


def _is_private_at_once(metric: InputMetric, used: FloatArray) -> bool:
    """Whether every target can have its own best column, where they add up to `used`."""
    return bool(used.max() <= 1 / (1 + exp(-metric.least))) or (metric.is_small and _rest_is_private(metric, used))


def _rest_is_private(metric: InputMetric, used: FloatArray) -> bool:
    rest = 1 - used
    return bool(rest.min() > 0 and (np.exp(-metric.pairs) * rest[:, None] <= rest[None, :]).all())


def _rest_error(metric: InputMetric, columns: PeakedColumns, others: IntArray, capacities: FloatArray) -> float:
    """Measure by how much the rest is not private, because a program kept its rows only to some tolerance."""
    if not metric.is_small:
        return 0.0
    rest = 1 - columns.chances(metric).sum(axis=1) - capacities @ np.exp(-metric.rows(others))
    return float((np.exp(-metric.pairs) * rest[:, None] - rest[None, :]).max(initial=0.0))


def _rounded(metric: InputMetric, columns: PeakedColumns, others: IntArray, capacities: FloatArray, bits: int) -> Peaks:
    """Return whole-number peaks of the targets' symbols and of those of other cells, with their floors."""
    total, symbols = 1 << bits, len(columns.floor) + len(others)
    symbol = np.concatenate([columns.symbol, len(columns.floor) + np.arange(len(others))])
    at = np.concatenate([columns.input, others])
    height = np.concatenate([columns.height, capacities])
    constant = np.concatenate([columns.floor, np.zeros(len(others))])
    # A floor of a share of the column's mean, for which its peaks alone are a good measure.
    mean = np.zeros(symbols)
    np.maximum.at(mean, symbol, height * np.exp(-metric.rows(at)).mean(axis=1))
    floors = np.array([stack_floor(metric.least, one, bits) for one in (mean + constant).tolist()], dtype=np.int64)
    split = 0.0 if metric.protection is None else split_error(metric.protection, bits)
    error = _rest_error(metric, columns, others, capacities)
    share = stack_share(metric.least, float(floors.sum()) / total, symbols, bits, split, error)
    weight = np.rint((1 - share) * height * total).astype(np.int64)
    floors += np.rint((1 - share) * constant * total).astype(np.int64)
    order = np.lexsort((at, symbol))
    return Peaks(symbol[order], at[order], weight[order], floors)


def _weights(metric: InputMetric, peaks: Peaks) -> IntArray:
    given = metric.protection
    null, grade = (None, None) if given is None else (given.null_epsilon, given.grade_epsilon)
    return weights_of(peaks, metric.area, metric.epsilon_per_km, null, grade, metric.grades)


def _others(metric: InputMetric, weights: IntArray, bits: int) -> IntArray:
    """Return the weights of the symbols without peaks, but for the last one."""
    if metric.protection is None:
        return np.zeros((metric.count, 0), dtype=np.int64)
    return split_rest(metric.area, weights.sum(axis=1), metric.epsilon_per_km, metric.protection, bits)[:, :-1]


def _symbols(metric: InputMetric, cells: tuple[int, ...], others: IntArray) -> tuple[str, ...]:
    return (*(f"place {cell}" for cell in cells), *(f"cell {cell}" for cell in others), *rest_names(metric.protection))

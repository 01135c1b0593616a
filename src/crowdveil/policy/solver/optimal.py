"""Make the policy that covers targets best, from a prior."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from crowdveil.area import Area
from crowdveil.arrays import FloatArray
from crowdveil.errors import InputError
from crowdveil.policy.checks import (
    DEFAULT_BITS,
    MAX_BITS,
    check_epsilon,
    check_null_epsilon,
    check_null_share,
    check_prior,
    check_targets,
)
from crowdveil.policy.policy import Policy
from crowdveil.policy.provenance import provenance
from crowdveil.policy.rounding import mix_share, to_weights
from crowdveil.policy.solver.completion import check_informative, informative_completion
from crowdveil.policy.solver.cutting_planes import solve
from crowdveil.policy.solver.linear_program import solver_version
from crowdveil.policy.solver.null_closure import NullInput
from crowdveil.vocabulary import Progress

CompletionKind = Literal["equal", "informative"]
"""What those who are not selected send: one symbol, or one of several that hint at where they are."""
MIN_BITS = 24
"""With fewer bits rounding would break privacy."""


def optimal_policy(
    area: Area,
    prior: ArrayLike | None,
    targets: ArrayLike,
    *,
    epsilon_per_km: float,
    beta: float,
    completion: str = "equal",
    bits: int = DEFAULT_BITS,
    null_epsilon: float | None = None,
    null_share: float = 0.0,
    progress: Progress | None = None,
) -> Policy:
    """Make the policy of largest Σ_T π_t p_t / β among all ε-private ones with Σ π_l p_l = β (Algorithm 1).

    `prior` None means uniform. With the `completion` "equal" everyone who is not selected sends the same symbol (the
    paper's equal columns say no more than that); with "informative" the privacy that is left is used to tell the server
    roughly where they are. The proven gap to the optimum is in `policy.provenance`. Certify the policy before use.

    `null_epsilon` ε₀ makes "no frequent place" one more input, at most a factor e^{ε₀} from every cell, and the policy
    is optimal among those (null_closure.py). `null_share` ν is the expected share of people without a place: they send
    symbols and are selected like anyone, so that the quota is (1-ν) Σ π_l p_l + ν p_0 = β and the value (1-ν) Σ_T π_t
    p_t / β.
    """
    epsilon, cells, pi = _checked(area, prior, targets, epsilon_per_km, beta, completion, bits, null_epsilon)
    null = None if null_epsilon is None else NullInput(float(null_epsilon), check_null_share(null_share))
    if null is None and null_share:
        raise InputError("null_share", null_share, "applies only where NULL is protected; give null_epsilon too")
    optimum = solve(area, pi, cells, epsilon, beta, progress, null)
    inputs = pi if null is None else null.inputs(pi)
    share = mix_share(
        area,
        epsilon,
        beta,
        bits,
        largest=float(np.exp(optimum.log_hit.max())),
        score=float(optimum.scores.max()),
        advantage=1 - float(inputs[list(cells)].sum()) / optimum.value if optimum.value else 0.0,
        null_epsilon=null_epsilon,
    )
    weights = to_weights(optimum.log_hit, beta, share, bits)
    refined = None
    if completion == "informative":
        refined = informative_completion(area, weights[:, 0], epsilon, bits, null_epsilon)
    hit = weights[:, 0] / (1 << bits)
    reached = float(inputs @ hit)
    value = float(inputs[list(cells)] @ hit[list(cells)]) / reached
    return Policy(
        area=area,
        epsilon_per_km=epsilon,
        targets=cells,
        weights=weights[: len(area)],
        bits=bits,
        completion=refined,
        value=value,
        beta=reached,
        provenance=provenance(
            pi,
            method="optimal",
            solver=solver_version(),
            completion=completion,
            beta_asked=float(beta),
            rounds=optimum.rounds,
            optimum=optimum.value,
            upper_bound=optimum.upper_bound,
            gap_before_rounding=relative_gap(optimum.upper_bound, optimum.value),
            gap=relative_gap(optimum.upper_bound, value),
            mixed_share=share,
            **({} if null is None else {"null_share": null.share}),
        ),
        null_epsilon=null_epsilon,
        null_weights=None if null is None else weights[-1],
    )


def relative_gap(upper_bound: float, value: float) -> float:
    """Compute (upper bound - value) / upper bound: no private policy with the same β is better by more."""
    return max(0.0, upper_bound - value) / upper_bound if upper_bound else 0.0


def _checked(
    area: Area,
    prior: ArrayLike | None,
    targets: ArrayLike,
    epsilon_per_km: float,
    beta: float,
    completion: str,
    bits: int,
    null_epsilon: float | None,
) -> tuple[float, tuple[int, ...], FloatArray]:
    n = len(area)
    if n < 2:
        raise InputError("area", f"{n} cell", "should have at least two cells")
    epsilon = check_epsilon(epsilon_per_km)
    cells = check_targets(targets, n)
    pi = check_prior(prior, n)
    if not (isinstance(beta, int | float | np.floating) and 0 < beta < 1):
        raise InputError("beta", beta, "should lie strictly between 0 and 1; minimum_beta computes it")
    if completion not in get_args(CompletionKind):
        raise InputError("completion", completion, f"should be one of {', '.join(get_args(CompletionKind))}")
    if not isinstance(bits, int) or not MIN_BITS <= bits <= MAX_BITS:
        raise InputError("bits", bits, f"should be a whole number from {MIN_BITS} to {MAX_BITS}")
    if null_epsilon is not None:
        check_null_epsilon(null_epsilon)
    # Refuse before the long computation what would be refused after it.
    mix_share(area, epsilon, beta, bits, null_epsilon=null_epsilon)
    if completion == "informative":
        check_informative(area, epsilon, bits, null_epsilon)
    return epsilon, cells, pi

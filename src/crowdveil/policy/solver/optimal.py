"""Make the policy that covers targets best, from a prior."""

from __future__ import annotations

from collections.abc import Sequence
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
    check_grade_chances,
    check_grade_epsilon,
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
from crowdveil.policy.solver.grade_symbols import rest_names, split_error, split_rest
from crowdveil.policy.solver.linear_program import solver_version
from crowdveil.policy.solver.protected_closure import Protection
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
    grade_epsilon: float | None = None,
    grade_chances: Sequence[float] | None = None,
    progress: Progress | None = None,
) -> Policy:
    """Make the policy of largest Σ_T π_t p_t / β among all ε-private ones with Σ π_l p_l = β (Algorithm 1).

    `prior` None means uniform. With the `completion` "equal" everyone who is not selected sends the same symbol (the
    paper's equal columns say no more than that); with "informative" the privacy that is left is used to tell the server
    roughly where they are. The proven gap to the optimum is in `policy.provenance`. Certify the policy before use.

    `null_epsilon` ε₀ makes being outside one more input, at most a factor e^{ε₀} from every other, and the policy is
    optimal among those (protected_closure.py). `null_share` ν is the expected share of people outside: they send
    symbols and are selected like anyone, so that the quota is (1-ν) Σ π_l p_l + ν p_0 = β and the value (1-ν) Σ_T π_t
    p_t / β.

    `grade_epsilon` ε₁, together with ε₀, gives every cell grades of visitors, the most regular first, each at most a
    factor e^{ε₁} from the next. The prior is then joint, of shape (grades, n). `grade_chances` w_g, one for each grade,
    is the chance that a visitor really comes: the policy then has the largest expected number of visits,
    Σ w_g π_(t,g) p_(t,g) / β. By default there are two grades, and only the first counts as covering a target.
    """
    protection = protection_of(
        null_epsilon, null_share, grade_epsilon, 2 if grade_chances is None else len(grade_chances)
    )
    grades = 1 if protection is None else protection.grades
    epsilon, cells, pi = _checked(area, prior, targets, epsilon_per_km, beta, completion, bits, protection)
    inputs = pi.ravel() if protection is None else np.append((1 - null_share) * pi.ravel(), null_share)
    chances = check_grade_chances(grade_chances, grades)
    worth = np.zeros(len(inputs))
    for grade, chance in enumerate(chances):
        worth[grade * len(area) + np.array(cells)] = chance
    optimum = solve(area, inputs, cells, epsilon, beta, progress, protection, chances)
    share = mix_share(
        area,
        epsilon,
        beta,
        bits,
        largest=float(np.exp(optimum.log_hit.max())),
        score=float(optimum.scores.max()),
        advantage=1 - float(inputs @ worth) / optimum.value if optimum.value else 0.0,
        **_room(protection, bits),
    )
    hit_weights = to_weights(optimum.log_hit, beta, share, bits)
    if protection is None:
        weights = np.column_stack([hit_weights, (1 << bits) - hit_weights])
    else:
        weights = np.column_stack([hit_weights, split_rest(area, hit_weights, epsilon, protection, bits)])
    refined = None
    if completion == "informative":
        refined = informative_completion(area, weights, epsilon, bits, grades, null_epsilon)
    hit = hit_weights / (1 << bits)
    reached = float(inputs @ hit)
    value = float((inputs * worth) @ hit) / reached
    return Policy(
        area=area,
        epsilon_per_km=epsilon,
        targets=cells,
        weights=weights,
        symbols=("hit", *rest_names(protection)),
        bits=bits,
        completion=refined,
        value=value,
        beta=reached,
        provenance=provenance(
            pi.ravel(),
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
            **({} if protection is None else {"null_share": float(null_share)}),
            **(
                {}
                if grade_chances is None or grades == 1
                else {"grade_chances": " ".join(f"{chance:.6g}" for chance in chances)}
            ),
        ),
        null_epsilon=null_epsilon,
        grade_epsilon=grade_epsilon,
        grades=grades,
    )


def relative_gap(upper_bound: float, value: float) -> float:
    """Compute (upper bound - value) / upper bound: no private policy with the same β is better by more."""
    return max(0.0, upper_bound - value) / upper_bound if upper_bound else 0.0


def protection_of(
    null_epsilon: float | None, null_share: float, grade_epsilon: float | None, grades: int
) -> Protection | None:
    """Check what protects grades and being outside, and return it; None in the clear form."""
    check_null_share(null_share)
    if null_epsilon is None:
        if null_share:
            raise InputError("null_share", null_share, "applies only where NULL is protected; give null_epsilon too")
        if grade_epsilon is not None:
            raise InputError(
                "grade_epsilon", grade_epsilon, "applies only where NULL is protected; give null_epsilon too"
            )
        return None
    if grade_epsilon is None:
        return Protection(check_null_epsilon(null_epsilon))
    if grades < 2:
        raise InputError("grade_chances", f"{grades} numbers", "should have one number for each of two or more grades")
    return Protection(check_null_epsilon(null_epsilon), check_grade_epsilon(grade_epsilon), grades)


def check_making(area: Area, completion: str, bits: int) -> None:
    """Refuse what no policy can be made of: a single cell, an unknown completion, too few or too many bits."""
    if len(area) < 2:
        raise InputError("area", f"{len(area)} cell", "should have at least two cells")
    if completion not in get_args(CompletionKind):
        raise InputError("completion", completion, f"should be one of {', '.join(get_args(CompletionKind))}")
    if not isinstance(bits, int) or not MIN_BITS <= bits <= MAX_BITS:
        raise InputError("bits", bits, f"should be a whole number from {MIN_BITS} to {MAX_BITS}")


def _room(protection: Protection | None, bits: int) -> dict[str, float]:
    """Return what grades and NULL add to the room that rounding needs."""
    if protection is None:
        return {}
    return {"least_epsilon": protection.least, "split_error": split_error(protection, bits)}


def _checked(
    area: Area,
    prior: ArrayLike | None,
    targets: ArrayLike,
    epsilon_per_km: float,
    beta: float,
    completion: str,
    bits: int,
    protection: Protection | None,
) -> tuple[float, tuple[int, ...], FloatArray]:
    check_making(area, completion, bits)
    n = len(area)
    epsilon = check_epsilon(epsilon_per_km)
    cells = check_targets(targets, n)
    pi = check_prior(prior, n, 1 if protection is None else protection.grades)
    if not (isinstance(beta, int | float | np.floating) and 0 < beta < 1):
        raise InputError("beta", beta, "should lie strictly between 0 and 1; minimum_beta computes it")
    # Refuse before the long computation what would be refused after it.
    mix_share(area, epsilon, beta, bits, **_room(protection, bits))
    if completion == "informative":
        check_informative(area, epsilon, bits, None if protection is None else protection.null_epsilon)
    return epsilon, cells, pi

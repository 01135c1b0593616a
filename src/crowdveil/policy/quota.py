"""Compute how large a share of the users must be selectable, so that enough are found."""

from __future__ import annotations

import numpy as np
import scipy

from crowdveil.errors import InputError
from crowdveil.vocabulary import DEFAULT_CONFIDENCE

MAX_USERS = 10**12


def minimum_beta(*, users: int, wanted: int, confidence: float = DEFAULT_CONFIDENCE) -> float:
    """Compute the least β with Pr(Binomial(users, β) ≥ wanted) ≥ confidence.

    Pr(Binomial(N, β) ≥ α) is the distribution function of Beta(α, N-α+1) at β (both count how many of N uniform
    numbers lie below β), so that the result is a quantile of that distribution.
    """
    for name, count in (("users", users), ("wanted", wanted)):
        if not isinstance(count, int | np.integer) or isinstance(count, bool) or not 1 <= count <= MAX_USERS:
            raise InputError(name, count, f"should be a whole number from 1 to {MAX_USERS:,}")
    if wanted > users:
        raise InputError("wanted", wanted, f"should be at most users = {users}")
    if not 0 < confidence < 1:
        raise InputError("confidence", confidence, "should lie strictly between 0 and 1")
    return float(scipy.special.betaincinv(wanted, users - wanted + 1, confidence))

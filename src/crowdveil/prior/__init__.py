"""Learn where people are from blurred reports: posterior, round update, pooled estimate, divergence."""

from crowdveil.prior.divergence import divergence
from crowdveil.prior.files import read_prior, write_prior
from crowdveil.prior.pooled import NULL_START, PriorEstimate, pooled_estimate
from crowdveil.prior.posterior import posterior, target_chances
from crowdveil.prior.round_update import round_update, round_update_with_null
from crowdveil.prior.rounds import Round, count_symbols

__all__ = [
    "NULL_START",
    "PriorEstimate",
    "Round",
    "count_symbols",
    "divergence",
    "pooled_estimate",
    "posterior",
    "read_prior",
    "round_update",
    "round_update_with_null",
    "target_chances",
    "write_prior",
]

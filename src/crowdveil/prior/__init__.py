"""Estimate where people are from private reports.

rounds          what the server keeps of a round: its policy and counts per symbol
posterior       where the sender of a symbol is likely to be
round_update    the paper's update after one round
pooled          our estimate from all rounds together
log_gaussian    the assumption behind it: shares vary smoothly from cell to cell
divergence      how far an estimate is from the truth
"""

from crowdveil.prior.divergence import divergence
from crowdveil.prior.files import read_prior, write_prior
from crowdveil.prior.log_gaussian import Smoothness
from crowdveil.prior.pooled import START_NULL_SHARE, PriorEstimate, pooled_estimate
from crowdveil.prior.posterior import posterior, target_chances
from crowdveil.prior.round_update import round_update, round_update_with_null
from crowdveil.prior.rounds import Round, count_symbols

__all__ = [
    "START_NULL_SHARE",
    "PriorEstimate",
    "Round",
    "Smoothness",
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

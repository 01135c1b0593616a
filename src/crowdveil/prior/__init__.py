"""Estimate where people are from private reports.

rounds            what the server keeps of a round: its policy and counts per symbol
posterior         where the sender of a symbol is likely to be
round_update      the paper's update after one round
iterative_update  iterative Bayesian update, which PRIVIC learns with
pooled            our estimate from all rounds together
log_gaussian      the assumption behind it: shares vary smoothly from cell to cell
divergence        how far an estimate is from the truth
"""

from crowdveil.prior.divergence import divergence
from crowdveil.prior.files import read_population, read_prior, write_prior
from crowdveil.prior.iterative_update import iterative_update
from crowdveil.prior.log_gaussian import Smoothness
from crowdveil.prior.pooled import START_NULL_SHARE, PriorEstimate, estimates_of_crowds, pooled_estimate
from crowdveil.prior.posterior import place_chances, posterior, target_chances
from crowdveil.prior.round_update import round_update, round_update_with_null
from crowdveil.prior.rounds import Round, count_symbols

__all__ = [
    "START_NULL_SHARE",
    "PriorEstimate",
    "Round",
    "Smoothness",
    "count_symbols",
    "divergence",
    "estimates_of_crowds",
    "iterative_update",
    "place_chances",
    "pooled_estimate",
    "posterior",
    "read_population",
    "read_prior",
    "round_update",
    "round_update_with_null",
    "target_chances",
    "write_prior",
]

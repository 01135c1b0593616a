"""Visits → probability per cell. Runs on the device; nothing of it leaves."""

from crowdveil.profile.counts import Counts, Pairs, count_visits
from crowdveil.profile.half_life import HALF_LIVES, HalfLifeChoice, HalfLifeScore, choose_half_life
from crowdveil.profile.methods import frequency, poisson, recency
from crowdveil.profile.periods import OUTSIDE_PERIODS, Periods, Split
from crowdveil.profile.profile import Profile
from crowdveil.profile.roc import Roc, roc

__all__ = [
    "HALF_LIVES",
    "OUTSIDE_PERIODS",
    "Counts",
    "HalfLifeChoice",
    "HalfLifeScore",
    "Pairs",
    "Periods",
    "Profile",
    "Roc",
    "Split",
    "choose_half_life",
    "count_visits",
    "frequency",
    "poisson",
    "recency",
    "roc",
]

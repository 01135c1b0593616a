"""Visits → probability per cell. Runs on the device; nothing of it leaves."""

from crowdveil.profile.counts import Counts, Pairs, count_visits
from crowdveil.profile.from_visits import PROFILE_METHODS, ProfileMethod, full_periods, profile_visits
from crowdveil.profile.half_life import HALF_LIVES, HalfLifeChoice, HalfLifeScore, choose_half_life
from crowdveil.profile.methods import frequency, poisson, recency
from crowdveil.profile.periods import OUTSIDE_PERIODS, Periods, Split
from crowdveil.profile.profile import Profile
from crowdveil.profile.roc import Roc, roc

__all__ = [
    "HALF_LIVES",
    "OUTSIDE_PERIODS",
    "PROFILE_METHODS",
    "Counts",
    "HalfLifeChoice",
    "HalfLifeScore",
    "Pairs",
    "Periods",
    "Profile",
    "ProfileMethod",
    "Roc",
    "Split",
    "choose_half_life",
    "count_visits",
    "frequency",
    "full_periods",
    "poisson",
    "profile_visits",
    "recency",
    "roc",
]

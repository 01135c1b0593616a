"""Turn visits into the probability of each cell, and choose the one place to report. Runs on the device.

periods     the days or weeks that visits are counted in
counts      visits per user, cell and period
methods     frequency, poisson, recency: from counts to probabilities
logistic    the default: a calibrated prediction, and how its constants are fitted
constants_file  reads and writes these constants
calibration whether what a profile says comes true
activity    who is active in which period, and thin periods at both ends
half_life   chooses the half-life of `recency`
profile     the result: probability per user and cell
place       the frequent places, and the one that is reported
roc         how well a profile predicts
"""

from crowdveil.profile.counts import Counts, Pairs, count_visits
from crowdveil.profile.from_visits import (
    PROFILE_METHODS,
    ProfileMethod,
    full_periods,
    profile_visits,
)
from crowdveil.profile.half_life import HALF_LIVES, HalfLifeChoice, HalfLifeScore, choose_half_life
from crowdveil.profile.logistic import LogisticConstants, fit_logistic, logistic, shipped_constants
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
    "LogisticConstants",
    "Pairs",
    "Periods",
    "Profile",
    "ProfileMethod",
    "Roc",
    "Split",
    "choose_half_life",
    "count_visits",
    "fit_logistic",
    "frequency",
    "full_periods",
    "logistic",
    "poisson",
    "profile_visits",
    "recency",
    "roc",
    "shipped_constants",
]

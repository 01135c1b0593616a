"""Decide what a campaign may ask of a device: its owner's limits, what a report costs, and which maps are accepted.

    privacy_limits   `PrivacyLimits`, set by the device's owner and kept in the ledger
    charge           what one report costs, what was spent so far, and the limits on the sum
    map_checks       maps that do not hide their people are refused
    lattices         maps that combine to something finer than each of them are refused
    terms_checks     every check of a campaign's terms and of its policy

The server is not trusted by a device. It uses the same checks when a campaign is created, to refuse with the same words
what every device with the default limits would refuse.
"""

from crowdveil.limits.charge import Charge, Spent, check_totals
from crowdveil.limits.lattices import Lattice, check_lattice, compatible
from crowdveil.limits.map_checks import check_map
from crowdveil.limits.privacy_limits import PrivacyLimits
from crowdveil.limits.terms_checks import check_policy, check_terms

__all__ = [
    "Charge",
    "Lattice",
    "PrivacyLimits",
    "Spent",
    "check_lattice",
    "check_map",
    "check_policy",
    "check_terms",
    "check_totals",
    "compatible",
]

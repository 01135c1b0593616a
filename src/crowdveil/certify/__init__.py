"""The independent checker of geographic privacy: exact integers, the smallest ε, the worst witness."""

from crowdveil.certify.certificate import Certificate, Witness
from crowdveil.certify.checker import certify, certify_table, smallest_epsilon
from crowdveil.certify.search import Progress

__all__ = ["Certificate", "Progress", "Witness", "certify", "certify_table", "smallest_epsilon"]

"""The independent checker of geographic privacy: exact integers, the smallest ε, the worst witness."""

from crowdveil.certify.certificate import Certificate, NullFinding, NullWitness, Witness
from crowdveil.certify.checker import certify, certify_table, smallest_epsilon
from crowdveil.certify.files import certify_file
from crowdveil.certify.search import Progress

__all__ = [
    "Certificate",
    "NullFinding",
    "NullWitness",
    "Progress",
    "Witness",
    "certify",
    "certify_file",
    "certify_table",
    "smallest_epsilon",
]

"""The independent checker of geographic privacy: exact integers, the smallest ε, the worst witness."""

from crowdveil.certify.certificate import Certificate, NullFinding, NullWitness, Witness
from crowdveil.certify.checker import certify, certify_table, smallest_epsilon

__all__ = [
    "Certificate",
    "NullFinding",
    "NullWitness",
    "Witness",
    "certify",
    "certify_table",
    "smallest_epsilon",
]

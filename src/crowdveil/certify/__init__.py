"""Check independently, in exact integers, that a policy is private; find the smallest ε and the worst pair of cells.

checker         `certify`, `certify_table`, `smallest_epsilon`
certificate     the result: verdict, smallest ε, worst pair, and their explanation
claim           the exact decision of one inequality of Definition 1
exponential     rational lower bounds of e^x
null            the same for the row of NULL
search, bounds, pairs       all pairs of cells, without looking at most of them
findings        the worst pair so far, in an interval
columns, inputs the weights that are checked, and what is refused
"""

from crowdveil.certify.certificate import Certificate, NullFinding, NullWitness, Witness
from crowdveil.certify.checker import certify, certify_table, smallest_epsilon
from crowdveil.certify.files import certify_file

__all__ = [
    "Certificate",
    "NullFinding",
    "NullWitness",
    "Witness",
    "certify",
    "certify_file",
    "certify_table",
    "smallest_epsilon",
]

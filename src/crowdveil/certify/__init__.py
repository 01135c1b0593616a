"""Check independently, in exact integers, that a policy is private; find the smallest ε and the worst pair of cells.

checker         `certify`, `certify_table`, `smallest_epsilon`
certificate     the result: verdict, smallest ε, worst pair, and their explanation
claim           the exact decision of one inequality of Definition 1
exponential     rational lower bounds of e^x
protection      the same for being outside, and for grades
search, bounds, pairs       all pairs of cells, without looking at most of them
findings        the worst pair so far, in an interval
combined        what several reports tell together: `guess_bound`
columns, inputs the weights that are checked, and what is refused
"""

from crowdveil.certify.certificate import Certificate, ProtectionFinding, ProtectionWitness, Witness
from crowdveil.certify.checker import certify, certify_table, smallest_epsilon
from crowdveil.certify.combined import AcceptedReport, combined_loss, guess_bound
from crowdveil.certify.files import certify_file

__all__ = [
    "AcceptedReport",
    "Certificate",
    "ProtectionFinding",
    "ProtectionWitness",
    "Witness",
    "certify",
    "certify_file",
    "certify_table",
    "combined_loss",
    "guess_bound",
    "smallest_epsilon",
]

"""crowdveil: choose the crowd that will cover your places, without learning where anyone is.

>>> import math
>>> import crowdveil as cv
>>> grid = cv.Grid.from_bounds(40.70, -74.02, 40.80, -73.93, cell_km=1.0)
>>> policy = cv.optimal_policy(grid, None, [40, 57], epsilon_per_km=math.log(4), beta=0.06)
>>> certificate = cv.certify(policy)
>>> certificate.ok
True
"""

from importlib.metadata import version as _version

from crowdveil.area import OUTSIDE, Area, Grid, Hexagons, Plane, Points, Towers
from crowdveil.certify import Certificate, Witness, certify, certify_table, smallest_epsilon
from crowdveil.draw import draw, draw_many
from crowdveil.errors import CrowdveilError, FileFormatError, InputError, NotPrivateError
from crowdveil.policy.baselines.exponential import exponential
from crowdveil.policy.baselines.identity import identity
from crowdveil.policy.baselines.laplace import planar_laplace, sample_planar_laplace
from crowdveil.policy.policy import Completion, Policy
from crowdveil.policy.quota import minimum_beta
from crowdveil.policy.solver.closure import least_policy
from crowdveil.policy.solver.completion import equal_columns
from crowdveil.policy.solver.optimal import optimal_policy
from crowdveil.policy.theory.bounds import lemma2_bound, lemma5_bound
from crowdveil.policy.theory.closed_form import closed_form_for_quota, closed_form_hit
from crowdveil.policy.theory.theorem1 import theorem1_hit, theorem1_threshold

__version__ = _version("crowdveil")

__all__ = [
    "OUTSIDE",
    "Area",
    "Certificate",
    "Completion",
    "CrowdveilError",
    "FileFormatError",
    "Grid",
    "Hexagons",
    "InputError",
    "NotPrivateError",
    "Plane",
    "Points",
    "Policy",
    "Towers",
    "Witness",
    "certify",
    "certify_table",
    "closed_form_for_quota",
    "closed_form_hit",
    "draw",
    "draw_many",
    "equal_columns",
    "exponential",
    "identity",
    "least_policy",
    "lemma2_bound",
    "lemma5_bound",
    "minimum_beta",
    "optimal_policy",
    "planar_laplace",
    "sample_planar_laplace",
    "smallest_epsilon",
    "theorem1_hit",
    "theorem1_threshold",
]

"""The figures of a study, one module each, in the order of the paper; then ours."""

from crowdveil.paper.figures import (
    attackers,
    deltas,
    densest,
    divergences,
    epsilons,
    many_targets,
    rocs,
    runtimes,
    several_uploads,
    two_targets,
)
from crowdveil.paper.figures.figure import FULL, QUICK, Effort, Figure, FinishedCases, Measured, Simulated
from crowdveil.plots.figure_spec import FigureSpec

OF_STUDY: dict[str, tuple[Figure, ...]] = {
    "new-york": (
        two_targets.FIGURE,
        epsilons.FIGURE,
        deltas.FIGURE,
        many_targets.FIGURE,
        divergences.FIGURE,
        runtimes.FIGURE,
        rocs.FIGURE,
        densest.FIGURE,
        attackers.FIGURE,
        several_uploads.FIGURE,
    ),
    "san-francisco": (
        many_targets.FIGURE,
        divergences.FIGURE,
        runtimes.FIGURE,
        rocs.FIGURE,
        attackers.FIGURE,
        several_uploads.FIGURE,
    ),
    "tower-city": (
        many_targets.FIGURE,
        divergences.FIGURE,
        runtimes.FIGURE,
        rocs.FIGURE,
        attackers.FIGURE,
        several_uploads.FIGURE,
    ),
}

__all__ = ["FULL", "OF_STUDY", "QUICK", "Effort", "Figure", "FigureSpec", "FinishedCases", "Measured", "Simulated"]

"""The figures of a study, one module each, in the order of the paper; then ours."""

from crowdveil.paper.figures import (
    attackers,
    balance,
    calibrations,
    deltas,
    densest,
    divergences,
    epsilons,
    losses,
    many_targets,
    rocs,
    runtimes,
    several_uploads,
    two_targets,
)
from crowdveil.paper.figures.figure import FULL, QUICK, Effort, Figure, FinishedCases, Measured, Simulated
from crowdveil.plots.figure_spec import FigureSpec

_EVERYWHERE: tuple[Figure, ...] = (
    many_targets.FIGURE,
    divergences.FIGURE,
    rocs.FIGURE,
    calibrations.FIGURE,
    losses.FIGURE,
    balance.FIGURE,
    attackers.FIGURE,
)
OF_STUDY: dict[str, tuple[Figure, ...]] = {
    "new-york": (
        two_targets.FIGURE,
        epsilons.FIGURE,
        deltas.FIGURE,
        many_targets.FIGURE,
        divergences.FIGURE,
        runtimes.FIGURE,
        rocs.FIGURE,
        calibrations.FIGURE,
        losses.FIGURE,
        balance.FIGURE,
        densest.FIGURE,
        attackers.FIGURE,
        several_uploads.FIGURE,
    ),
    "gowalla": (*_EVERYWHERE, several_uploads.FIGURE),
    "san-francisco": (*_EVERYWHERE, runtimes.FIGURE, several_uploads.FIGURE),
    "tower-city": (*_EVERYWHERE, runtimes.FIGURE, several_uploads.FIGURE),
    "synthetic-city": _EVERYWHERE,
    "own": _EVERYWHERE,
}
SIDE_BY_SIDE: tuple[FigureSpec, ...] = (losses.SPEC, rocs.SPEC, calibrations.SPEC)
"""What is drawn for several studies in one picture."""

__all__ = [
    "FULL", "OF_STUDY", "QUICK", "SIDE_BY_SIDE", "Effort", "Figure", "FigureSpec", "FinishedCases", "Measured",
    "Simulated",
]  # fmt: skip

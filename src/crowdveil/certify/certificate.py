"""Define the certificate: the smallest ε, the worst pair of cells, and the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf

from crowdveil.formatting import exact, rounded_up_below


@dataclass(frozen=True)
class Witness:
    """The pair of true cells that a symbol distinguishes most, per km."""

    cell: int
    other: int
    symbol: int
    symbol_name: str
    distance_km: float
    log_ratio: float
    """ln( P(symbol | cell) / P(symbol | other) ); infinite where `other` never sends the symbol."""
    excess: float
    """log_ratio - ε · distance_km: positive if and only if this pair breaks the claim."""


@dataclass(frozen=True)
class NullWitness:
    """The cell that a symbol distinguishes most from having no place."""

    cell: int
    symbol: int
    symbol_name: str
    log_ratio: float
    """ln( P(symbol | NULL) / P(symbol | cell) ); infinite, of either sign, where only one of the two sends it."""
    excess: float
    """|log_ratio| - ε₀: positive if and only if this cell breaks the claim."""

    def explain(self, epsilon: float) -> str:
        """Say where the worst ratio is, how large it is, and what would be allowed."""
        often = "infinitely" if isinf(self.log_ratio) else f"e^{abs(self.log_ratio):.6g} times"
        one, two = "NULL", f"cell {self.cell}"
        if self.log_ratio < 0:
            one, two = two, one
        where = f"The worst cell is {self.cell}: {one} sends '{self.symbol_name}' {often} as often as {two}"
        if self.excess <= 0:
            return where
        more = "" if self.excess == inf else f" (excess {self.excess:.3g} in the exponent)"
        return f"{where}, e^{epsilon:.6g} times is allowed{more}"


@dataclass(frozen=True)
class NullFinding:
    """Whether e^{-ε₀} ≤ P(s | NULL) / P(s | l) ≤ e^{ε₀} for all cells l and every symbol s."""

    ok: bool
    epsilon: float
    """ε₀, as the policy states it."""
    smallest_epsilon: float
    """The least ε₀ that holds, rounded up; infinite if none does."""
    witness: NullWitness | None
    """The worst cell, or None where all of them send the same as NULL."""
    exact_comparisons: int

    @property
    def smallest_shown(self) -> str:
        """The smallest ε₀ as text, rounded up."""
        if self.smallest_epsilon == inf:
            return "none: not private at any ε₀"
        return rounded_up_below(self.smallest_epsilon, self.epsilon)

    def explain(self) -> str:
        """Give the verdict, where the worst ratio is, and by how much it exceeds the claim."""
        verdict = f"Having no place is {'protected' if self.ok else 'NOT protected'} at ε₀ = {exact(self.epsilon)}"
        where = (
            "Every cell sends every symbol as often as NULL"
            if self.witness is None
            else self.witness.explain(self.epsilon)
        )
        if not self.ok:
            return f"{verdict}. {where}. Do not report with it; have it made again."
        return f"{verdict}. {where}; the smallest ε₀ that holds is {self.smallest_shown}."


@dataclass(frozen=True)
class Certificate:
    """Whether P(s | i) ≤ e^{ε d(i,j)} P(s | j) for all cells i, j and every symbol s, and NULL keeps its own claim."""

    ok: bool
    """Whether everything that the policy claims holds."""
    epsilon_per_km: float
    """The claim that was tested."""
    smallest_epsilon_per_km: float
    """The least ε that holds, rounded up: the policy is private at this value. Infinite if it is private at none."""
    witness: Witness | None
    """The worst pair, or None where all cells send the same."""
    policy_hash: str
    """Hash of the policy this speaks about; empty for a bare table."""
    cells: int
    symbols: int
    pairs_opened: int
    """Inequalities evaluated one by one; the others were decided for whole blocks at once."""
    exact_comparisons: int
    """Inequalities so close to the claim that exact arithmetic had to decide them."""
    cells_ok: bool
    """Whether Definition 1 holds between the cells, whatever was found about NULL."""
    null: NullFinding | None = None
    """What was found between NULL and the cells; None where NULL is no input of the policy."""

    @property
    def inequalities(self) -> int:
        """How many inequalities there are: ordered pairs of cells, and of NULL with each cell, times symbols."""
        pairs = self.cells * (self.cells - 1) + (0 if self.null is None else 2 * self.cells)
        return pairs * self.symbols

    @property
    def smallest_shown(self) -> str:
        """The smallest ε as text, rounded up, so that the printed number is a valid claim."""
        if self.smallest_epsilon_per_km == inf:
            return "none: not private at any ε"
        return rounded_up_below(self.smallest_epsilon_per_km, self.epsilon_per_km)

    def explain(self) -> str:
        """Give the verdict, where the worst ratio is, by how much it exceeds the claim, and what to do next."""
        return self._explain_cells() if self.null is None else f"{self._explain_cells()} {self.null.explain()}"

    def _explain_cells(self) -> str:
        verdict = f"{'Private' if self.cells_ok else 'NOT private'} at ε = {exact(self.epsilon_per_km)} per km"
        if self.witness is None:
            return f"{verdict}: every cell sends every symbol equally often."
        where = self._where(self.witness)
        if self.cells_ok:
            return f"{verdict}. {where}; the smallest ε that holds is {self.smallest_shown} per km."
        return f"{verdict}. {where}, {self._by_how_much(self.witness)}. {self._next()}"

    def _where(self, worst: Witness) -> str:
        quotient = "infinitely" if worst.log_ratio == inf else f"e^{worst.log_ratio:.6g} times"
        return (
            f"The worst pair is cells {worst.cell} and {worst.other}, {worst.distance_km:.6g} km apart: "
            f"{worst.cell} sends '{worst.symbol_name}' {quotient} as often as {worst.other}"
        )

    def _by_how_much(self, worst: Witness) -> str:
        allowed = f"e^{self.epsilon_per_km * worst.distance_km:.6g} times is allowed"
        return allowed if worst.excess == inf else f"{allowed} (excess {worst.excess:.3g} in the exponent)"

    def _next(self) -> str:
        if self.smallest_epsilon_per_km == inf:
            return (
                "No ε makes it private, because some weights of that symbol are 0 and others are not: "
                "mix in a small constant, or do not use it."
            )
        return f"Do not report with it; claim ε = {self.smallest_shown} per km, which holds, or have it made again."

    def __str__(self) -> str:
        return self.explain()

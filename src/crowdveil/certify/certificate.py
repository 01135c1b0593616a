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
    grade: int = 0
    """The grade at which the two cells are compared."""


@dataclass(frozen=True)
class ProtectionWitness:
    """The two inputs that a symbol distinguishes most, of those that are compared whatever their distance."""

    sender: int
    other: int
    """Numbers of the inputs: rows of the policy's weights."""
    sender_name: str
    other_name: str
    symbol: int
    symbol_name: str
    log_ratio: float
    """ln( P(symbol | sender) / P(symbol | other) ); infinite where `other` never sends the symbol."""
    excess: float
    """log_ratio less what is allowed: positive if and only if these inputs break the claim."""

    def explain(self, epsilon: float) -> str:
        """Say where the worst ratio is, how large it is, and what would be allowed."""
        often = "infinitely" if isinf(self.log_ratio) else f"e^{self.log_ratio:.6g} times"
        where = f"The worst ratio is that of {self.sender_name}, which sends '{self.symbol_name}' {often} as often as"
        where = f"{where} {self.other_name}"
        if self.excess <= 0:
            return where
        more = "" if self.excess == inf else f" (excess {self.excess:.3g} in the exponent)"
        return f"{where}, e^{epsilon:.6g} times is allowed{more}"


@dataclass(frozen=True)
class ProtectionFinding:
    """Whether inputs that are compared whatever their distance keep the loss that the policy states for them."""

    ok: bool
    epsilon: float
    """ε₀ or ε₁, as the policy states it."""
    smallest_epsilon: float
    """The least that holds, rounded up; infinite if none does."""
    witness: ProtectionWitness | None
    """The worst pair, or None where all of them send the same."""
    exact_comparisons: int

    @property
    def smallest_shown(self) -> str:
        """The smallest value that holds as text, rounded up."""
        if self.smallest_epsilon == inf:
            return "none: not private at any"
        return rounded_up_below(self.smallest_epsilon, self.epsilon)

    def explain(self, what: str, symbol: str) -> str:
        """Give the verdict, where the worst ratio is, and by how much it exceeds the claim."""
        verdict = f"{what} is {'protected' if self.ok else 'NOT protected'} at {symbol} = {exact(self.epsilon)}"
        where = "All inputs send every symbol equally often"
        if self.witness is not None:
            where = self.witness.explain(self.epsilon)
        if not self.ok:
            return f"{verdict}. {where}. Do not report with it; have it made again."
        return f"{verdict}. {where}; the smallest {symbol} that holds is {self.smallest_shown}."


@dataclass(frozen=True)
class Certificate:
    """Whether P(s | i) ≤ e^{ε d(i,j)} P(s | j) for all cells i, j and symbols s; grades and NULL keep their own."""

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
    """Whether Definition 1 holds between the cells of every grade, whatever was found about grades and NULL."""
    null: ProtectionFinding | None = None
    """What was found between NULL and all other inputs; None where NULL is no input of the policy."""
    grades: ProtectionFinding | None = None
    """What was found between one grade and the next; None where there are no grades."""
    grade_count: int = 1

    @property
    def inequalities(self) -> int:
        """How many inequalities there are: ordered pairs of inputs that are compared, times symbols."""
        pairs = self.grade_count * self.cells * (self.cells - 1) + 2 * (self.grade_count - 1) * self.cells
        if self.null is not None:
            pairs += 2 * self.grade_count * self.cells
        return pairs * self.symbols

    @property
    def smallest_shown(self) -> str:
        """The smallest ε as text, rounded up, so that the printed number is a valid claim."""
        if self.smallest_epsilon_per_km == inf:
            return "none: not private at any ε"
        return rounded_up_below(self.smallest_epsilon_per_km, self.epsilon_per_km)

    def explain(self) -> str:
        """Give the verdict, where the worst ratio is, by how much it exceeds the claim, and what to do next."""
        parts = [self._explain_cells()]
        if self.grades is not None:
            parts.append(self.grades.explain("The regularity of visits", "ε₁"))
        if self.null is not None:
            parts.append(self.null.explain("Being outside", "ε₀"))
        return " ".join(parts)

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
        grade = "" if self.grade_count == 1 else f" at grade {worst.grade + 1}"
        return (
            f"The worst pair is cells {worst.cell} and {worst.other}{grade}, {worst.distance_km:.6g} km apart: "
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

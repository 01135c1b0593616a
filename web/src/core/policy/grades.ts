// How many grades of visitors a campaign has, and how much an answer may tell about them in all.

interface Graded {
  /** ε₁; null: there are no grades. */
  readonly gradeEpsilon: number | null;
  /** Thresholds below δ, each with a grade of its own. */
  readonly lowerDeltas: readonly number[];
}

/** How many grades of visitors there are; 1 stands for none. */
export function gradesOf({ gradeEpsilon, lowerDeltas }: Graded): number {
  return gradeEpsilon === null ? 1 : 2 + lowerDeltas.length;
}

/** The loss between the most and the least regular visitor of a place: ε₁ times the steps between them. */
export function gradeSpread(terms: Graded): number {
  return (gradesOf(terms) - 1) * (terms.gradeEpsilon ?? 0);
}

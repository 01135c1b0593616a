// The answer of the checker: the number, the worst pair, then the judgement; in the words of the Python side.

import { exact, general, roundedUpBelow } from "../formatting";

/** The pair of cells that a symbol distinguishes most, per km. */
export interface Witness {
  readonly sender: number;
  readonly other: number;
  /** The grade at which the two cells are compared. */
  readonly grade: number;
  readonly symbol: number;
  readonly symbolName: string;
  readonly distanceKm: number;
  /** ln( P(symbol | sender) / P(symbol | other) ); infinite where `other` never sends the symbol. */
  readonly logRatio: number;
  /** logRatio - ε · distanceKm; near 0 the verdict was decided in whole numbers, not by this. */
  readonly excess: number;
}

/** The two inputs that a symbol distinguishes most, of those that are compared whatever their distance. */
export interface ProtectionWitness {
  /** Numbers of the inputs: rows of the policy's weights. */
  readonly sender: number;
  readonly other: number;
  readonly senderName: string;
  readonly otherName: string;
  readonly symbol: number;
  readonly symbolName: string;
  readonly logRatio: number;
  readonly excess: number;
}

/** Whether inputs that are compared whatever their distance keep the loss that the policy states for them. */
export interface ProtectionFinding {
  readonly ok: boolean;
  /** ε₀ or ε₁, as the policy states it. */
  readonly epsilon: number;
  readonly smallestEpsilon: number;
  readonly witness: ProtectionWitness | null;
  readonly exactComparisons: number;
}

export interface Certificate {
  /** Everything that the policy claims holds. */
  readonly ok: boolean;
  /** Definition 1 holds between the cells of every grade, whatever was found about grades and NULL. */
  readonly cellsOk: boolean;
  readonly epsilonPerKm: number;
  /** The least ε that holds, rounded up; infinite if none does. */
  readonly smallestEpsilonPerKm: number;
  readonly witness: Witness | null;
  /** What was found between NULL and all other inputs; null where NULL is no input of the policy. */
  readonly null: ProtectionFinding | null;
  /** What was found between one grade and the next; null where there are no grades. */
  readonly grades: ProtectionFinding | null;
  readonly gradeCount: number;
  readonly policyHash: string;
  readonly cells: number;
  readonly symbols: number;
  readonly exactComparisons: number;
}

export function explain(certificate: Certificate): string {
  const parts = [explainCells(certificate)];
  if (certificate.grades !== null) parts.push(explainProtection(certificate.grades, "The regularity of visits", "ε₁"));
  if (certificate.null !== null) parts.push(explainProtection(certificate.null, "Being outside", "ε₀"));
  return parts.join(" ");
}

function explainCells(found: Certificate): string {
  const verdict = `${found.cellsOk ? "Private" : "NOT private"} at ε = ${exact(found.epsilonPerKm)} per km`;
  const worst = found.witness;
  if (worst === null) return `${verdict}: every cell sends every symbol equally often.`;
  const { sender, other } = worst;
  const grade = found.gradeCount === 1 ? "" : ` at grade ${worst.grade + 1}`;
  const where =
    `The worst pair is cells ${sender} and ${other}${grade}, ${general(worst.distanceKm, 6)} km apart: ` +
    `${sender} sends '${worst.symbolName}' ${howOften(worst.logRatio)} as often as ${other}`;
  const smallest = shown(found.smallestEpsilonPerKm, found.epsilonPerKm, "none: not private at any ε");
  if (found.cellsOk) return `${verdict}. ${where}; the smallest ε that holds is ${smallest} per km.`;
  const allowed = `e^${general(found.epsilonPerKm * worst.distanceKm, 6)} times is allowed`;
  const next =
    found.smallestEpsilonPerKm === Infinity
      ? "No ε makes it private, because some weights of that symbol are 0 and others are not: " +
        "mix in a small constant, or do not use it."
      : `Do not report with it; claim ε = ${smallest} per km, which holds, or have it made again.`;
  return `${verdict}. ${where}, ${allowed}${excessOf(worst)}. ${next}`;
}

function explainProtection(found: ProtectionFinding, what: string, symbol: string): string {
  const verdict = `${what} is ${found.ok ? "protected" : "NOT protected"} at ${symbol} = ${exact(found.epsilon)}`;
  const where = found.witness === null ? "All inputs send every symbol equally often" : whereOf(found.witness, found);
  if (!found.ok) return `${verdict}. ${where}. Do not report with it; have it made again.`;
  const smallest = shown(found.smallestEpsilon, found.epsilon, "none: not private at any");
  return `${verdict}. ${where}; the smallest ${symbol} that holds is ${smallest}.`;
}

function whereOf(worst: ProtectionWitness, found: ProtectionFinding): string {
  const where =
    `The worst ratio is that of ${worst.senderName}, which sends '${worst.symbolName}' ` +
    `${howOften(worst.logRatio)} as often as ${worst.otherName}`;
  return found.ok ? where : `${where}, e^${general(found.epsilon, 6)} times is allowed${excessOf(worst)}`;
}

function howOften(logRatio: number): string {
  return logRatio === Infinity ? "infinitely" : `e^${general(logRatio, 6)} times`;
}

function excessOf(worst: Pick<Witness, "excess">): string {
  return worst.excess === Infinity ? "" : ` (excess ${general(worst.excess, 3)} in the exponent)`;
}

function shown(smallest: number, claimed: number, none: string): string {
  return smallest === Infinity ? none : roundedUpBelow(smallest, claimed);
}

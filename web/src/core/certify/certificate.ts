// The answer of the checker: the number, the worst pair, then the judgement; in the words of the Python side.

import { exact, general, roundedUpBelow } from "../formatting";

/** The two places that a symbol tells apart most; null stands for having no place. */
export interface Witness {
  readonly sender: number | null;
  readonly other: number | null;
  readonly symbol: number;
  readonly symbolName: string;
  /** 1 between NULL and a cell. */
  readonly distanceKm: number;
  /** ln( P(symbol | sender) / P(symbol | other) ); infinite where `other` never sends the symbol. */
  readonly logRatio: number;
  /** logRatio - ε · distanceKm; near 0 the verdict was decided in whole numbers, not by this. */
  readonly excess: number;
}

/** Whether e^{-ε₀} ≤ P(s | NULL) / P(s | l) ≤ e^{ε₀} for all cells l and every symbol s. */
export interface NullFinding {
  readonly ok: boolean;
  readonly epsilon: number;
  readonly smallestEpsilon: number;
  readonly witness: Witness | null;
  readonly exactComparisons: number;
}

export interface Certificate {
  /** Everything that the policy claims holds. */
  readonly ok: boolean;
  /** Definition 1 holds between the cells, whatever was found about NULL. */
  readonly cellsOk: boolean;
  readonly epsilonPerKm: number;
  /** The least ε that holds, rounded up; infinite if none does. */
  readonly smallestEpsilonPerKm: number;
  readonly witness: Witness | null;
  readonly null: NullFinding | null;
  readonly policyHash: string;
  readonly cells: number;
  readonly symbols: number;
  readonly exactComparisons: number;
}

export function explain(certificate: Certificate): string {
  const cells = explainCells(certificate);
  return certificate.null === null ? cells : `${cells} ${explainNull(certificate.null)}`;
}

function explainCells(found: Certificate): string {
  const verdict = `${found.cellsOk ? "Private" : "NOT private"} at ε = ${exact(found.epsilonPerKm)} per km`;
  const worst = found.witness;
  if (worst === null) return `${verdict}: every cell sends every symbol equally often.`;
  const { sender, other } = worst as { sender: number; other: number };
  const where =
    `The worst pair is cells ${sender} and ${other}, ${general(worst.distanceKm, 6)} km apart: ` +
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

function explainNull(found: NullFinding): string {
  const verdict = `Having no place is ${found.ok ? "protected" : "NOT protected"} at ε₀ = ${exact(found.epsilon)}`;
  const where = found.witness === null ? "Every cell sends every symbol as often as NULL" : whereOf(found.witness, found);
  if (!found.ok) return `${verdict}. ${where}. Do not report with it; have it made again.`;
  const smallest = shown(found.smallestEpsilon, found.epsilon, "none: not private at any ε₀");
  return `${verdict}. ${where}; the smallest ε₀ that holds is ${smallest}.`;
}

function whereOf(worst: Witness, found: NullFinding): string {
  const cell = (worst.sender ?? worst.other) as number;
  const name = (place: number | null): string => (place === null ? "NULL" : `cell ${place}`);
  const where =
    `The worst cell is ${cell}: ${name(worst.sender)} sends '${worst.symbolName}' ` +
    `${howOften(worst.logRatio)} as often as ${name(worst.other)}`;
  return found.ok ? where : `${where}, e^${general(found.epsilon, 6)} times is allowed${excessOf(worst)}`;
}

function howOften(logRatio: number): string {
  return logRatio === Infinity ? "infinitely" : `e^${general(logRatio, 6)} times`;
}

function excessOf(worst: Witness): string {
  return worst.excess === Infinity ? "" : ` (excess ${general(worst.excess, 3)} in the exponent)`;
}

function shown(smallest: number, claimed: number, none: string): string {
  return smallest === Infinity ? none : roundedUpBelow(smallest, claimed);
}

// What ε, cells and targets have to be, wherever they come from.

import { InputError } from "../errors";

/** Refuse a privacy level that is not a positive finite number. */
export function checkEpsilon(field: string, epsilon: number): number {
  if (!(Number.isFinite(epsilon) && epsilon > 0)) {
    throw new InputError(field, epsilon, "should be a finite number above 0");
  }
  return epsilon;
}

/** Numbers of cells 0 .. n-1. */
export function checkCells(field: string, cells: readonly number[], n: number): void {
  for (const cell of cells) {
    if (!(Number.isInteger(cell) && cell >= 0 && cell < n)) {
      throw new InputError(field, cell, `cells of this area are 0 to ${n - 1}`);
    }
  }
}

/**
 * Refuse an empty list, repeated cells, and cells that do not exist. The order is kept: people speak of their first target, and of
 * its name and number.
 */
export function checkTargets(targets: readonly number[], n: number): void {
  checkCells("targets", targets, n);
  if (targets.length === 0) throw new InputError("targets", targets, "name at least one cell to cover");
  const repeated = firstRepeated(targets);
  if (repeated !== undefined) throw new InputError("targets", repeated, "is named twice");
}

function firstRepeated(cells: readonly number[]): number | undefined {
  const seen = new Set<number>();
  return cells.find((cell) => seen.size === seen.add(cell).size);
}

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

/** Refuse no target, all cells, repeated ones and cells that do not exist; return them sorted. */
export function checkTargets(targets: readonly number[], n: number): number[] {
  checkCells("targets", targets, n);
  if (targets.length === 0) throw new InputError("targets", targets, "name at least one cell to cover");
  const sorted = [...targets].sort((a, b) => a - b);
  const repeated = sorted.find((cell, i) => cell === sorted[i - 1]);
  if (repeated !== undefined) throw new InputError("targets", repeated, "is named twice");
  if (targets.length === n) {
    throw new InputError("targets", `all ${n} cells`, "everyone covers some target then; leave some cells out");
  }
  return sorted;
}

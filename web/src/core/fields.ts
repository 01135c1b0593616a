// Reading fields of parsed JSON: one place for what a whole number, a list or a name has to look like.

import { FileFormatError, InputError, show } from "./errors";
import type { Json, JsonObject } from "./json";

const MOST_INT64 = (1n << 63n) - 1n;
const LEAST_INT64 = -(1n << 63n);

export function asObject(what: string, value: Json | undefined): JsonObject {
  if (!(value instanceof Map)) throw new FileFormatError(`${what}: should be a JSON object, not ${show(value)}`);
  return value;
}

export function asList(what: string, value: Json | undefined): Json[] {
  if (!Array.isArray(value)) throw new FileFormatError(`${what}: should be a list, not ${show(value)}`);
  return value;
}

/** The value of a field that has to be there. */
export function required(what: string, document: JsonObject, field: string): Json {
  const value = document.get(field);
  if (value === undefined) throw new FileFormatError(`${what}: the field '${field}' is missing`);
  return value;
}

export function refuseUnknown(what: string, document: JsonObject, known: ReadonlySet<string>): void {
  for (const field of document.keys()) {
    if (!known.has(field)) throw new FileFormatError(`${what}: unknown field '${field}'`);
  }
}

export function wholeNumber(field: string, value: Json | undefined, low: number, high: number): number {
  if (typeof value !== "bigint" || value < BigInt(low) || value > BigInt(high)) {
    throw new FileFormatError(`${field} = ${show(value)}: should be a whole number from ${low} to ${high}`);
  }
  return Number(value);
}

/** Whole numbers of a list that is not empty; far ones are kept apart from their neighbours by refusing them. */
export function wholeNumbers(field: string, value: Json | undefined): number[] {
  const items = asList(field, value);
  if (items.length === 0) throw new FileFormatError(`${field}: should be a list of whole numbers, not an empty one`);
  return items.map((item) => {
    if (typeof item !== "bigint" || item < LEAST_INT64 || item > MOST_INT64) {
      throw new FileFormatError(`${field}: should be a list of whole numbers, not ${show(item)}`);
    }
    const number = Number(item);
    if (!Number.isSafeInteger(number)) throw new InputError(field, item, "should be below 2^53");
    return number;
  });
}

export function wholePairs(field: string, value: Json | undefined): [number, number][] {
  return asList(field, value).map((row) => wholePair(field, row));
}

export function wholePair(field: string, value: Json | undefined): [number, number] {
  const [one, two, ...more] = wholeNumbers(field, value);
  if (one === undefined || two === undefined || more.length > 0) {
    throw new FileFormatError(`${field} = ${show(value)}: should be two whole numbers`);
  }
  return [one, two];
}

/** A whole number or a real, as a double. */
export function realNumber(field: string, value: Json | undefined): number {
  if (typeof value !== "number" && typeof value !== "bigint") {
    throw new InputError(field, value, "should be a number");
  }
  return Number(value);
}

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

/** A threshold δ of probabilities: from 0, and below 1, which no probability exceeds. */
export function checkDelta(delta: number): number {
  if (!(delta >= 0 && delta < 1)) throw new InputError("delta", delta, "should be at least 0 and below 1");
  return delta;
}

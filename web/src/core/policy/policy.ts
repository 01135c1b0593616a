// A policy: for every input, whole-number weights of the symbols a phone there may send.
//
//     P(s | x) = weights[x, s] / 2^B,      every row sums to 2^B, B = bits
//
// Inputs are the cells at grade 0 (regular visitors), the cells at grade 1 (occasional ones), ..., then outside (never seen in
// the area), where the policy protects it. The symbol `hit` is that of all targets; a stack has a symbol for each target in its
// place, and may have one for each other cell, whose columns are described by their peaks (peaks.ts). A completion refines the
// last G symbols, one for each of G grades, by a second row of weights. The hash is the SHA-256 of the canonical form (docs/reference/file-formats.md), which is built here anew from
// what was read, so nothing that was not understood is hashed.

import type { Area } from "../area/area";
import { canonicalJson, type JsonObject, type Plain } from "../codec";
import { InputError } from "../errors";
import { concat, doubleToHex, toHex, utf8, type Bytes } from "../platform/bytes";
import { sha256 } from "../platform/sha256";
import { NULL } from "../vocabulary";
import { checkCells, checkEpsilon, checkTargets } from "./checks";
import { withLast, type Weights } from "./encoding";
import { checkPeaks, weightsOf, type InputDistances, type Peaks } from "./peaks";

export const FORMAT = "crowdveil-policy";
export const VERSION = 1;
export const MAX_BITS = 62;
export const MAX_GRADES = 8;
const NAME = /^[A-Za-z0-9._ -]{1,32}$/;

export interface Completion {
  /** The cell each refined symbol stands for. */
  readonly cells: readonly number[];
  /** Which row of `weights` each input uses. */
  readonly row: readonly number[];
  readonly weights: Weights;
}

export interface PolicyFields extends InputDistances {
  /** In the order in which they were given. */
  readonly targets: readonly number[];
  /**
   * Of every input and symbol. With `peaks` a policy is made from the weights of the symbols without peaks, but for the last one,
   * and computes the others.
   */
  readonly weights: Weights;
  readonly symbols: readonly string[];
  readonly selecting: readonly number[];
  readonly bits: number;
  readonly completion: Completion | null;
  readonly value: number;
  readonly beta: number;
  readonly provenance: JsonObject;
  /** From which the weights of the first symbols are computed; null where all weights are given. */
  readonly peaks: Peaks | null;
  /** With a symbol for each target: the share of its senders who really are at that target, in the order of the targets. */
  readonly values: readonly number[];
}

export class Policy {
  readonly hash: string;
  readonly fields: PolicyFields;

  constructor(given: PolicyFields) {
    checkDistances(given);
    this.fields = given.peaks === null ? given : { ...given, weights: allWeights(given, given.peaks) };
    check(this.fields);
    this.hash = toHex(sha256(this.canonicalBytes()));
  }

  get targets(): readonly number[] {
    return this.fields.targets;
  }

  get area(): Area {
    return this.fields.area;
  }

  get epsilonPerKm(): number {
    return this.fields.epsilonPerKm;
  }

  get nullEpsilon(): number | null {
    return this.fields.nullEpsilon;
  }

  get gradeEpsilon(): number | null {
    return this.fields.gradeEpsilon;
  }

  get grades(): number {
    return this.fields.grades;
  }

  /** Whether being outside of the area is an input of the policy, not said in the clear. */
  get protectsNull(): boolean {
    return this.fields.nullEpsilon !== null;
  }

  /** The first of the symbols that a completion refines: the last one, or those of the grades. */
  get refinedFrom(): number {
    return this.fields.symbols.length - this.grades;
  }

  get symbolCount(): number {
    const { symbols, completion } = this.fields;
    return completion === null ? symbols.length : this.refinedFrom + this.grades * completion.cells.length;
  }

  /** The first symbol that a symbol refines, and the place of its cell in the completion; both are 0 or more. */
  stagesOf(symbol: number): { readonly first: number; readonly refined: number } {
    const { completion } = this.fields;
    if (completion === null || symbol < this.refinedFrom) return { first: symbol, refined: 0 };
    const number = symbol - this.refinedFrom;
    const width = completion.cells.length;
    return { first: this.refinedFrom + Math.floor(number / width), refined: number % width };
  }

  /** `hit`, `place 17`, `outside`, `grade 2`, `cell 17`, or `cell 17, grade 2`. */
  symbolName(symbol: number): string {
    checkCells("symbol", [symbol], this.symbolCount);
    const { symbols, completion } = this.fields;
    const { first, refined } = this.stagesOf(symbol);
    if (completion !== null && symbol >= this.refinedFrom) {
      const cell = `cell ${completion.cells[refined] as number}`;
      return this.grades > 1 ? `${cell}, ${symbols[first] as string}` : cell;
    }
    const name = symbols[first] as string;
    return /^[0-9]+$/.test(name) ? `cell ${name}` : name;
  }

  /** The row of an input: a cell at a grade, or `NULL` for outside, where the policy protects that. */
  inputOf(cell: number, grade = 0): number {
    const n = this.area.cells;
    if (cell === NULL && this.protectsNull) return n * this.grades;
    checkCells("cell", [cell], n);
    if (!(Number.isInteger(grade) && grade >= 0 && grade < this.grades)) {
      throw new InputError("grade", grade, `should be a whole number from 0 to ${this.grades - 1}`);
    }
    return grade * n + cell;
  }

  /** Rows of first and second weights that an input draws from. */
  rowsOf(input: number): { readonly first: BigUint64Array; readonly second: BigUint64Array | null } {
    const { weights, completion } = this.fields;
    const second = completion === null ? null : completion.weights.row(completion.row[input] as number);
    return { first: weights.row(input), second };
  }

  get inputCount(): number {
    return this.fields.weights.rows;
  }

  /** P(symbol | input) for every symbol. */
  probabilities(cell: number, grade = 0): number[] {
    return this.probabilitiesOf(this.inputOf(cell, grade));
  }

  probabilitiesOf(input: number): number[] {
    const { first, second } = this.rowsOf(input);
    const total = 2 ** this.fields.bits;
    const probabilities = Array.from(first, (weight) => Number(weight) / total);
    if (second === null) return probabilities;
    const refined = probabilities.splice(this.refinedFrom);
    for (const share of refined) for (const weight of second) probabilities.push(share * (Number(weight) / total));
    return probabilities;
  }

  canonicalBytes(): Bytes {
    const { area, bits, provenance, selecting, symbols, completion, weights, peaks, values } = this.fields;
    const { nullEpsilon, gradeEpsilon, grades } = this.fields;
    const header: Record<string, Plain> = {
      format: FORMAT,
      version: VERSION,
      area: area.description,
      bits,
      provenance,
      selecting,
      symbols,
      targets: this.targets,
      epsilon_per_km: doubleToHex(this.fields.epsilonPerKm),
      value: doubleToHex(this.fields.value),
      beta: doubleToHex(this.fields.beta),
    };
    if (nullEpsilon !== null) header["null_epsilon"] = doubleToHex(nullEpsilon);
    if (gradeEpsilon !== null) header["grade_epsilon"] = doubleToHex(gradeEpsilon);
    if (gradeEpsilon !== null) header["grades"] = grades;
    if (peaks !== null) header["peaks"] = { ...peaks };
    if (values.length > 0) header["values"] = values.map(doubleToHex);
    const parts = [weights.columnsFrom(peaks?.floor.length ?? 0).pack(bits)];
    if (completion !== null) {
      header["completion"] = { cells: completion.cells, row: completion.row, rows: completion.weights.rows };
      parts.push(completion.weights.columnsFrom(0).pack(bits));
    }
    const text = utf8(canonicalJson(header));
    const length = new DataView(new ArrayBuffer(8));
    length.setBigUint64(0, BigInt(text.length));
    return concat([new Uint8Array(length.buffer), text, ...parts]);
  }
}

/** How many inputs a policy over n cells has. */
export function inputCount(n: number, grades: number, protectsNull: boolean): number {
  return n * grades + (protectsNull ? 1 : 0);
}

/** Check what the distances of inputs depend on, from which weights are computed. */
function checkDistances({ epsilonPerKm, grades, gradeEpsilon, nullEpsilon }: InputDistances): void {
  checkEpsilon("epsilon_per_km", epsilonPerKm);
  if (nullEpsilon !== null) checkEpsilon("null_epsilon", nullEpsilon);
  if (gradeEpsilon !== null) checkEpsilon("grade_epsilon", gradeEpsilon);
  if (!(Number.isInteger(grades) && grades >= 1 && grades <= MAX_GRADES)) {
    throw new InputError("grades", grades, `should be a whole number from 1 to ${MAX_GRADES}`);
  }
  if (grades > 1 !== (gradeEpsilon !== null)) {
    throw new InputError("grades", grades, "should be 2 or more if and only if grade_epsilon is given");
  }
  if (gradeEpsilon !== null && nullEpsilon === null) {
    throw new InputError("grade_epsilon", gradeEpsilon, "should be given only together with null_epsilon");
  }
}

/** Those of symbols that have peaks, as these give them, of the others, and of the last one. */
function allWeights(given: PolicyFields, peaks: Peaks): Weights {
  const { weights, symbols, bits } = given;
  const inputs = inputCount(given.area.cells, given.grades, given.nullEpsilon !== null);
  checkPeaks(peaks, inputs, symbols.length, bits);
  const described = peaks.floor.length;
  // A policy that was made before has all weights.
  const others = weights.symbols === symbols.length ? weights.columnsFrom(described) : weights;
  if (others.rows !== inputs || others.symbols !== symbols.length - 1 - described) {
    const expected = "should be those of the symbols without peaks, but for the last symbol";
    throw new InputError("weights", `${others.rows} x ${others.symbols}`, expected);
  }
  return withLast([weightsOf(peaks, given), others], bits);
}

function check(policy: PolicyFields): void {
  const { symbols, selecting, completion, targets, values } = policy;
  const n = policy.area.cells;
  checkTargets(targets, n);
  const inputs = inputCount(n, policy.grades, policy.nullEpsilon !== null);
  if (policy.weights.rows !== inputs || policy.weights.symbols !== symbols.length) {
    throw new InputError(
      "weights",
      `${policy.weights.rows} x ${policy.weights.symbols}`,
      `should be ${inputs} x ${symbols.length}: one row for each input, one weight for each symbol`,
    );
  }
  if (symbols.length < 2 || new Set(symbols).size !== symbols.length) {
    throw new InputError("symbols", symbols, "should be two or more different names");
  }
  for (const name of symbols) {
    if (!NAME.test(name)) {
      throw new InputError("symbols", name, "should be a name of up to 32 letters, digits, spaces and -_.");
    }
  }
  checkCells("selecting", selecting, symbols.length);
  const some = selecting.length > 0 && selecting.length < symbols.length;
  if (!some || new Set(selecting).size !== selecting.length) {
    throw new InputError("selecting", selecting, "should be some, not all, of the symbols' numbers");
  }
  if (completion !== null) checkCompletion(policy, completion, n, inputs);
  if (values.length > 0 && values.length !== targets.length) {
    throw new InputError("values", values, `should be one for each of ${targets.length} targets`);
  }
  const shares = [["value", policy.value], ["beta", policy.beta], ...values.map((one) => ["values", one] as const)] as const;
  for (const [name, number] of shares) {
    if (!(number >= 0 && number <= 1 + 1e-9)) throw new InputError(name, number, "should be a number from 0 to 1");
  }
  for (const [key, entry] of policy.provenance) {
    if (typeof entry !== "string" && typeof entry !== "bigint") {
      throw new InputError(`provenance['${key}']`, entry, "should be text or a whole number");
    }
  }
}

function checkCompletion(policy: PolicyFields, completion: Completion, n: number, inputs: number): void {
  checkCells("completion.cells", completion.cells, n);
  if (completion.cells.length < 2 || new Set(completion.cells).size !== completion.cells.length) {
    throw new InputError("completion.cells", completion.cells, "should be two or more different cells");
  }
  const refinedFrom = policy.symbols.length - policy.grades;
  if (refinedFrom < 1 || policy.selecting.some((symbol) => symbol >= refinedFrom)) {
    throw new InputError("selecting", policy.selecting, "should not contain the last symbols, which the completion refines");
  }
  checkCells("completion.row", completion.row, completion.weights.rows);
  if (completion.row.length !== inputs) {
    throw new InputError("completion.row", completion.row.length, `should have one entry for each of ${inputs} inputs`);
  }
}

// A policy: for every cell, whole-number weights of the symbols a phone there may send.
//
//     P(s | l) = weights[l, s] / 2^B,      every row sums to 2^B, B = bits
//
// A completion refines the last symbol by a second row of weights; a row for NULL, where there is one, is what a phone
// without a frequent place draws from, at a loss ε₀ = nullEpsilon from every cell. The hash is the SHA-256 of the canonical
// form (docs/reference/file-formats.md), which is built here anew from what was read, so nothing that was not understood
// is hashed.

import type { Area } from "../area/area";
import { canonicalJson, type JsonObject, type Plain } from "../codec";
import { InputError } from "../errors";
import { concat, doubleToHex, toHex, utf8, type Bytes } from "../platform/bytes";
import { sha256 } from "../platform/sha256";
import { NULL } from "../vocabulary";
import { checkCells, checkEpsilon, checkTargets } from "./checks";
import type { Weights } from "./encoding";

export const FORMAT = "crowdveil-policy";
export const VERSION = 1;
export const MAX_BITS = 62;
const NAME = /^[A-Za-z0-9._ -]{1,32}$/;

export interface Completion {
  /** The cell each refined symbol stands for. */
  readonly cells: readonly number[];
  /** Which row of `weights` each true cell uses. */
  readonly row: readonly number[];
  readonly weights: Weights;
  /** Which row a phone without a place uses, where the policy has a row for NULL. */
  readonly nullRow: number | null;
}

export interface PolicyFields {
  readonly area: Area;
  readonly epsilonPerKm: number;
  readonly targets: readonly number[];
  readonly weights: Weights;
  readonly symbols: readonly string[];
  readonly selecting: readonly number[];
  readonly bits: number;
  readonly completion: Completion | null;
  readonly value: number;
  readonly beta: number;
  readonly provenance: JsonObject;
  /** ε₀: largest loss between NULL and any cell; null where NULL is said in the clear. */
  readonly nullEpsilon: number | null;
  /** One row: what a phone without a frequent place sends. */
  readonly nullWeights: Weights | null;
}

export class Policy {
  readonly hash: string;
  readonly targets: readonly number[];

  constructor(readonly fields: PolicyFields) {
    this.targets = checkTargets(fields.targets, fields.area.cells);
    check(fields);
    this.hash = toHex(sha256(this.canonicalBytes()));
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

  get protectsNull(): boolean {
    return this.fields.nullWeights !== null;
  }

  get symbolCount(): number {
    const { symbols, completion } = this.fields;
    return symbols.length + (completion === null ? 0 : completion.cells.length - 1);
  }

  /** `hit`, `other`, or `cell 17`. */
  symbolName(symbol: number): string {
    checkCells("symbol", [symbol], this.symbolCount);
    const { symbols, completion } = this.fields;
    if (completion !== null && symbol >= symbols.length - 1) {
      return `cell ${completion.cells[symbol - symbols.length + 1] as number}`;
    }
    const name = symbols[symbol] as string;
    return /^[0-9]+$/.test(name) ? `cell ${name}` : name;
  }

  /** Rows of first and second weights that a place draws from; `NULL` has them where the policy protects it. */
  rowsOf(place: number): { readonly first: BigUint64Array; readonly second: BigUint64Array | null } {
    const { weights, completion, nullWeights } = this.fields;
    if (place === NULL && nullWeights !== null) {
      const row = completion?.nullRow ?? null;
      return { first: nullWeights.row(0), second: row === null ? null : (completion as Completion).weights.row(row) };
    }
    checkCells("cell", [place], this.area.cells);
    const second = completion === null ? null : completion.weights.row(completion.row[place] as number);
    return { first: weights.row(place), second };
  }

  canonicalBytes(): Bytes {
    const { area, bits, provenance, selecting, symbols, completion, weights, nullEpsilon, nullWeights } = this.fields;
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
    const parts = [weights.pack(bits)];
    if (nullEpsilon !== null && nullWeights !== null) {
      header["null_epsilon"] = doubleToHex(nullEpsilon);
      parts.push(nullWeights.pack(bits));
    }
    if (completion !== null) {
      const refined: Record<string, Plain> = {
        cells: completion.cells,
        row: completion.row,
        rows: completion.weights.rows,
      };
      if (completion.nullRow !== null) refined["null_row"] = completion.nullRow;
      header["completion"] = refined;
      parts.push(completion.weights.pack(bits));
    }
    const text = utf8(canonicalJson(header));
    const length = new DataView(new ArrayBuffer(8));
    length.setBigUint64(0, BigInt(text.length));
    return concat([new Uint8Array(length.buffer), text, ...parts]);
  }
}

function check(policy: PolicyFields): void {
  const { symbols, selecting, completion } = policy;
  const n = policy.area.cells;
  checkEpsilon("epsilon_per_km", policy.epsilonPerKm);
  if (policy.weights.rows !== n) {
    throw new InputError("weights", `${policy.weights.rows} rows`, `should have one row for each of ${n} cells`);
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
  if ((policy.nullEpsilon === null) !== (policy.nullWeights === null)) {
    throw new InputError("null_epsilon", policy.nullEpsilon, "null_epsilon and null_weights go together, or neither");
  }
  if (policy.nullEpsilon !== null) checkEpsilon("null_epsilon", policy.nullEpsilon);
  if (completion !== null) checkCompletion(policy, completion, n);
  for (const [name, number] of [
    ["value", policy.value],
    ["beta", policy.beta],
  ] as const) {
    if (!(number >= 0 && number <= 1 + 1e-9)) throw new InputError(name, number, "should be a number from 0 to 1");
  }
  for (const [key, entry] of policy.provenance) {
    if (typeof entry !== "string" && typeof entry !== "bigint") {
      throw new InputError(`provenance['${key}']`, entry, "should be text or a whole number");
    }
  }
}

function checkCompletion(policy: PolicyFields, completion: Completion, n: number): void {
  checkCells("completion.cells", completion.cells, n);
  if (completion.cells.length < 2 || new Set(completion.cells).size !== completion.cells.length) {
    throw new InputError("completion.cells", completion.cells, "should be two or more different cells");
  }
  if (policy.selecting.includes(policy.symbols.length - 1)) {
    throw new InputError("selecting", policy.selecting, "a completion refines the last symbol; it cannot select");
  }
  checkCells("completion.row", completion.row, completion.weights.rows);
  if (completion.row.length !== n) {
    throw new InputError("completion.row", completion.row.length, `should have one entry for each of ${n} cells`);
  }
  if ((completion.nullRow === null) !== (policy.nullWeights === null)) {
    throw new InputError("completion.null_row", completion.nullRow, "belongs to a row for NULL, and a row to it");
  }
  if (completion.nullRow !== null) checkCells("completion.null_row", [completion.nullRow], completion.weights.rows);
}

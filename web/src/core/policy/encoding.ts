// Rows of whole-number weights, each summing to 2^bits; written and read without the last symbol, which takes what is left.

import { asList, type Json } from "../codec";
import { FileFormatError, show } from "../errors";

export const MAX_TABLE_ENTRIES = 16_000_000;

export class Weights {
  constructor(
    readonly rows: number,
    readonly symbols: number,
    private readonly values: BigUint64Array,
  ) {}

  at(row: number, symbol: number): bigint {
    return this.values[row * this.symbols + symbol] as bigint;
  }

  row(row: number): BigUint64Array {
    return this.values.subarray(row * this.symbols, (row + 1) * this.symbols);
  }

  /** Big-endian whole numbers of as many bytes as 2^bits needs, row after row, without the last symbol. */
  pack(bits: number): Uint8Array {
    const width = byteWidth(bits);
    const packed = new Uint8Array(this.rows * (this.symbols - 1) * width);
    const word = new DataView(new ArrayBuffer(8));
    const bytes = new Uint8Array(word.buffer, 8 - width);
    let to = 0;
    for (let row = 0; row < this.rows; row++) {
      for (let symbol = 0; symbol < this.symbols - 1; symbol++) {
        word.setBigUint64(0, this.at(row, symbol));
        packed.set(bytes, to);
        to += width;
      }
    }
    return packed;
  }
}

function byteWidth(bits: number): number {
  return Math.floor(bits / 8) + 1;
}

/** How many bytes `unpackWeights` needs. */
export function packedBytes(rows: number, symbols: number, bits: number): number {
  return rows * (symbols - 1) * byteWidth(bits);
}

/** Undo `Weights.pack`. */
export function unpackWeights(data: Uint8Array, rows: number, symbols: number, bits: number): Weights {
  const width = byteWidth(bits);
  if (data.length < packedBytes(rows, symbols, bits)) throw new FileFormatError("policy: the weights are cut short");
  const word = new DataView(new ArrayBuffer(8));
  const bytes = new Uint8Array(word.buffer, 8 - width);
  let at = 0;
  return build(rows, symbols, bits, () => {
    bytes.set(data.subarray(at, at + width));
    at += width;
    return word.getBigUint64(0);
  });
}

/** Weights as JSON lists them: bare numbers if there are two symbols, else rows of all but the last. */
export function readWeights(value: Json | undefined, symbols: number, bits: number): Weights {
  const rows = asList("policy: weights", value);
  const flat: bigint[] = [];
  for (const row of rows) {
    const items = symbols === 2 ? [row] : asList("policy: a row of weights", row);
    if (items.length !== symbols - 1) {
      throw new FileFormatError(`policy: weights should be ${symbols - 1} a row, not ${items.length}`);
    }
    for (const item of items) {
      if (typeof item !== "bigint") throw new FileFormatError(`policy: a weight is ${show(item)}, no whole number`);
      flat.push(item);
    }
  }
  if (rows.length === 0) throw new FileFormatError("policy: weights should not be an empty list");
  let at = 0;
  return build(rows.length, symbols, bits, () => flat[at++] as bigint);
}

function build(rows: number, symbols: number, bits: number, next: () => bigint): Weights {
  if (rows * symbols > MAX_TABLE_ENTRIES) {
    throw new FileFormatError(`policy: ${rows} x ${symbols} weights; at most ${MAX_TABLE_ENTRIES}`);
  }
  const total = 1n << BigInt(bits);
  const values = new BigUint64Array(rows * symbols);
  for (let row = 0; row < rows; row++) {
    let left = total;
    for (let symbol = 0; symbol < symbols - 1; symbol++) {
      const weight = next();
      if (weight < 0n || weight > total) {
        throw new FileFormatError(`policy: a weight of row ${row} is ${weight}; should lie between 0 and 2^${bits}`);
      }
      values[row * symbols + symbol] = weight;
      left -= weight;
    }
    if (left < 0n) throw new FileFormatError(`policy: the weights of row ${row} sum to more than 2^${bits}`);
    values[row * symbols + symbols - 1] = left;
  }
  return new Weights(rows, symbols, values);
}

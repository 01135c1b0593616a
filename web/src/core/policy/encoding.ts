// Rows of whole-number weights; written and read without the last symbol, whose weight is what is left of 2^bits.

import { asList, type Json } from "../codec";
import { FileFormatError, show } from "../errors";

export const MAX_TABLE_ENTRIES = 16_000_000;
const MAX_WEIGHT = (1n << 63n) - 1n;

/** Whole numbers, row after row: those of all symbols, or of some columns. */
export class Weights {
  constructor(
    readonly rows: number,
    readonly symbols: number,
    readonly values = new BigUint64Array(rows * symbols),
  ) {}

  at(row: number, symbol: number): bigint {
    return this.values[row * this.symbols + symbol] as bigint;
  }

  row(row: number): BigUint64Array {
    return this.values.subarray(row * this.symbols, (row + 1) * this.symbols);
  }

  /** The columns from one on, without the last. */
  columnsFrom(first: number): Weights {
    const found = new Weights(this.rows, this.symbols - 1 - first);
    for (let row = 0; row < this.rows; row++) {
      found.values.set(this.row(row).subarray(first, this.symbols - 1), row * found.symbols);
    }
    return found;
  }

  /** Big-endian whole numbers of as many bytes as 2^bits needs, row after row. */
  pack(bits: number): Uint8Array {
    const width = byteWidth(bits);
    const packed = new Uint8Array(this.values.length * width);
    const word = new DataView(new ArrayBuffer(8));
    const bytes = new Uint8Array(word.buffer, 8 - width);
    this.values.forEach((weight, number) => {
      word.setBigUint64(0, weight);
      packed.set(bytes, number * width);
    });
    return packed;
  }
}

function byteWidth(bits: number): number {
  return Math.floor(bits / 8) + 1;
}

/** How many bytes `unpackColumns` needs. */
export function packedBytes(rows: number, columns: number, bits: number): number {
  return rows * columns * byteWidth(bits);
}

/** Undo `Weights.pack`. */
export function unpackColumns(data: Uint8Array, rows: number, columns: number, bits: number): Weights {
  const width = byteWidth(bits);
  checkSize(rows, columns);
  if (data.length < packedBytes(rows, columns, bits)) throw new FileFormatError("policy: the weights are cut short");
  const word = new DataView(new ArrayBuffer(8));
  const bytes = new Uint8Array(word.buffer, 8 - width);
  const found = new Weights(rows, columns);
  for (let number = 0; number < found.values.length; number++) {
    bytes.set(data.subarray(number * width, (number + 1) * width));
    found.values[number] = word.getBigUint64(0);
  }
  return found;
}

/** Columns as JSON lists them: bare numbers if there is one column, else rows. */
export function readColumns(value: Json | undefined, columns: number): Weights {
  const rows = asList("policy: weights", value);
  if (rows.length === 0) throw new FileFormatError("policy: weights should not be an empty list");
  checkSize(rows.length, columns);
  const found = new Weights(rows.length, columns);
  rows.forEach((row, number) => {
    const items = columns === 1 ? [row] : asList("policy: a row of weights", row);
    if (items.length !== columns) {
      throw new FileFormatError(`policy: weights should be ${columns} a row, not ${items.length}`);
    }
    items.forEach((item, column) => {
      if (typeof item !== "bigint" || item < 0n || item > MAX_WEIGHT) {
        throw new FileFormatError(`policy: a weight is ${show(item)}; should be a whole number from 0 to 2^63 - 1`);
      }
      found.values[number * columns + column] = item;
    });
  });
  return found;
}

/** Put columns side by side, and add the last one, which is what is left of 2^bits. */
export function withLast(parts: readonly Weights[], bits: number): Weights {
  const rows = parts[0]?.rows ?? 0;
  const symbols = 1 + parts.reduce((sum, part) => sum + part.symbols, 0);
  checkSize(rows, symbols);
  const total = 1n << BigInt(bits);
  const found = new Weights(rows, symbols);
  for (let row = 0; row < rows; row++) {
    let left = total;
    let at = row * symbols;
    for (const part of parts) {
      for (const weight of part.row(row)) {
        if (weight > total) {
          throw new FileFormatError(`policy: a weight of row ${row} is ${weight}; should lie between 0 and 2^${bits}`);
        }
        found.values[at++] = weight;
        left -= weight;
      }
    }
    if (left < 0n) throw new FileFormatError(`policy: the weights of row ${row} sum to more than 2^${bits}`);
    found.values[at] = left;
  }
  return found;
}

function checkSize(rows: number, symbols: number): void {
  if (rows * symbols > MAX_TABLE_ENTRIES) {
    throw new FileFormatError(`policy: ${rows} x ${symbols} weights; at most ${MAX_TABLE_ENTRIES}`);
  }
}

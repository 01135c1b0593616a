// Randomness from the operating system's generator only, as whole numbers; tests pass a tape in.

import { InputError } from "../errors";

/** A whole number uniform on 0 .. 2^bits - 1. */
export type RandomBits = (bits: number) => bigint;
/** A whole number uniform on 0 .. below - 1. */
export type RandomBelow = (below: number) => number;

export const secureBits: RandomBits = (bits) => {
  const bytes = crypto.getRandomValues(new Uint8Array(Math.ceil(bits / 8)));
  let number = 0n;
  for (const byte of bytes) number = (number << 8n) | BigInt(byte);
  return number >> BigInt(8 * bytes.length - bits);
};

/** By rejection: numbers at or above `below` are thrown away, so that none of the others is likelier. */
export const secureBelow: RandomBelow = (below) => {
  const bits = below.toString(2).length;
  for (;;) {
    const number = Number(secureBits(bits));
    if (number < below) return number;
  }
};

/** A secret of 256 random bits, as text that fits a header. */
export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** What a generator gave, or a refusal: a broken one must not decide what is sent. */
export function checkedBits(randomBits: RandomBits, bits: number): bigint {
  const number = randomBits(bits);
  if (!(number >= 0n && number < 1n << BigInt(bits))) {
    throw new InputError(`randomBits(${bits})`, number, `should give whole numbers from 0 to 2^${bits} - 1`);
  }
  return number;
}

export function checkedBelow(randomBelow: RandomBelow, below: number): number {
  const number = randomBelow(below);
  if (!(Number.isInteger(number) && number >= 0 && number < below)) {
    throw new InputError(`randomBelow(${below})`, number, `should give 0 to ${below - 1}`);
  }
  return number;
}

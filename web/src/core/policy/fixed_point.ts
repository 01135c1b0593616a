// Compute e^-x in whole-number arithmetic only, so that every language gets the same number.
//
// Numbers are whole multiples of 2^-F, F = 64; steps in between have 2F bits, and each rounds down.
//
// Exponent: x = ε·d, with ε = a/b the exact value of its double and d = √q / 1000 km for q whole square metres:
// ⌊x 2^F⌋ = isqrt(⌊a² q 2^2F / (10^6 b²)⌋), because ⌊√⌊y⌋⌋ = ⌊√y⌋.
//
// Power: halve x until it is below 2^-8, add up the alternating series of e^-x, and square as often as was halved. Cut to F bits
// the result is within one unit of 2^F e^-x; the Python side says why.
//
// The certificate does not rely on this: it checks the whole numbers that come out, whatever they stand for.

import { bitLength, exactRatio, integerRoot } from "../platform/whole_numbers";

const FRACTION_BITS = 64n;
const STEP_BITS = 2n * FRACTION_BITS;
const SMALL_BITS = 8n;
/** Beyond this e^-x is less than 2^-92, and 0 in units of 2^-F. */
const NEGLIGIBLE = 64n;
/** 1 in units of 2^-F. */
const ONE = 2 ** 64;

/** ⌊number · 2^F⌋ for a number of at least 0. */
export function scaled(number: number): bigint {
  const { numerator, denominator } = exactRatio(number);
  return (numerator << FRACTION_BITS) / denominator;
}

/** ⌊ε · √squaredM / 1000 · 2^F⌋. */
export function scaledLoss(epsilonPerKm: number, squaredM: number): bigint {
  const { numerator: a, denominator: b } = exactRatio(epsilonPerKm);
  return integerRoot(((a * a * BigInt(squaredM)) << STEP_BITS) / (1_000_000n * b * b));
}

/** 2^F e^-x for x = loss · 2^-F, within one unit; exactly 2^F for x = 0. */
export function exponentialOfMinus(loss: bigint): bigint {
  if (loss >= NEGLIGIBLE << FRACTION_BITS) return 0n;
  const shifted = loss << FRACTION_BITS;
  const halvings = Math.max(0, bitLength(shifted) - Number(STEP_BITS - SMALL_BITS));
  const small = shifted >> BigInt(halvings);
  let term = 1n << STEP_BITS;
  let power = term;
  for (let count = 1n; term > 0n; count++) {
    term = ((term * small) >> STEP_BITS) / count;
    power += count % 2n === 0n ? term : -term;
  }
  for (let k = 0; k < halvings; k++) power = (power * power) >> STEP_BITS;
  return power >> FRACTION_BITS;
}

/** ⌊weight · power · 2^-F⌋. */
export function timesPower(weight: bigint, power: bigint): bigint {
  return (weight * power) >> FRACTION_BITS;
}

/** A power as a double, which is right to its last place. */
export function asNumber(power: bigint): number {
  return Number(power) / ONE;
}

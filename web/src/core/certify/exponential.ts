// A rational number just below e^x, in whole-number arithmetic only.
//
// The bound is a definition that all checkers of crowdveil share, because a verdict may depend on it: a pair that satisfies
// Definition 1 by less than about 2^-165 is refused. In units of 2^-F, F = 192, every division rounding down:
//
//     X  = ⌊ε d · 2^F⌋ = isqrt( ⌊ a² q 2^2F / (10^6 b²) ⌋ )       ε = a/b exactly, d = √q / 1000 km, q whole square metres
//     k  = max(0, bit length of X - (F - 8)),   r = ⌊X / 2^k⌋
//     t₀ = 2^F,   t_m = ⌊ ⌊t_{m-1} r / 2^F⌋ / m ⌋,   y = Σ t_m  up to the first t_m that is 0
//     k times   y ← ⌊y² / 2^F⌋
//
// Every step rounds down and every term is positive, so y · 2^-F ≤ e^x. What is computed here is only this; the code is
// written from it, not from the Python side's.

import { bitLength, exactRatio, integerRoot } from "../platform/whole_numbers";

export const FRACTION_BITS = 192n;
const SMALL_BITS = 8n;

/** ⌊ε √squaredM / 1000 · 2^F⌋. */
export function exponentBelow(epsilonPerKm: number, squaredM: number): bigint {
  const { numerator: a, denominator: b } = exactRatio(epsilonPerKm);
  return integerRoot(((a * a * BigInt(squaredM)) << (2n * FRACTION_BITS)) / (1_000_000n * b * b));
}

/** A whole number P with P · 2^-F ≤ e^(exponent · 2^-F). */
export function powerBelow(exponent: bigint): bigint {
  const halvings = Math.max(0, bitLength(exponent) - Number(FRACTION_BITS - SMALL_BITS));
  const small = exponent >> BigInt(halvings);
  let term = 1n << FRACTION_BITS;
  let power = 0n;
  for (let count = 1n; term > 0n; count++) {
    power += term;
    term = ((term * small) >> FRACTION_BITS) / count;
  }
  for (let k = 0; k < halvings; k++) power = (power * power) >> FRACTION_BITS;
  return power;
}

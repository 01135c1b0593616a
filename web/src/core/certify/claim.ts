// One claim, "private at ε per km", and the exact decision of one inequality of it.
//
// With whole weights w = P(s | i) · 2^B and v = P(s | j) · 2^B, and E · 2^-F the lower bound of e^{ε d(i,j)}, the inequality
// P(s | i) ≤ e^{ε d(i,j)} P(s | j) follows from w · 2^F ≤ E · v.

import { bitLength } from "../platform/whole_numbers";
import { exponentBelow, FRACTION_BITS, powerBelow } from "./exponential";

export class PrivacyClaim {
  exactComparisons = 0;
  private readonly exponents = new Map<number, bigint>();
  private readonly powers = new Map<bigint, bigint>();

  constructor(readonly epsilonPerKm: number) {}

  holds(weight: bigint, other: bigint, squaredM: number): boolean {
    this.exactComparisons += 1;
    if (weight <= other) return true;
    if (other === 0n) return false;
    const exponent = this.exponent(squaredM);
    // e^x ≥ 2^x > weight / other once x has as many units as the quotient has bits; larger powers are never computed.
    if (exponent >> FRACTION_BITS > BigInt(bitLength(weight) - bitLength(other))) return true;
    return weight << FRACTION_BITS <= this.power(exponent) * other;
  }

  private exponent(squaredM: number): bigint {
    let known = this.exponents.get(squaredM);
    if (known === undefined) {
      known = exponentBelow(this.epsilonPerKm, squaredM);
      this.exponents.set(squaredM, known);
    }
    return known;
  }

  private power(exponent: bigint): bigint {
    let known = this.powers.get(exponent);
    if (known === undefined) {
      known = powerBelow(exponent);
      this.powers.set(exponent, known);
    }
    return known;
  }
}

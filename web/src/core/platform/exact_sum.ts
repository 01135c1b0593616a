// A sum of doubles that is rounded once, so that three times ln 4 is the double nearest to 3 ln 4 and not one beside it.

import { exactRatio } from "./whole_numbers";

/** Correctly rounded (ties to even); the numbers have to be finite and not negative. */
export function exactSum(values: readonly number[]): number {
  const ratios = values.map(exactRatio);
  const denominator = ratios.reduce((most, one) => (one.denominator > most ? one.denominator : most), 1n);
  // Denominators are powers of two, so the largest is a multiple of all.
  const numerator = ratios.reduce((sum, one) => sum + one.numerator * (denominator / one.denominator), 0n);
  return nearestDouble(numerator, denominator.toString(2).length - 1);
}

/** The double nearest to numerator / 2^scale. */
function nearestDouble(numerator: bigint, scale: number): number {
  const spare = numerator.toString(2).length - 53;
  if (spare <= 0) return Number(numerator) * 2 ** -Math.min(scale, 537) * 2 ** -Math.max(0, scale - 537);
  const cut = 1n << BigInt(spare);
  const rest = numerator % cut;
  let kept = numerator / cut;
  if (2n * rest > cut || (2n * rest === cut && kept % 2n === 1n)) kept += 1n;
  const power = spare - scale;
  return power >= 0 ? Number(kept) * 2 ** power : Number(kept) * 2 ** Math.max(power, -537) * 2 ** Math.min(0, power + 537);
}

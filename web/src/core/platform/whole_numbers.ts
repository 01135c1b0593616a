// What Python's whole numbers and doubles bring along: exact quotients, bit lengths and square roots.

const DOUBLE_FRACTION_BITS = 52n;

/** The double as an exact quotient of whole numbers. */
export function exactRatio(value: number): { readonly numerator: bigint; readonly denominator: bigint } {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = (bits >> DOUBLE_FRACTION_BITS) & 0x7ffn;
  const fraction = bits & ((1n << DOUBLE_FRACTION_BITS) - 1n);
  const mantissa = exponent === 0n ? fraction : fraction | (1n << DOUBLE_FRACTION_BITS);
  const scale = (exponent === 0n ? 1n : exponent) - 1075n;
  const signed = bits >> 63n === 1n ? -mantissa : mantissa;
  return scale >= 0n
    ? { numerator: signed << scale, denominator: 1n }
    : { numerator: signed, denominator: 1n << -scale };
}

export function bitLength(value: bigint): number {
  if (value === 0n) return 0;
  const digits = value.toString(16);
  return 4 * (digits.length - 1) + (32 - Math.clz32(Number.parseInt(digits.charAt(0), 16)));
}

/** ⌊√value⌋ by Newton's steps from above. */
export function integerRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let root = 1n << BigInt((bitLength(value) + 1) >> 1);
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

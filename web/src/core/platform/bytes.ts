// Bytes, hexadecimal text and the bits of doubles: what hashes are taken of.

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export type Bytes = Uint8Array<ArrayBuffer>;

export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += HEX[byte] as string;
  return text;
}

/** Bytes of an even number of hexadecimal digits, or null. */
export function fromHex(text: string): Bytes | null {
  if (text.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(text)) return null;
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => Number.parseInt(text.slice(2 * i, 2 * i + 2), 16));
}

export function concat(parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function equalBytes(one: Uint8Array, two: Uint8Array): boolean {
  return one.length === two.length && one.every((byte, i) => byte === two[i]);
}

export function utf8(text: string): Bytes {
  return new TextEncoder().encode(text);
}

/** The 16 hexadecimal digits of an IEEE double, most significant first. */
export function doubleToHex(value: number): string {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  return toHex(new Uint8Array(view.buffer));
}

export function hexToDouble(text: string): number | null {
  const bytes = fromHex(text);
  return bytes === null || bytes.length !== 8 ? null : new DataView(bytes.buffer).getFloat64(0);
}

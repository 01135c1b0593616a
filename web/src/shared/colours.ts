// One scale for shares and probabilities: lightness alone tells more from less, so that it reads the same for every kind
// of colour vision; the hue runs from green to blue for those who see it. In dark mode more is lighter, not darker.

const LIGHT = ["#e9f5f0", "#bfe3d6", "#86cabb", "#4dabaa", "#2f8799", "#2d6385", "#2f4069", "#231f42"] as const;
const DARK = ["#182b33", "#1d4250", "#215e6b", "#2b7c80", "#459b90", "#73b99f", "#add6b6", "#ebf5d9"] as const;

type Rgb = readonly [number, number, number];

/** The scale's stops, from none to most. */
export function stops(dark: boolean): readonly string[] {
  return dark ? DARK : LIGHT;
}

/** The colour at t, from 0 to 1. */
export function colourAt(t: number, dark: boolean): string {
  const all = stops(dark);
  const at = Math.min(1, Math.max(0, t)) * (all.length - 1);
  const below = Math.min(all.length - 2, Math.floor(at));
  const from = rgb(all[below] ?? "#000000");
  const to = rgb(all[below + 1] ?? "#000000");
  const mixed = from.map((one, index) => Math.round(one + ((to[index] ?? one) - one) * (at - below)));
  return `rgb(${mixed.join(" ")})`;
}

/** Relative luminance as WCAG 2 defines it. */
export function luminance(colour: string): number {
  const [red, green, blue] = rgb(colour).map((one) => {
    const share = one / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as unknown as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** How values become places on the scale: as they are, or by square roots, which show the faint surroundings of a peak. */
export type Spread = "even" | "root";

/** Where a value stands on a scale up to `most`, from 0 to 1. */
export function position(value: number, most: number, spread: Spread): number {
  const share = most > 0 ? Math.max(0, value) / most : 0;
  return spread === "root" ? Math.sqrt(share) : share;
}

/** The share of `most` at a place on the scale. */
export function shareAt(place: number, spread: Spread): number {
  return spread === "root" ? place * place : place;
}

/** The least of 1, 2, 5 times a power of ten that is no less than a value. */
export function niceAbove(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((one) => one * power >= value * (1 - 1e-9)) ?? 10;
  return step * power;
}

function rgb(colour: string): Rgb {
  const number = Number.parseInt(colour.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

// Numbers as people read them, in the very words of the Python side. What is printed never promises more than what was
// proved: bounds are rounded up. All rounding is done on exact quotients of whole numbers, because the rounding of JavaScript
// (toFixed, toPrecision) and of Python differ where a digit is exactly halfway.

import { exactRatio } from "./platform/whole_numbers";

const MIN_DIGITS = 9;
const MAX_DIGITS = 17;

type Rounding = "half-even" | "up";

interface Decimal {
  /** Digits without leading zeros; the value is digits · 10^exponent. */
  readonly digits: bigint;
  readonly exponent: number;
}

/** The shortest text that reads back as this very number, laid out as Python does. */
export function exact(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (value === 0) return "0";
  const { digits, exponent } = shortest(Math.abs(value));
  const text = digits.toString();
  const power = exponent + text.length - 1;
  const sign = value < 0 ? "-" : "";
  return sign + (power >= -4 && power < 16 ? laidOut(text, exponent) : scientific(text, power));
}

/** Like Python's format(value, ".6g"). */
export function general(value: number, digits: number): string {
  if (!Number.isFinite(value)) return exact(value);
  if (value === 0) return "0";
  const { numerator, denominator } = exactRatio(Math.abs(value));
  const rounded = significant(numerator, denominator, digits, "half-even");
  const text = trimmed(rounded).digits.toString();
  const { exponent } = trimmed(rounded);
  const power = exponent + text.length - 1;
  const sign = value < 0 ? "-" : "";
  return sign + (power >= -4 && power < digits ? laidOut(text, exponent) : scientific(text, power));
}

/** Like Python's format(value, ".2f"). */
export function fixed(value: number, decimals: number): string {
  const { numerator, denominator } = exactRatio(Math.abs(value));
  const digits = divided(numerator * 10n ** BigInt(decimals), denominator, "half-even");
  return (value < 0 ? "-" : "") + pointed(digits, decimals);
}

/** Like Python's format(share, ".2%"). */
export function percentFixed(share: number, decimals: number): string {
  return `${fixed(share * 100, decimals)}%`;
}

/** A share that nothing exceeds, in percent, rounded up. */
export function percentUp(share: number, decimals: number): string {
  const { digits, exponent } = shortest(share);
  const scale = exponent + 2 + decimals;
  const hundredths = scale >= 0 ? digits * 10n ** BigInt(scale) : divided(digits, 10n ** BigInt(-scale), "up");
  return `${pointed(hundredths, decimals)}%`;
}

/** A whole number with a comma between thousands: 12,345. */
export function grouped(whole: number): string {
  return withCommas(whole.toString());
}

/** Text of so many digits that is never below the number. */
export function roundedUp(value: number, digits = MIN_DIGITS): string {
  return plain(trimmed(roundedUpDecimal(value, digits)));
}

/** Like `roundedUp`; with more digits where fewer would pass a limit that the number itself keeps to. */
export function roundedUpBelow(value: number, limit: number): string {
  for (let digits = MIN_DIGITS; digits < MAX_DIGITS; digits++) {
    const text = roundedUp(value, digits);
    if (limit < value || Number(text) <= limit) return text;
  }
  return exact(value);
}

/** What ε per km means for two places 1 km apart. */
export function inPlainWords(epsilonPerKm: number): string {
  if (epsilonPerKm > 100) return `no practical protection at 1 km (a factor of e^${general(epsilonPerKm, 4)})`;
  return `an answer is at most ${factor(epsilonPerKm)} times as likely from one place as from one 1 km away`;
}

function factor(epsilonPerKm: number): string {
  // Twelve digits first: e^(ln 3) should read 3, whatever its last bit says.
  const value = Number(general(Math.exp(epsilonPerKm), 12));
  if (value >= 1e9) {
    const { digits, exponent } = roundedUpDecimal(value, 4);
    const text = digits.toString().padEnd(4, "0");
    return `${text.slice(0, 1)}.${text.slice(1)}e+${exponent + digits.toString().length - 1}`;
  }
  const whole = Math.trunc(value).toString().length;
  const { digits, exponent } = trimmed(roundedUpDecimal(value, Math.max(4, whole)));
  const [units = "", rest] = laidOut(digits.toString(), exponent).split(".");
  return rest === undefined ? withCommas(units) : `${withCommas(units)}.${rest}`;
}

function withCommas(digits: string): string {
  return digits.replace(/\B(?=(?:[0-9]{3})+$)/g, ",");
}

function roundedUpDecimal(value: number, digits: number): Decimal {
  const { digits: all, exponent } = shortest(value);
  const more = all.toString().length - digits;
  return more <= 0 ? { digits: all, exponent } : { digits: divided(all, 10n ** BigInt(more), "up"), exponent: exponent + more };
}

/** The digits of the shortest text that reads back as a positive number. */
function shortest(value: number): Decimal {
  if (value === 0) return { digits: 0n, exponent: 0 };
  const [mantissa = "", power = "0"] = value.toExponential().split("e");
  const [head = "", tail = ""] = mantissa.split(".");
  return trimmed({ digits: BigInt(head + tail), exponent: Number(power) - tail.length });
}

function trimmed({ digits, exponent }: Decimal): Decimal {
  if (digits === 0n) return { digits, exponent: 0 };
  const text = digits.toString();
  const short = text.replace(/0+$/, "");
  return { digits: BigInt(short), exponent: exponent + text.length - short.length };
}

/** numerator / denominator, both positive, to so many significant digits. */
function significant(numerator: bigint, denominator: bigint, digits: number, rounding: Rounding): Decimal {
  let exponent = numerator.toString().length - denominator.toString().length - digits;
  for (;;) {
    const scaled =
      exponent >= 0
        ? divided(numerator, denominator * 10n ** BigInt(exponent), rounding)
        : divided(numerator * 10n ** BigInt(-exponent), denominator, rounding);
    if (scaled < 10n ** BigInt(digits)) return { digits: scaled, exponent };
    exponent += 1;
  }
}

function divided(numerator: bigint, denominator: bigint, rounding: Rounding): bigint {
  const quotient = numerator / denominator;
  const rest = numerator % denominator;
  if (rest === 0n) return quotient;
  if (rounding === "up") return quotient + 1n;
  const twice = 2n * rest;
  const up = twice > denominator || (twice === denominator && quotient % 2n === 1n);
  return up ? quotient + 1n : quotient;
}

function pointed(digits: bigint, decimals: number): string {
  const text = digits.toString().padStart(decimals + 1, "0");
  return decimals === 0 ? text : `${text.slice(0, -decimals)}.${text.slice(-decimals)}`;
}

function laidOut(digits: string, exponent: number): string {
  return exponent >= 0 ? digits + "0".repeat(exponent) : pointed(BigInt(digits), -exponent);
}

function scientific(digits: string, power: number): string {
  const mantissa = digits.length > 1 ? `${digits.slice(0, 1)}.${digits.slice(1)}` : digits;
  return `${mantissa}e${power < 0 ? "-" : "+"}${Math.abs(power).toString().padStart(2, "0")}`;
}

/** As Python lays out a normalised Decimal: with a power of ten only where plain digits would be long. */
function plain({ digits, exponent }: Decimal): string {
  const text = digits.toString();
  const power = exponent + text.length - 1;
  if (digits === 0n || (power >= -5 && power < 16)) return laidOut(text, exponent);
  const mantissa = text.length > 1 ? `${text.slice(0, 1)}.${text.slice(1)}` : text;
  return `${mantissa}e${power < 0 ? "-" : "+"}${Math.abs(power)}`;
}

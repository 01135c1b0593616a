// JSON as the Python side reads and writes it, and strict reading of its fields.
//
// JSON.parse cannot be used for what is hashed or certified: it rounds whole numbers above 2^53, forgets whether 1 or 1.0
// was written, and lets a field be given twice. Here whole numbers are bigints and reals are numbers, so that the two stay
// apart as they do in Python, and a repeated field is refused.

import { FileFormatError, InputError, show } from "./errors";

export type Json = null | boolean | string | bigint | number | Json[] | JsonObject;
export type JsonObject = Map<string, Json>;

const MAX_DEPTH = 200;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const PLAIN_TEXT = /[^"\\\u0000-\u001f]*/y;
const SPACE = /[ \t\n\r]*/y;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

/** Parse JSON; `what` is being read, for errors. */
export function parseJson(text: string, what: string): Json {
  const reader = new Reader(text, what);
  const value = reader.value(0);
  reader.end();
  return value;
}

class Reader {
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly what: string,
  ) {}

  value(depth: number): Json {
    if (depth > MAX_DEPTH) throw this.wrong(`nested deeper than ${MAX_DEPTH}`);
    this.space();
    switch (this.text[this.at]) {
      case "{":
        return this.object(depth);
      case "[":
        return this.list(depth);
      case '"':
        return this.string();
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      default:
        return this.number();
    }
  }

  end(): void {
    this.space();
    if (this.at < this.text.length) throw this.wrong("goes on after its end");
  }

  private object(depth: number): JsonObject {
    const found: JsonObject = new Map();
    this.at += 1;
    this.space();
    if (this.take("}")) return found;
    for (;;) {
      this.space();
      if (this.text[this.at] !== '"') throw this.wrong("a field's name is missing");
      const key = this.string();
      if (found.has(key)) throw new FileFormatError(`${this.what}: a field is given twice`);
      this.space();
      if (!this.take(":")) throw this.wrong("a colon is missing");
      found.set(key, this.value(depth + 1));
      this.space();
      if (this.take("}")) return found;
      if (!this.take(",")) throw this.wrong("a comma is missing");
    }
  }

  private list(depth: number): Json[] {
    const found: Json[] = [];
    this.at += 1;
    this.space();
    if (this.take("]")) return found;
    for (;;) {
      found.push(this.value(depth + 1));
      this.space();
      if (this.take("]")) return found;
      if (!this.take(",")) throw this.wrong("a comma is missing");
    }
  }

  private string(): string {
    let found = "";
    this.at += 1;
    for (;;) {
      PLAIN_TEXT.lastIndex = this.at;
      found += PLAIN_TEXT.exec(this.text)?.[0] ?? "";
      this.at = PLAIN_TEXT.lastIndex;
      if (this.take('"')) return found;
      if (!this.take("\\")) throw this.wrong("a text does not end");
      found += this.escape();
    }
  }

  private escape(): string {
    const letter = this.text[this.at] ?? "";
    this.at += 1;
    if (letter === "u") {
      const digits = this.text.slice(this.at, this.at + 4);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.wrong("\\u needs four digits");
      this.at += 4;
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    const plain = ESCAPES[letter];
    if (plain === undefined) throw this.wrong("an unknown escape");
    return plain;
  }

  private number(): bigint | number {
    NUMBER.lastIndex = this.at;
    const match = NUMBER.exec(this.text);
    if (match === null) throw this.wrong("no value");
    this.at = NUMBER.lastIndex;
    if (match[1] === undefined && match[2] === undefined) return BigInt(match[0]);
    return Number(match[0]);
  }

  private word<T>(word: string, value: T): T {
    if (!this.text.startsWith(word, this.at)) throw this.wrong("no value");
    this.at += word.length;
    return value;
  }

  private space(): void {
    SPACE.lastIndex = this.at;
    SPACE.exec(this.text);
    this.at = SPACE.lastIndex;
  }

  private take(letter: string): boolean {
    if (this.text[this.at] !== letter) return false;
    this.at += 1;
    return true;
  }

  private wrong(why: string): FileFormatError {
    return new FileFormatError(`${this.what}: not JSON, or cut short (${why} at character ${this.at})`);
  }
}

export type Plain = null | boolean | string | bigint | number | readonly Plain[] | PlainObject | JsonObject;
export interface PlainObject {
  readonly [field: string]: Plain;
}

/**
 * The canonical text: keys sorted by code point, no spaces, ASCII only. Numbers have to be whole: a real has no text that
 * every language writes alike.
 */
export function canonicalJson(value: Plain): string {
  return writtenJson(value, (real) => {
    throw new RangeError(`${real}: canonical JSON holds whole numbers only`);
  });
}

/** The same with reals, for texts that are kept and hashed as they were written. */
export function jsonText(value: Plain): string {
  return writtenJson(value, (real) => {
    if (!Number.isFinite(real)) throw new RangeError(`${real} is not a number that JSON knows`);
    return String(real);
  });
}

function writtenJson(value: Plain, real: (value: number) => string): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return Number.isSafeInteger(value) ? value.toString() : real(value);
  if (typeof value === "string") return quoted(value);
  if (isList(value)) return `[${value.map((one) => writtenJson(one, real)).join(",")}]`;
  const entries = value instanceof Map ? [...value.entries()] : Object.entries(value);
  entries.sort(([one], [two]) => byCodePoint(one, two));
  return `{${entries.map(([key, one]) => `${quoted(key)}:${writtenJson(one, real)}`).join(",")}}`;
}

function isList(value: readonly Plain[] | PlainObject | JsonObject): value is readonly Plain[] {
  return Array.isArray(value);
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
};

function quoted(text: string): string {
  const escaped = text.replace(
    /["\\]|[^ -~]/g,
    (unit) => SHORT_ESCAPES[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `"${escaped}"`;
}

/** Not the default order of JavaScript: that goes by UTF-16 units and puts U+10000 before U+E000. */
function byCodePoint(one: string, two: string): number {
  const a = Array.from(one, (letter) => letter.codePointAt(0) ?? 0);
  const b = Array.from(two, (letter) => letter.codePointAt(0) ?? 0);
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

// Fields of parsed JSON: what a whole number, a list or a name has to look like.

const MAX_INT64 = (1n << 63n) - 1n;
const MIN_INT64 = -(1n << 63n);

export function asObject(what: string, value: Json | undefined): JsonObject {
  if (!(value instanceof Map)) throw new FileFormatError(`${what}: should be a JSON object, not ${show(value)}`);
  return value;
}

export function asList(what: string, value: Json | undefined): Json[] {
  if (!Array.isArray(value)) throw new FileFormatError(`${what}: should be a list, not ${show(value)}`);
  return value;
}

/** The value of a field that has to be there. */
export function required(what: string, document: JsonObject, field: string): Json {
  const value = document.get(field);
  if (value === undefined) throw new FileFormatError(`${what}: the field '${field}' is missing`);
  return value;
}

export function refuseUnknown(what: string, document: JsonObject, known: ReadonlySet<string>): void {
  for (const field of document.keys()) {
    if (!known.has(field)) throw new FileFormatError(`${what}: unknown field '${field}'`);
  }
}

export function wholeNumber(field: string, value: Json | undefined, low: number, high: number): number {
  if (typeof value !== "bigint" || value < BigInt(low) || value > BigInt(high)) {
    throw new FileFormatError(`${field} = ${show(value)}: should be a whole number from ${low} to ${high}`);
  }
  return Number(value);
}

/** Whole numbers of a list that is not empty; far ones are kept apart from their neighbours by refusing them. */
export function wholeNumbers(field: string, value: Json | undefined): number[] {
  return largeWholeNumbers(field, value).map((item) => {
    const number = Number(item);
    if (!Number.isSafeInteger(number)) throw new InputError(field, item, "should be below 2^53");
    return number;
  });
}

/** Whole numbers of 64 bits of a list that is not empty. */
export function largeWholeNumbers(field: string, value: Json | undefined): bigint[] {
  const items = asList(field, value);
  if (items.length === 0) throw new FileFormatError(`${field}: should be a list of whole numbers, not an empty one`);
  return items.map((item) => {
    if (typeof item !== "bigint" || item < MIN_INT64 || item > MAX_INT64) {
      throw new FileFormatError(`${field}: should be a list of whole numbers, not ${show(item)}`);
    }
    return item;
  });
}

export function wholePairs(field: string, value: Json | undefined): [number, number][] {
  return asList(field, value).map((row) => wholePair(field, row));
}

export function wholePair(field: string, value: Json | undefined): [number, number] {
  const [one, two, ...more] = wholeNumbers(field, value);
  if (one === undefined || two === undefined || more.length > 0) {
    throw new FileFormatError(`${field} = ${show(value)}: should be two whole numbers`);
  }
  return [one, two];
}

/** A whole number or a real, as a double. */
export function realNumber(field: string, value: Json | undefined): number {
  if (typeof value !== "number" && typeof value !== "bigint") {
    throw new InputError(field, value, "should be a number");
  }
  return Number(value);
}

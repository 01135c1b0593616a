// Reading and writing the messages of protocol 1: strict, as the Python side is. Unknown fields are refused, no type is
// guessed, and what is sent is canonical bytes, because both sides hash them.

import { canonicalJson, parseJson, type Json, type JsonObject, type PlainObject } from "../codec";
import { FileFormatError, InputError } from "../errors";
import { utf8, type Bytes } from "../platform/bytes";

export const PROTOCOL = 1;
export const POLICY_MEDIA_TYPE = "application/vnd.crowdveil.policy";
const MAX_WHOLE = 2n ** 53n - 1n;
const DIGEST = /^[0-9a-f]{64}$/;
const CAMPAIGN_ID = /^[a-z0-9][a-z0-9-]{0,62}$/;

export function toBytes(message: PlainObject): Bytes {
  return utf8(canonicalJson(message));
}

/** One message that came in; every field is asked for once, and what was not asked for is refused at the end. */
export class MessageReader {
  private readonly fieldsRead = new Set<string>();

  private constructor(
    private readonly name: string,
    private readonly document: JsonObject,
  ) {}

  static read<T>(name: string, data: Uint8Array, read: (message: MessageReader) => T): T {
    let document: Json;
    try {
      document = parseJson(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data), name);
    } catch (error) {
      const why = error instanceof FileFormatError ? error.message : "not UTF-8";
      throw new InputError("body", new TextDecoder().decode(data.subarray(0, 40)), `should be JSON in UTF-8 (${why})`);
    }
    if (!(document instanceof Map)) throw new InputError("body", document, "should be a JSON object");
    return MessageReader.of(name, document, read);
  }

  /** Read a message that was parsed already. */
  static of<T>(name: string, document: JsonObject, read: (message: MessageReader) => T): T {
    const message = new MessageReader(name, document);
    const found = read(message);
    message.refuseUnknown();
    return found;
  }

  /** A message within this one. */
  nested<T>(field: string, read: (message: MessageReader) => T): T {
    const value = this.get(field);
    if (!(value instanceof Map)) throw new InputError(field, value, "should be an object");
    return MessageReader.of(`${this.name}.${field}`, value, read);
  }

  get(field: string): Json {
    const value = this.optional(field);
    if (value === undefined) throw new InputError(field, null, "is missing");
    return value;
  }

  optional(field: string): Json | undefined {
    this.fieldsRead.add(field);
    return this.document.get(field);
  }

  protocol(): void {
    const value = this.get("protocol");
    if (value !== BigInt(PROTOCOL)) throw new InputError("protocol", value, `should be ${PROTOCOL}, the only version this program supports`);
  }

  text(field: string, pattern: RegExp, expected: string): string {
    const value = this.get(field);
    if (typeof value !== "string" || !pattern.test(value)) throw new InputError(field, value, expected);
    return value;
  }

  textOrNull(field: string, pattern: RegExp, expected: string): string | null {
    return this.get(field) === null ? null : this.text(field, pattern, expected);
  }

  oneOf<T extends string>(field: string, known: readonly T[]): T {
    const value = this.get(field);
    const found = known.find((one) => one === value);
    if (found === undefined) throw new InputError(field, value, `should be one of ${known.join(", ")}`);
    return found;
  }

  flag(field: string): boolean {
    const value = this.get(field);
    if (typeof value !== "boolean") throw new InputError(field, value, "should be true or false");
    return value;
  }

  digest(field: string): string {
    return this.text(field, DIGEST, "should be SHA-256 in hex: 64 digits and letters a to f");
  }

  /** So many hexadecimal digits: a key or a signature. */
  hex(field: string, digits: number): string {
    return this.text(field, new RegExp(`^[0-9a-f]{${digits}}$`), `should be ${digits} digits and letters a to f`);
  }

  campaign(): string {
    return this.text("campaign", CAMPAIGN_ID, "should be a campaign's id: small letters, digits and -");
  }

  whole(field: string, least = 0): number {
    const value = this.get(field);
    if (typeof value !== "bigint" || value < BigInt(least) || value > MAX_WHOLE) {
      throw new InputError(field, value, `should be a whole number from ${least} to 2^53 - 1`);
    }
    return Number(value);
  }

  private real(field: string): number {
    const value = this.get(field);
    if (typeof value !== "number" && typeof value !== "bigint") throw new InputError(field, value, "should be a number");
    return Number(value);
  }

  epsilon(field: string): number {
    const value = this.real(field);
    if (!(Number.isFinite(value) && value > 0)) throw new InputError(field, value, "should be a finite number above 0");
    return value;
  }

  epsilonOrNull(field: string): number | null {
    return this.get(field) === null ? null : this.epsilon(field);
  }

  share(field: string): number {
    const value = this.real(field);
    if (!(value >= 0 && value <= 1)) throw new InputError(field, value, "should be a share from 0 to 1");
    return value;
  }

  private refuseUnknown(): void {
    for (const field of this.document.keys()) {
      if (!this.fieldsRead.has(field)) throw new InputError(`${this.name}.${field}`, field, "is not a field of this message");
    }
  }
}

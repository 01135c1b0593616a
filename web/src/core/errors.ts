// What can go wrong, as people are told about it; the same tree as the Python side has.
//
//   CrowdveilError        the caller can mend this
//   ├── InputError        a value that cannot be used: names the field, the value and what would be right
//   ├── FileFormatError   a file or message that is cut short, altered or not one of ours
//   ├── NotPrivateError   a policy that no certificate vouches for
//   ├── Refusal           a campaign that this device, or the server it asked, will not go on with, and why
//   └── NoAnswerError     the server could not be reached; trying again later is safe

export class CrowdveilError extends Error {
  override name = "CrowdveilError";
}

const MOST_SHOWN = 120;

export class InputError extends CrowdveilError {
  override name = "InputError";
  readonly field: string;
  readonly shown: string;
  readonly expected: string;

  constructor(field: string, value: unknown, expected: string) {
    const shown = show(value);
    super(`${field} = ${shown}: ${expected}`);
    this.field = field;
    this.shown = shown;
    this.expected = expected;
  }
}

export class FileFormatError extends CrowdveilError {
  override name = "FileFormatError";
}

export class NotPrivateError extends CrowdveilError {
  override name = "NotPrivateError";
}

export class Refusal extends CrowdveilError {
  override name = "Refusal";
}

export class NoAnswerError extends CrowdveilError {
  override name = "NoAnswerError";
}

/** A value as an error shows it: short, and with numbers of any size. */
export function show(value: unknown): string {
  const text = plain(value);
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN - 3)}...` : text;
}

function plain(value: unknown): string {
  if (typeof value === "string") return `'${value}'`;
  if (typeof value === "bigint" || typeof value === "number" || typeof value === "boolean") return String(value);
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return `[${value.slice(0, MOST_SHOWN).map(plain).join(", ")}]`;
  return Object.prototype.toString.call(value);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// What can go wrong, as people are told about it; the same tree as the Python side has.
//
//   CrowdveilError             the caller can mend this
//   ├── InputError             a value that cannot be used: names the field, the value and what would be right
//   ├── FileFormatError        a file or message that is cut short, altered or not one of ours
//   │   ├── EmptyFile          nothing in it to be read
//   │   └── LedgerAltered      the ledger on this device is not what this device wrote
//   ├── NotPrivateError        a policy that no certificate vouches for
//   ├── CampaignRefused        a campaign that this device, or the server it asked, will not go on with, and why
//   │   ├── LimitExceeded      it does not keep to the owner's limits for one campaign
//   │   ├── LifetimeExceeded   it would take the sum over all campaigns past the owner's limit
//   │   ├── OwnerDeclined      the owner said no
//   │   ├── NoOpenRound        no round is open at the moment; the same may be asked again
//   │   ├── ServerRefused      the server refused for good, in the words of its problem document
//   │   └── UnexpectedAnswer   whatever answered, it was not this campaign's server: a portal of a hotel says 200, too
//   └── ServerUnreachable      the server could not be reached; trying again later is safe

import type { Problem } from "./wire/problem";

export class CrowdveilError extends Error {
  override name = "CrowdveilError";
}

const MAX_SHOWN = 120;

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

export class EmptyFile extends FileFormatError {
  override name = "EmptyFile";
}

export class LedgerAltered extends FileFormatError {
  override name = "LedgerAltered";
}

export class NotPrivateError extends CrowdveilError {
  override name = "NotPrivateError";
}

export class CampaignRefused extends CrowdveilError {
  override name = "CampaignRefused";
}

export class LimitExceeded extends CampaignRefused {
  override name = "LimitExceeded";
}

export class LifetimeExceeded extends CampaignRefused {
  override name = "LifetimeExceeded";
}

export class OwnerDeclined extends CampaignRefused {
  override name = "OwnerDeclined";
}

export class NoOpenRound extends CampaignRefused {
  override name = "NoOpenRound";
}

export class ServerRefused extends CampaignRefused {
  override name = "ServerRefused";

  constructor(readonly problem: Problem) {
    super(`the server refused (${problem.kind}): ${problem.detail}`);
  }
}

export class UnexpectedAnswer extends CampaignRefused {
  override name = "UnexpectedAnswer";
}

export class ServerUnreachable extends CrowdveilError {
  override name = "ServerUnreachable";
}

/** A value as an error shows it: short, and with numbers of any size. */
export function show(value: unknown): string {
  const text = plain(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 3)}...` : text;
}

function plain(value: unknown): string {
  if (typeof value === "string") return `'${value}'`;
  if (typeof value === "bigint" || typeof value === "number" || typeof value === "boolean") return String(value);
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return `[${value.slice(0, MAX_SHOWN).map(plain).join(", ")}]`;
  return Object.prototype.toString.call(value);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

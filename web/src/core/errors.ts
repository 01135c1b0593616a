// What can go wrong, as people are told about it; the same tree as the Python side has.
//
//   CrowdveilError             the caller can mend this
//   ├── InputError             a value that cannot be used: names the field, the value and what would be right
//   ├── FileFormatError        a file or message that is cut short, altered or not one of ours
//   │   ├── EmptyFile          nothing in it to be read
//   │   ├── LedgerAltered      the ledger on this device is not what this device wrote
//   │   └── LedgerRetired      the ledger was moved to another device
//   ├── NotPrivateError        a draw from a policy without a valid certificate
//   ├── CampaignRefused        a device does not take part in a campaign, and why
//   │   ├── InviteNeeded       the campaign is for people with an invite, and the device was given none
//   │   ├── OutsideLimits      the campaign asks for more than the owner's limits allow
//   │   │   └── LimitReached   the owner's limit for all campaigns together does not allow another one like this
//   │   ├── OwnerDeclined      the device's owner was asked and said no
//   │   ├── NoOpenRound        no round is open at the moment; asking again later may succeed
//   │   ├── ServerRefused      the server refused for good, with the kind and detail of its problem document
//   │   └── UnexpectedAnswer   the answer is not of this campaign, for example the login page of a hotel's network
//   └── ServerUnreachable      no readable answer came; trying again later is safe

export class CrowdveilError extends Error {
  override name = "CrowdveilError";
  /** The exact numbers behind a message that is written for participants; empty for all other errors. */
  readonly figures: string;

  constructor(message: string, figures = "") {
    super(message);
    this.figures = figures;
  }
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

export class LedgerRetired extends FileFormatError {
  override name = "LedgerRetired";
}

export class NotPrivateError extends CrowdveilError {
  override name = "NotPrivateError";
}

export class CampaignRefused extends CrowdveilError {
  override name = "CampaignRefused";
}

export class InviteNeeded extends CampaignRefused {
  override name = "InviteNeeded";
}

export class OutsideLimits extends CampaignRefused {
  override name = "OutsideLimits";
}

export class LimitReached extends OutsideLimits {
  override name = "LimitReached";
}

export class OwnerDeclined extends CampaignRefused {
  override name = "OwnerDeclined";
}

export class NoOpenRound extends CampaignRefused {
  override name = "NoOpenRound";
}

export class ServerRefused extends CampaignRefused {
  override name = "ServerRefused";

  constructor(
    readonly kind: string,
    readonly detail: string,
  ) {
    super(`the server refused (${kind}): ${detail}`);
  }
}

export class UnexpectedAnswer extends CampaignRefused {
  override name = "UnexpectedAnswer";
}

export class ServerUnreachable extends CrowdveilError {
  override name = "ServerUnreachable";
}

/** A text in quotation marks, chosen as Python chooses them. */
export function quoted(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\");
  if (text.includes("'") && !text.includes('"')) return `"${escaped}"`;
  return `'${escaped.replaceAll("'", "\\'")}'`;
}

/** A value as an error shows it: short, and with numbers of any size. */
export function show(value: unknown): string {
  const text = plain(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 3)}...` : text;
}

function plain(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (typeof value === "bigint" || typeof value === "number" || typeof value === "boolean") return String(value);
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return `[${value.slice(0, MAX_SHOWN).map(plain).join(", ")}]`;
  return Object.prototype.toString.call(value);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// The messages between a device and the server. A report has the same size for every symbol and for NULL; a status takes
// STATUS_BYTES whether the participant is selected or not.

import type { Json, JsonObject, PlainObject } from "../codec";
import { InputError } from "../errors";
import type { Bytes } from "../platform/bytes";
import { sha256Hex } from "../platform/sha256";
import {
  CAMPAIGN_STATES,
  PARTICIPANT_STATES,
  type CampaignState,
  type Enrolment,
  type ParticipantState,
  type Period,
  type Rule,
} from "../vocabulary";
import { MessageReader, PROTOCOL, toBytes } from "./message";

const NULL_SYMBOL = "nullnull";
const SYMBOL_DIGITS = NULL_SYMBOL.length;
export const STATUS_BYTES = 4096;
const NAME = /^[^\u0000-\u001f\u007f]{1,200}$/u;
const OFFER = /^[^\u0000-\u0009\u000b-\u001f\u007f]{1,3000}$/u;

/** What is public about a campaign, and all that a device needs to decide whether to take part. */
export interface Announcement {
  readonly campaign: string;
  readonly name: string;
  readonly offer: string;
  readonly area: JsonObject;
  readonly targets: readonly number[];
  readonly epsilonPerKm: number;
  readonly delta: number;
  readonly rule: Rule;
  readonly period: Period;
  /** ε₀: how much a report may reveal about having a frequent place at all; null asks for NULL in the clear. */
  readonly nullEpsilon: number | null;
  readonly enrolment: Enrolment;
  readonly rounds: number;
  /** The open round and its policy's hash; null while none is open. */
  readonly open: { readonly round: number; readonly policyHash: string } | null;
  readonly state: CampaignState;
}

export function readAnnouncement(data: Uint8Array): Announcement {
  return MessageReader.read("Announcement", data, (message) => {
    message.protocol();
    return {
      campaign: message.campaign(),
      name: message.text("name", NAME, "should be 1 to 200 letters"),
      offer: message.text("offer", OFFER, "should be a text of at most 3,000 bytes"),
      area: readPlainObject(message.get("area")),
      targets: readTargets(message.get("targets")),
      epsilonPerKm: message.epsilon("epsilon_per_km"),
      delta: message.share("delta"),
      rule: message.oneOf("rule", ["random", "target-aware"] as const),
      period: message.oneOf("period", ["week", "day"] as const),
      nullEpsilon: (message.optional("null_epsilon") ?? null) === null ? null : message.epsilon("null_epsilon"),
      enrolment: message.oneOf("enrolment", ["open", "invite"] as const),
      rounds: message.whole("rounds", 1),
      open: readOpenRound(message),
      state: message.oneOf("state", CAMPAIGN_STATES),
    };
  });
}

/** Text, whole numbers, lists and objects only: what hashes alike everywhere. */
function readPlainObject(value: Json): JsonObject {
  if (!(value instanceof Map)) throw new InputError("area", value, "should be an object");
  const waiting: Json[] = [value];
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    if (one instanceof Map) waiting.push(...one.values());
    else if (Array.isArray(one)) for (const item of one) waiting.push(item);
    else if (typeof one !== "string" && typeof one !== "bigint") {
      throw new InputError("area", one, "should contain only text, whole numbers, lists and objects");
    }
  }
  return value;
}

function readTargets(value: Json): number[] {
  if (!Array.isArray(value) || value.length === 0) throw new InputError("targets", value, "should be a list of cells");
  return value.map((cell) => {
    if (typeof cell !== "bigint" || cell < 0n || cell >= 2n ** 53n) {
      throw new InputError("targets", cell, "should be whole numbers");
    }
    return Number(cell);
  });
}

function readOpenRound(message: MessageReader): Announcement["open"] {
  const [round, hash] = [message.get("round"), message.get("policy_hash")];
  if ((round === null) !== (hash === null)) {
    throw new InputError("round", round, "round and policy_hash should be given together, or neither");
  }
  return round === null ? null : { round: message.whole("round"), policyHash: message.digest("policy_hash") };
}

/** Request a seat. The device chooses a secret and sends its digest; the same digest gets the same seat. */
export function seatRequestBytes(secret: string, invite: string | null): Bytes {
  return toBytes({ protocol: PROTOCOL, secret_digest: sha256Hex(secret), invite });
}

/** A device's place in a round: it draws from this policy once, and reports in this round. */
export interface Seat {
  readonly campaign: string;
  readonly participant: number;
  readonly round: number;
  readonly policyHash: string;
}

export function readSeat(data: Uint8Array): Seat {
  return MessageReader.read("Seat", data, (message) => {
    message.protocol();
    return {
      campaign: message.campaign(),
      participant: message.whole("participant"),
      round: message.whole("round"),
      policyHash: message.digest("policy_hash"),
    };
  });
}

/** A report as it is sent, once. Its size is the same for every symbol and for NULL (null). */
export function reportBytes(seat: Pick<Seat, "round" | "policyHash">, symbol: number | null): Bytes {
  if (symbol !== null && !(Number.isInteger(symbol) && symbol >= 0 && symbol < 10 ** SYMBOL_DIGITS)) {
    throw new InputError("symbol", symbol, `should be a whole number of up to ${SYMBOL_DIGITS} digits, or null`);
  }
  const text = symbol === null ? NULL_SYMBOL : symbol.toString().padStart(SYMBOL_DIGITS, "0");
  const report: PlainObject = {
    protocol: PROTOCOL,
    round: seat.round,
    policy_hash: seat.policyHash,
    symbol: text,
  };
  return toBytes(report);
}

/** Confirms that a report is stored permanently; its digest is that of the report's bytes. */
export interface Receipt {
  readonly campaign: string;
  readonly participant: number;
  readonly round: number;
  readonly digest: string;
}

export function readReceipt(data: Uint8Array): Receipt {
  return MessageReader.read("Receipt", data, (message) => {
    message.protocol();
    return {
      campaign: message.campaign(),
      participant: message.whole("participant"),
      round: message.whole("round"),
      digest: message.digest("digest"),
    };
  });
}

export interface ParticipantStatus {
  readonly campaign: string;
  readonly participant: number;
  readonly state: ParticipantState;
  /** For those who are selected. */
  readonly offer: string | null;
}

export function readStatus(data: Uint8Array): ParticipantStatus {
  return MessageReader.read("ParticipantStatus", data, (message) => {
    message.protocol();
    const state = message.oneOf("state", PARTICIPANT_STATES);
    const offer = message.textOrNull("offer", OFFER, "should be a text of at most 3,000 bytes");
    if ((offer !== null) !== (state === "selected")) {
      throw new InputError("offer", offer, "should be present for selected participants only");
    }
    message.text("padding", /^ *$/, "should be blanks");
    if (data.length !== STATUS_BYTES) {
      throw new InputError("status", `${data.length} bytes`, `should take ${STATUS_BYTES}`);
    }
    return { campaign: message.campaign(), participant: message.whole("participant"), state, offer };
  });
}

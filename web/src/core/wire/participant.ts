// The messages between a device and the server. A report has the same size for every symbol and for NULL; a status takes
// STATUS_BYTES whether the participant is selected or not.

import type { Json, PlainObject } from "../codec";
import { InputError } from "../errors";
import type { Bytes } from "../platform/bytes";
import { sha256Hex } from "../platform/sha256";
import { CAMPAIGN_STATES, MAX_CHOSEN_SHOWN, PARTICIPANT_STATES, type CampaignState, type ParticipantState } from "../vocabulary";
import { MessageReader, PROTOCOL, toBytes } from "./message";
import { OFFER, readRoundNotice, readTerms, type RoundNotice, type Terms } from "./terms";

const NULL_SYMBOL = "nullnull";
const SYMBOL_DIGITS = NULL_SYMBOL.length;
export const STATUS_BYTES = 4096;

/** What is public about a campaign, and all that a device needs to decide whether to take part. */
export interface Announcement {
  readonly terms: Terms;
  /** The signed notice of the open round; null while none is open. */
  readonly notice: RoundNotice | null;
  readonly state: CampaignState;
}

export function readAnnouncement(data: Uint8Array): Announcement {
  return MessageReader.read("Announcement", data, (message) => {
    message.protocol();
    const terms = message.nested("terms", readTerms);
    const notice = message.get("notice") === null ? null : message.nested("notice", readRoundNotice);
    if (notice !== null) checkNoticeIsOf(notice, terms);
    return { terms, notice, state: message.oneOf("state", CAMPAIGN_STATES) };
  });
}

function checkNoticeIsOf(notice: RoundNotice, terms: Terms): void {
  if (notice.campaign !== terms.campaign || notice.termsHash !== terms.hash) {
    const expected = "should be of the announced campaign and of the terms that are announced with it";
    throw new InputError("notice", notice.termsHash, expected);
  }
  if (notice.round >= terms.rounds) {
    throw new InputError("notice.round", notice.round, `should be below ${terms.rounds}, the number of rounds`);
  }
}

/** Request a seat. The device chooses a secret and sends its digest; the same digest gets the same seat. */
export function seatRequestBytes(secret: string, invite: string | null): Bytes {
  return toBytes({ protocol: PROTOCOL, secret_digest: sha256Hex(secret), invite });
}

/** A device's place in a round: it draws from this policy once, and reports in this round. */
export interface Seat {
  readonly campaign: string;
  /** A random number, which does not say when the seat was taken. */
  readonly participant: number;
  readonly round: number;
  readonly policyHash: string;
  readonly termsHash: string;
}

export function readSeat(data: Uint8Array): Seat {
  return MessageReader.read("Seat", data, (message) => {
    message.protocol();
    return {
      campaign: message.campaign(),
      participant: message.whole("participant"),
      round: message.whole("round"),
      policyHash: message.digest("policy_hash"),
      termsHash: message.digest("terms_hash"),
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

/** Confirms that a participant's seat and report are forgotten; possible until the round is closed. */
export interface Withdrawal {
  readonly campaign: string;
  readonly participant: number;
}

export function readWithdrawal(data: Uint8Array): Withdrawal {
  return MessageReader.read("Withdrawal", data, (message) => {
    message.protocol();
    return { campaign: message.campaign(), participant: message.whole("participant") };
  });
}

export interface ParticipantStatus {
  readonly campaign: string;
  readonly participant: number;
  readonly state: ParticipantState;
  /** For those who are selected. */
  readonly offer: string | null;
  /** How many selections used the report so far; of a panel any number may follow. */
  readonly selections: number;
  /** The numbers of the selections that chose the participant, the last of them if there are many. */
  readonly chosen: readonly number[];
}

export function readStatus(data: Uint8Array): ParticipantStatus {
  return MessageReader.read("ParticipantStatus", data, (message) => {
    message.protocol();
    const state = message.oneOf("state", PARTICIPANT_STATES);
    const offer = message.textOrNull("offer", OFFER, "should be a text of at most 3,000 bytes");
    if ((offer !== null) !== (state === "selected")) {
      throw new InputError("offer", offer, "should be present for selected participants only");
    }
    const chosen = readChosen(message.get("chosen"));
    if (chosen.length > 0 !== (state === "selected")) {
      throw new InputError("chosen", chosen, "should name a selection for selected participants only");
    }
    message.text("padding", /^ *$/, "should be blanks");
    if (data.length !== STATUS_BYTES) {
      throw new InputError("status", `${data.length} bytes`, `should take ${STATUS_BYTES}`);
    }
    const selections = message.whole("selections");
    return { campaign: message.campaign(), participant: message.whole("participant"), state, offer, selections, chosen };
  });
}

function readChosen(value: Json): number[] {
  if (!Array.isArray(value) || value.length > MAX_CHOSEN_SHOWN) {
    throw new InputError("chosen", value, `should be a list of at most ${MAX_CHOSEN_SHOWN} selections`);
  }
  return value.map((number) => {
    if (typeof number !== "bigint" || number < 0n || number >= 2n ** 53n) {
      throw new InputError("chosen", number, "should be whole numbers");
    }
    return Number(number);
  });
}

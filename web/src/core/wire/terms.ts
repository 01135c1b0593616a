// What a campaign fixes for its whole life, and the signed notice of each round.
//
// The hash of the terms stands in every invite link, and so does the server's public key. A device that was given a link
// therefore knows whether it sees the same campaign as everyone else; the policy of each round is bound to the terms by a
// notice that the server signs. Two different notices for one round prove that the server showed different people different
// campaigns (notices.ts).

import { canonicalJson, type Json, type JsonObject, type Plain } from "../codec";
import { InputError } from "../errors";
import { concat, doubleToHex, utf8, type Bytes } from "../platform/bytes";
import { sha256Hex } from "../platform/sha256";
import type { Enrolment, Period, Rule } from "../vocabulary";
import { PROFILE_CONSTANTS, MAX_PROFILE_CONSTANT } from "../profile/logistic";
import { PROTOCOL, type MessageReader } from "./message";
import { checkSignature } from "./signing";

// Neither holds control characters, other line breaks, or marks that turn the direction of what follows: with them the name of a
// campaign could forge or reorder the sentences around it.
const NAME = /^[^\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]{1,200}$/u;
export const OFFER = /^[^\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]{1,3000}$/u;
const MAX_LOWER_DELTAS = 6;
/** What every signed notice begins with, so that the signature is valid for nothing else. */
const NOTICE_PREFIX = utf8("crowdveil round\n");

/** What a campaign promises its participants; fixed for the life of the campaign. */
export interface TermsFields {
  readonly campaign: string;
  /** The key that signs the notice of every round. */
  readonly serverKey: string;
  readonly name: string;
  readonly offer: string;
  readonly area: JsonObject;
  readonly targets: readonly number[];
  /** What the targets are called, in their order; null: they have no names. */
  readonly targetNames: readonly string[] | null;
  readonly epsilonPerKm: number;
  /** ε₀: how much a report may reveal about being outside the area; null asks for NULL in the clear. */
  readonly nullEpsilon: number | null;
  /** ε₁: how much a report may reveal about how regular a visitor is; null: there are no grades. */
  readonly gradeEpsilon: number | null;
  /** A visitor is regular where the probability of a visit exceeds this. */
  readonly delta: number;
  /** Further thresholds below δ; each divides those who are not regular visitors into one more grade. */
  readonly lowerDeltas: readonly number[];
  /** Constants of the devices' prediction, fitted by the operator; null: those that devices have. */
  readonly profileConstants: readonly number[] | null;
  readonly rule: Rule;
  readonly period: Period;
  readonly enrolment: Enrolment;
  readonly rounds: number;
  /**
   * Whether an answer serves any number of selections, until it is renewed. The targets are the places that may be asked for; a
   * later round renews the answers, and costs as much as the first.
   */
  readonly panel: boolean;
  /** Of a panel: seconds from one round's opening to the next one's; null if there is one round. */
  readonly renewalS: number | null;
  /**
   * SHA-256 of the seed of the lottery among equals of the first selection, which is published with it; of a panel, each seed is
   * the SHA-256 of the next selection's.
   */
  readonly seedHash: string;
}

export interface Terms extends TermsFields {
  /** SHA-256 of the canonical form, with every real number as the digits of its double. */
  readonly hash: string;
}

export function readTerms(message: MessageReader): Terms {
  message.protocol();
  const targets = readTargets(message.get("targets"));
  const fields: TermsFields = {
    campaign: message.campaign(),
    serverKey: message.hex("server_key", 64),
    name: message.text("name", NAME, "should be 1 to 200 letters"),
    offer: message.text("offer", OFFER, "should be a text of at most 3,000 bytes"),
    area: readPlainObject(message.get("area")),
    targets,
    targetNames: readTargetNames(message.get("target_names"), targets.length),
    epsilonPerKm: message.epsilon("epsilon_per_km"),
    nullEpsilon: message.epsilonOrNull("null_epsilon"),
    gradeEpsilon: message.epsilonOrNull("grade_epsilon"),
    delta: message.share("delta"),
    lowerDeltas: readLowerDeltas(message.get("lower_deltas")),
    profileConstants: readConstants(message.get("profile_constants")),
    rule: message.oneOf("rule", ["random", "target-aware"] as const),
    period: message.oneOf("period", ["week", "day"] as const),
    enrolment: message.oneOf("enrolment", ["open", "invite"] as const),
    rounds: message.whole("rounds", 1),
    panel: message.flag("panel"),
    renewalS: message.get("renewal_s") === null ? null : message.whole("renewal_s", 1),
    seedHash: message.digest("seed_hash"),
  };
  if (fields.gradeEpsilon !== null && fields.nullEpsilon === null) {
    throw new InputError("grade_epsilon", fields.gradeEpsilon, "needs null_epsilon; both should be null in the clear form");
  }
  checkThresholds(fields);
  checkRenewal(fields);
  return { ...fields, hash: termsHash(fields) };
}

function checkThresholds({ delta, lowerDeltas, gradeEpsilon }: TermsFields): void {
  if (lowerDeltas.length > 0 && gradeEpsilon === null) {
    throw new InputError("lower_deltas", lowerDeltas, "applies only to grades; it should be empty in the clear form");
  }
  const falling = [delta, ...lowerDeltas];
  if (falling.some((one, number) => number > 0 && one >= (falling[number - 1] as number))) {
    throw new InputError("lower_deltas", lowerDeltas, "should fall: each below the one before it, the first below delta");
  }
}

/** Refuse renewals of what is not a panel, or rounds of a panel without a schedule. */
function checkRenewal({ panel, renewalS, rounds }: TermsFields): void {
  if (renewalS !== null && !panel) throw new InputError("renewal_s", renewalS, "applies only to a panel");
  if (panel && (renewalS === null) !== (rounds === 1)) {
    const expected = `should say when a panel of ${rounds} rounds renews, and be left out for one round`;
    throw new InputError("renewal_s", renewalS, expected);
  }
}

function readReals(field: string, value: Json, low: number, high: number): number[] {
  if (!Array.isArray(value)) throw new InputError(field, value, "should be a list of numbers");
  return value.map((one) => {
    const number = typeof one === "bigint" ? Number(one) : one;
    if (typeof number !== "number" || !(number >= low && number <= high)) {
      throw new InputError(field, one, `should be numbers from ${low} to ${high}`);
    }
    return number;
  });
}

function readLowerDeltas(value: Json): number[] {
  const found = readReals("lower_deltas", value, 0, 1);
  if (found.length > MAX_LOWER_DELTAS || found.some((one) => one === 0 || one === 1)) {
    throw new InputError("lower_deltas", found, `should be at most ${MAX_LOWER_DELTAS} numbers above 0 and below 1`);
  }
  return found;
}

function readConstants(value: Json): number[] | null {
  if (value === null) return null;
  const found = readReals("profile_constants", value, -MAX_PROFILE_CONSTANT, MAX_PROFILE_CONSTANT);
  if (found.length !== PROFILE_CONSTANTS) {
    throw new InputError("profile_constants", found.length, `should be ${PROFILE_CONSTANTS} numbers`);
  }
  return found;
}

export function termsHash(terms: TermsFields): string {
  const digits = (value: number | null): Plain => (value === null ? null : doubleToHex(value));
  return sha256Hex(
    canonicalJson({
      protocol: PROTOCOL,
      campaign: terms.campaign,
      server_key: terms.serverKey,
      name: terms.name,
      offer: terms.offer,
      area: terms.area,
      targets: terms.targets,
      target_names: terms.targetNames,
      epsilon_per_km: digits(terms.epsilonPerKm),
      null_epsilon: digits(terms.nullEpsilon),
      grade_epsilon: digits(terms.gradeEpsilon),
      delta: digits(terms.delta),
      lower_deltas: terms.lowerDeltas.map(doubleToHex),
      profile_constants: terms.profileConstants === null ? null : terms.profileConstants.map(doubleToHex),
      rule: terms.rule,
      period: terms.period,
      enrolment: terms.enrolment,
      rounds: terms.rounds,
      panel: terms.panel,
      renewal_s: terms.renewalS,
      seed_hash: terms.seedHash,
    }),
  );
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

function readTargetNames(value: Json, targets: number): string[] | null {
  if (value === null) return null;
  if (!Array.isArray(value) || value.length !== targets) {
    throw new InputError("target_names", value, `should be one name for each of ${targets} targets`);
  }
  return value.map((name) => {
    if (typeof name !== "string" || !NAME.test(name)) {
      throw new InputError("target_names", name, "should be 1 to 200 letters each");
    }
    return name;
  });
}

/** Announces the policy of a round, signed by the server; there is one for each round, the same for everyone. */
export interface RoundNotice {
  readonly campaign: string;
  readonly termsHash: string;
  readonly round: number;
  readonly policyHash: string;
  readonly signature: string;
}

export function readRoundNotice(message: MessageReader): RoundNotice {
  return {
    campaign: message.campaign(),
    termsHash: message.digest("terms_hash"),
    round: message.whole("round"),
    policyHash: message.digest("policy_hash"),
    signature: message.hex("signature", 128),
  };
}

/** Refuse a notice that this server did not sign (an InputError). */
export function verifyNotice(notice: RoundNotice, serverKey: string): void {
  try {
    checkSignature(serverKey, notice.signature, signedBytes(notice));
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError("notice.signature", notice.signature.slice(0, 12), error.expected);
  }
}

function signedBytes({ campaign, termsHash, round, policyHash }: RoundNotice): Bytes {
  const fields = { campaign, terms_hash: termsHash, round, policy_hash: policyHash };
  return concat([NOTICE_PREFIX, utf8(canonicalJson(fields))]);
}

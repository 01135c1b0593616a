// Define the events of a ledger, chained by digests, and the entry that they give for one report.
//
//     created, limits                     the owner's limits, and what was spent before the ledger began
//     secret, seat, drawn                 the steps of one report; its charge and its symbol are in `drawn`
//     acknowledged, refused, withdrawn    what became of it
//     retired, imported                   the ledger was moved to another device, or came from one
//
// The text of a body is stored and hashed as it was written, so that programs in other languages, which write real numbers
// differently, check the same chain. Anyone who can write the ledger can also compute digests: they detect damage and careless
// edits, not a deliberate change by the device's owner.

import { asObject, canonicalJson, jsonText, parseJson, realNumber, wholeNumber, type Json, type JsonObject, type PlainObject } from "../codec";
import { CrowdveilError, FileFormatError, LedgerAltered, quoted } from "../errors";
import { checkSpent, type Charge, type Spent } from "../limits/charge";
import { readLattice, type Lattice } from "../limits/lattices";
import { readLimits, type PrivacyLimits } from "../limits/privacy_limits";
import { sha256Hex } from "../platform/sha256";
import { MessageReader } from "../wire/message";
import { readRoundNotice, type RoundNotice } from "../wire/terms";

export const EVENT_KINDS = [
  "created",
  "limits",
  "secret",
  "seat",
  "drawn",
  "acknowledged",
  "refused",
  "withdrawn",
  "retired",
  "imported",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];
const ENTRY_KINDS = ["joining", "drawn", "acknowledged", "refused", "withdrawn"] as const;
export type EntryState = (typeof ENTRY_KINDS)[number];

/** What a report is known by: the server, by its key, so that another server's campaign of the same id is another. */
export interface ReportKey {
  readonly serverKey: string;
  readonly campaign: string;
  /** Number of the report in the campaign. */
  readonly report: number;
}

/** The key of events that are about the device, not about a report. */
export const THE_DEVICE: ReportKey = { serverKey: "", campaign: "", report: 0 };

/** One event as it is stored and exported. */
export type EventRow = readonly [
  number: number,
  serverKey: string,
  campaign: string,
  report: number,
  kind: string,
  text: string,
  digest: string,
];

export interface LedgerEvent {
  readonly number: number;
  readonly key: ReportKey;
  readonly kind: EventKind;
  /** The body as it was written. */
  readonly text: string;
  readonly digest: string;
  readonly body: JsonObject;
}

/** Number and digest of the last event. */
export type Head = readonly [number: number, digest: string];

/** What this device did in one campaign. */
export interface LedgerEntry {
  readonly key: ReportKey;
  /** The campaign's name, for people to read. */
  readonly name: string;
  /** What was offered to everyone when this device joined. */
  readonly offer: string;
  /** The address at which the secret was first used; it is never sent to another one. */
  readonly server: string;
  readonly termsHash: string;
  readonly secret: string;
  /** The invite with which the seat was taken, to show it again when a panel asks again; empty if none was needed. */
  readonly invite: string;
  readonly participant: number;
  readonly round: number;
  readonly policyHash: string;
  readonly charge: Charge | null;
  /** null until a symbol is drawn; it never changes after that. `NULL` (-1) is a drawn value too. */
  readonly symbol: number | null;
  readonly symbolName: string;
  readonly state: EntryState;
  readonly receiptDigest: string;
  readonly reason: string;
  /** When the last event was recorded; for people to read. */
  readonly at: string;
  /** The signed notice under which the symbol was drawn. */
  readonly notice: RoundNotice | null;
}

export function sameKey(one: ReportKey, other: ReportKey): boolean {
  return one.serverKey === other.serverKey && one.campaign === other.campaign && one.report === other.report;
}

export function eventRow({ number, key, kind, text, digest }: LedgerEvent): EventRow {
  return [number, key.serverKey, key.campaign, key.report, kind, text, digest];
}

/** Make the next event; its time is never before that of the last one, whatever the clock says. */
export function nextEvent(
  events: readonly LedgerEvent[],
  key: ReportKey,
  kind: EventKind,
  body: PlainObject,
  now: string,
): LedgerEvent {
  const number = events.length;
  const text = jsonText({ ...body, at: notBefore(events, now) });
  const digest = digestOf(events.at(-1)?.digest ?? "", number, key, kind, text);
  return { number, key, kind, text, digest, body: asObject("ledger", parseJson(text, "ledger")) };
}

/** The time, or that of the last event if the clock was set back since. */
export function notBefore(events: readonly LedgerEvent[], now: string): string {
  const last = events.at(-1);
  const before = last === undefined ? "" : timeOf(last);
  return now > before ? now : before;
}

/** Check the chain from the first event to the head, or say where it is broken. */
export function readEvents(rows: readonly EventRow[], head: Head | null): LedgerEvent[] {
  let before = "";
  const events = rows.map(([number, serverKey, campaign, report, kind, text, digest], expected): LedgerEvent => {
    const key = { serverKey, campaign, report };
    if (number !== expected || digestOf(before, number, key, kind, text) !== digest) {
      throw new LedgerAltered(`the ledger was altered at event ${expected}; this device does not take part with it`);
    }
    before = digest;
    return { number, key, kind: kind as EventKind, text, digest, body: asObject("ledger", parseJson(text, "ledger")) };
  });
  if (events[0]?.kind !== "created" || head?.[0] !== events.length - 1 || head[1] !== before) {
    throw new LedgerAltered("the ledger was truncated; this device does not take part with it");
  }
  events.forEach(checkBody);
  return events;
}

/** What the device did for each report, in the order in which they began. */
export function entriesOf(events: readonly LedgerEvent[]): LedgerEntry[] {
  const found = new Map<string, LedgerEntry>();
  for (const event of events) {
    if (sameKey(event.key, THE_DEVICE)) continue;
    const name = JSON.stringify(event.key);
    found.set(name, after(found.get(name) ?? noEntry(event.key), event));
  }
  return [...found.values()];
}

/** What the report of an event cost. */
export function chargeIn({ body }: LedgerEvent): Charge {
  const [epsilonPerKm, nullEpsilon] = [real(body, "epsilon_per_km"), real(body, "null_epsilon")];
  const clear = body.get("clear");
  if (typeof clear !== "boolean") throw new FileFormatError("clear should be true or false");
  checkSpent({ epsilonPerKm, nullEpsilon, clearReports: 0, reports: 0 });
  return { epsilonPerKm, nullEpsilon, clear };
}

/** The map that the report of an event was drawn on. */
export function latticeIn({ body }: LedgerEvent): Lattice {
  return readLattice(body.get("lattice"));
}

/** The limits that an event sets. */
export function limitsIn({ body }: LedgerEvent): PrivacyLimits {
  const fields = [...asObject("limits", body.get("limits"))].map(([name, value]) => [name, plainNumber(value)]);
  return readLimits(Object.fromEntries(fields) as Record<string, unknown>);
}

/** What was spent before the ledger began. */
export function alreadySpentIn({ body }: LedgerEvent): Spent {
  const fields = asObject("already_spent", body.get("already_spent"));
  return checkSpent({
    epsilonPerKm: real(fields, "epsilon_per_km"),
    nullEpsilon: real(fields, "null_epsilon"),
    clearReports: wholeNumber("clear_reports", fields.get("clear_reports"), 0, Number.MAX_SAFE_INTEGER),
    reports: wholeNumber("reports", fields.get("reports"), 0, Number.MAX_SAFE_INTEGER),
  });
}

/** When an event was recorded, in UTC. */
export function timeOf(event: LedgerEvent): string {
  return textIn(event.body, "at");
}

function noticeIn({ body }: LedgerEvent): RoundNotice {
  return MessageReader.of("notice", asObject("notice", body.get("notice")), readRoundNotice);
}

/** Refuse an event without what the sums are made of. */
function checkBody(event: LedgerEvent): void {
  try {
    if (!EVENT_KINDS.includes(event.kind)) throw new FileFormatError(`kind = ${quoted(event.kind)} is not known`);
    if (event.kind === "drawn") {
      chargeIn(event);
      latticeIn(event);
      noticeIn(event);
      wholeNumber("symbol", event.body.get("symbol"), -1, Number.MAX_SAFE_INTEGER);
    }
    if (event.kind === "created" || event.kind === "limits") limitsIn(event);
    if (event.kind === "created") alreadySpentIn(event);
  } catch (error) {
    if (!(error instanceof CrowdveilError)) throw error;
    throw new LedgerAltered(
      `the ledger was altered, or comes from another version: event ${event.number} cannot be read (${error.message})`,
    );
  }
}

function noEntry(key: ReportKey): LedgerEntry {
  return {
    key,
    name: "",
    offer: "",
    server: "",
    termsHash: "",
    secret: "",
    invite: "",
    participant: -1,
    round: -1,
    policyHash: "",
    charge: null,
    symbol: null,
    symbolName: "",
    state: "joining",
    receiptDigest: "",
    reason: "",
    at: "",
    notice: null,
  };
}

const TEXTS = {
  name: "name",
  offer: "offer",
  server: "server",
  termsHash: "terms_hash",
  secret: "secret",
  invite: "invite",
  policyHash: "policy_hash",
  symbolName: "symbol_name",
  receiptDigest: "receipt_digest",
  reason: "reason",
} as const;
const NUMBERS = { participant: "participant", round: "round", symbol: "symbol" } as const;

/** The entry after one more event: what its body names replaces what was known. */
function after(entry: LedgerEntry, event: LedgerEvent): LedgerEntry {
  const { body, kind } = event;
  const known: Record<string, unknown> = { at: timeOf(event) };
  for (const [name, field] of Object.entries(TEXTS)) if (body.has(field)) known[name] = textIn(body, field);
  for (const [name, field] of Object.entries(NUMBERS)) if (body.has(field)) known[name] = Number(body.get(field));
  if (kind === "drawn") Object.assign(known, { charge: chargeIn(event), notice: noticeIn(event) });
  const state = (ENTRY_KINDS as readonly string[]).includes(kind) ? (kind as EntryState) : entry.state;
  return { ...entry, ...known, state };
}

function real(fields: JsonObject, field: string): number {
  return realNumber(field, fields.get(field));
}

function plainNumber(value: Json): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

function textIn(fields: JsonObject, field: string): string {
  const value = fields.get(field);
  return typeof value === "string" ? value : "";
}

function digestOf(before: string, number: number, key: ReportKey, kind: string, text: string): string {
  return sha256Hex(canonicalJson([before, number, key.serverKey, key.campaign, key.report, kind, text]));
}

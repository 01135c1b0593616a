// Define the events of a ledger, chained by digests, and the entry that they give for one campaign.
//
// Each digest covers the event and the digest before it, and the head repeats the last one, so an event that was changed,
// removed or cut off is detected. Anyone who can write the ledger can also compute digests: they detect damage and careless
// edits, not a deliberate change by the device's owner. Bodies are texts and whole numbers; reals stand in them as the shortest text that reads back the same.

import { canonicalJson } from "../codec";
import { LedgerAltered } from "../errors";
import { exactSum } from "../platform/exact_sum";
import { sha256Hex } from "../platform/sha256";

export type EventKind = "created" | "secret" | "seat" | "drawn" | "acknowledged" | "refused";
export type EntryState = "joining" | "drawn" | "acknowledged" | "refused";
export type EventBody = Readonly<Record<string, string | number>>;

export interface LedgerEvent {
  readonly number: number;
  readonly campaign: string;
  readonly kind: EventKind;
  readonly body: EventBody;
  readonly digest: string;
}

export interface Head {
  readonly number: number;
  readonly digest: string;
}

/** What this device did in one campaign. */
export interface LedgerEntry {
  readonly campaign: string;
  readonly secret: string;
  readonly seat: { readonly participant: number; readonly round: number; readonly policyHash: string } | null;
  readonly epsilonPerKm: number;
  /** null until a symbol is drawn; it never changes after that. `NULL` (-1) is a drawn value too. */
  readonly symbol: number | null;
  readonly state: EntryState;
  readonly receiptDigest: string;
  readonly reason: string;
  /** When the last event was recorded; for people to read. */
  readonly at: string;
}

/** Make the next event; its time is never before that of the last one, whatever the clock says. */
export function nextEvent(
  events: readonly LedgerEvent[],
  campaign: string,
  kind: EventKind,
  body: EventBody,
  now: string,
): LedgerEvent {
  const last = events.at(-1);
  const before = last === undefined ? "" : timeOf(last);
  const timed = { ...body, at: now > before ? now : before };
  const number = events.length;
  return { number, campaign, kind, body: timed, digest: digestOf(last?.digest ?? "", number, campaign, kind, timed) };
}

/** Check the chain from the first event to the head, or say where it is broken. */
export function checkChain(events: readonly LedgerEvent[], head: Head | null): void {
  let before = "";
  events.forEach(({ number, campaign, kind, body, digest }, expected) => {
    if (number !== expected || digestOf(before, number, campaign, kind, body) !== digest) {
      throw new LedgerAltered(`the ledger was altered at event ${expected}; this device does not take part with it`);
    }
    before = digest;
  });
  if (events[0]?.kind !== "created" || head?.number !== events.length - 1 || head.digest !== before) {
    throw new LedgerAltered("the ledger was truncated; this device does not take part with it");
  }
}

export function entriesOf(events: readonly LedgerEvent[]): Map<string, LedgerEntry> {
  const found = new Map<string, LedgerEntry>();
  for (const event of events.slice(1)) {
    found.set(event.campaign, after(found.get(event.campaign) ?? noEntry(event.campaign), event));
  }
  return found;
}

/** What was spent before this ledger, and ε of every campaign with a drawn symbol, acknowledged or not: it may have arrived. */
export function spentEpsilonPerKm(events: readonly LedgerEvent[]): number {
  const drawn = events.filter((event) => event.kind === "drawn").map((event) => realIn(event, "epsilon_per_km"));
  return exactSum([alreadySpentEpsilonPerKm(events), ...drawn]);
}

/** What the owner said was spent before this ledger began. */
export function alreadySpentEpsilonPerKm(events: readonly LedgerEvent[]): number {
  const [created] = events;
  return created === undefined ? 0 : realIn(created, "already_spent_epsilon_per_km");
}

function realIn(event: LedgerEvent, field: string): number {
  const text = event.body[field];
  const value = typeof text === "string" && text !== "" ? Number(text) : NaN;
  if (!(Number.isFinite(value) && value >= 0)) {
    throw new LedgerAltered(`the ledger was altered: event ${event.number} has ${field} = ${String(text)}`);
  }
  return value;
}

function timeOf(event: LedgerEvent): string {
  return String(event.body["at"] ?? "");
}

function noEntry(campaign: string): LedgerEntry {
  return {
    campaign,
    secret: "",
    seat: null,
    epsilonPerKm: 0,
    symbol: null,
    state: "joining",
    receiptDigest: "",
    reason: "",
    at: "",
  };
}

function after(entry: LedgerEntry, event: LedgerEvent): LedgerEntry {
  const next = { ...entry, at: timeOf(event) };
  const { body } = event;
  switch (event.kind) {
    case "secret":
      return { ...next, secret: String(body["secret"]) };
    case "seat": {
      const [participant, round] = [Number(body["participant"]), Number(body["round"])];
      return { ...next, seat: { participant, round, policyHash: String(body["policy_hash"]) } };
    }
    case "drawn": {
      const epsilonPerKm = realIn(event, "epsilon_per_km");
      return { ...next, state: "drawn", epsilonPerKm, symbol: Number(body["symbol"]) };
    }
    case "acknowledged":
      return { ...next, state: "acknowledged", receiptDigest: String(body["receipt_digest"]) };
    case "refused":
      return { ...next, state: "refused", reason: String(body["reason"]) };
    case "created":
      throw new LedgerAltered(`the ledger was altered: event ${event.number} begins it again`);
  }
}

function digestOf(before: string, number: number, campaign: string, kind: string, body: EventBody): string {
  return sha256Hex(canonicalJson([before, number, campaign, kind, canonicalJson(body)]));
}

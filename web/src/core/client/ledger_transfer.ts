// Move a ledger to another device, as a JSON file that programs in every language read and write alike.
//
//     {"format": "crowdveil-ledger", "version": 1,
//      "events": [[number, server_key, campaign, report, kind, body, digest], ...],     body as text, as it was hashed
//      "pending": [[server_key, campaign, report, terms_hash, cell, grade], ...],
//      "excluded": [[latitude, longitude, radius_km], ...],
//      "head": [number, digest]}
//
// The last event says that the device of origin is retired. A file without it is refused: it could be a copy of a ledger that is
// still in use. That a file is imported on two devices cannot be prevented without a third party; the file should be deleted
// after it was imported.

import { asList, jsonText, parseJson, realNumber, wholeNumber, type Json } from "../codec";
import { CrowdveilError, FileFormatError, LedgerAltered, show } from "../errors";
import type { Place } from "../profile/place";
import { NULL } from "../vocabulary";
import { eventRow, readEvents, sameKey, type EventRow, type LedgerEvent, type ReportKey } from "./events";
import { checkExcluded, type ExcludedPlace } from "./excluded";

const FORMAT = "crowdveil-ledger";
const VERSION = 1;
const FIELDS = ["events", "excluded", "format", "head", "pending", "version"];
const MAX = Number.MAX_SAFE_INTEGER;

/** The place of a report that was picked and not drawn from yet. */
export interface PendingPlace {
  readonly key: ReportKey;
  readonly termsHash: string;
  readonly place: Place;
}

/** All that a ledger holds, on its way from one device to another. */
export interface TransferredLedger {
  readonly events: readonly LedgerEvent[];
  readonly pending: readonly PendingPlace[];
  readonly excluded: readonly ExcludedPlace[];
}

/** The text of the file. */
export function transferText({ events, pending, excluded }: TransferredLedger): string {
  const last = events.at(-1);
  const document = {
    format: FORMAT,
    version: VERSION,
    events: events.map(eventRow),
    pending: [...pending].sort(byKey).map(({ key, termsHash, place }) => [
      key.serverKey,
      key.campaign,
      key.report,
      termsHash,
      place.cell,
      place.grade,
    ]),
    excluded: excluded.map(({ latitude, longitude, radiusKm }) => [latitude, longitude, radiusKm]),
    head: last === undefined ? [] : [last.number, last.digest],
  };
  return `${jsonText(document)}\n`;
}

/** Read a file and check everything in it; one clear refusal if it is not what was exported. */
export function readTransfer(text: string): TransferredLedger {
  try {
    return read(parseJson(text, "ledger"));
  } catch (error) {
    if (error instanceof FileFormatError || !(error instanceof CrowdveilError)) throw error;
    throw new LedgerAltered(`the exported ledger was altered or truncated (${error.message})`);
  }
}

function read(document: Json): TransferredLedger {
  if (!(document instanceof Map) || document.get("format") !== FORMAT) throw new FileFormatError("is not an exported ledger");
  if (document.get("version") !== BigInt(VERSION)) {
    throw new FileFormatError(
      `was exported by another version (its version is ${show(document.get("version"))}, this program's ${VERSION}); ` +
        "import it with that one",
    );
  }
  if ([...document.keys()].sort().join() !== FIELDS.join()) {
    throw new FileFormatError(`should have exactly the fields ${FIELDS.join(", ")}`);
  }
  const [number, digest] = asList("head", document.get("head"));
  const head = [wholeNumber("head", number, 0, MAX), textOf("head", digest)] as const;
  const events = readEvents(asList("events", document.get("events")).map(readRow), head);
  if (events.at(-1)?.kind !== "retired") {
    throw new FileFormatError(
      "the device that exported this ledger is not retired, so that both could answer; export it again",
    );
  }
  const pending = asList("pending", document.get("pending")).map(readPending);
  const repeated = pending.find((one, k) => pending.findIndex(({ key }) => sameKey(key, one.key)) !== k);
  if (repeated !== undefined) throw new FileFormatError("pending: a report has two places");
  return { events, pending, excluded: asList("excluded", document.get("excluded")).map(readExcluded) };
}

function readRow(value: Json): EventRow {
  const [number, serverKey, campaign, report, kind, text, digest] = asList("events", value);
  return [
    wholeNumber("number", number, 0, MAX),
    textOf("server_key", serverKey),
    textOf("campaign", campaign),
    wholeNumber("report", report, 0, MAX),
    textOf("kind", kind),
    textOf("body", text),
    textOf("digest", digest),
  ];
}

function readPending(value: Json): PendingPlace {
  const [serverKey, campaign, report, termsHash, cell, grade] = asList("pending", value);
  return {
    key: {
      serverKey: textOf("server_key", serverKey),
      campaign: textOf("campaign", campaign),
      report: wholeNumber("report", report, 0, MAX),
    },
    termsHash: textOf("terms_hash", termsHash),
    place: { cell: wholeNumber("cell", cell, NULL, MAX), grade: wholeNumber("grade", grade, 0, MAX) },
  };
}

function readExcluded(value: Json): ExcludedPlace {
  const [latitude, longitude, radiusKm] = asList("excluded", value).map((one) => realNumber("excluded", one));
  return checkExcluded({ latitude: latitude ?? NaN, longitude: longitude ?? NaN, radiusKm: radiusKm ?? NaN });
}

function textOf(field: string, value: Json | undefined): string {
  if (typeof value !== "string") throw new FileFormatError(`${field} = ${show(value)}: should be text`);
  return value;
}

function byKey({ key: one }: PendingPlace, { key: other }: PendingPlace): number {
  const [a, b] = [`${one.serverKey} ${one.campaign}`, `${other.serverKey} ${other.campaign}`];
  return a < b ? -1 : a > b ? 1 : one.report - other.report;
}

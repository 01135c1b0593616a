// Google Timeline exports of one device: the older Records.json and monthly files of Semantic Location History, and the newer
// files that phones write themselves.
//
//     Records.json   {"locations": [{"latitudeE7": 481000000, "longitudeE7": 115000000, "timestamp": "..."}]}
//     by months      {"timelineObjects": [{"placeVisit": {...}}, {"activitySegment": {...}}]}, places as in Records.json
//     Android        {"semanticSegments": [...], "rawSignals": [...]}, places as "48.1°, 11.5°"
//     iPhone         [segment, ...], places as "geo:48.1,11.5"
//
// A segment gives its stay (at its start), the two ends of its journey, and every point of its path. Segments repeat raw
// signals, so equal places at equal times count once.

import { CrowdveilError, FileFormatError } from "../errors";
import type { Progress } from "../vocabulary";
import { offsetOf, readTime, type Zone } from "./clock";
import { jsonElements } from "./json_elements";
import { SeenTexts } from "./seen_texts";
import { textChunks, type TraceFile } from "./trace_files";
import { DUPLICATE, toNumber, VisitBuilder } from "./visit_builder";
import type { Visits } from "./visits";

const EXPECTED =
  'a Google Timeline export: Records.json with "locations", a month with "timelineObjects", or the phone\'s own with ' +
  '"semanticSegments" or "rawSignals", or a list of segments';
const FIELDS = new Set(["locations", "rawSignals", "semanticSegments", "timelineObjects"]);
const PLACE = /^(?:geo:)?\s*(-?[\d.]+)\s*°?\s*,\s*(-?[\d.]+)\s*°?\s*$/;

interface Fix {
  readonly time: string;
  readonly afterS: number;
  readonly latitude: string;
  readonly longitude: string;
  readonly scale: number;
}

type Fields = Readonly<Record<string, unknown>>;

export async function readTimeline(file: TraceFile, zone: Zone | null, progress?: Progress): Promise<Visits> {
  const builder = new VisitBuilder(file.name, EXPECTED);
  const seen = new SeenTexts();
  try {
    for await (const batch of jsonElements(textChunks(file, progress), FIELDS)) {
      for (const { field, value } of batch) {
        for (const fix of fixesOf(field, fields(value))) addOnce(fix, builder, seen, zone);
      }
    }
  } catch (error) {
    if (!(error instanceof CrowdveilError)) throw error;
    throw new FileFormatError(`${file.name}: ${error.message}; expected ${EXPECTED}`);
  }
  return builder.done();
}

function addOnce(fix: Fix, builder: VisitBuilder, seen: SeenTexts, zone: Zone | null): void {
  const key = `${fix.time}|${fix.afterS}|${fix.latitude}|${fix.longitude}|${fix.scale}`;
  if (!seen.add(key)) {
    builder.visits.drop(DUPLICATE);
    return;
  }
  const { seconds, stated } = readTime(fix.time);
  const utcS = seconds + fix.afterS;
  const [latitude, longitude] = [toNumber(fix.latitude) / fix.scale, toNumber(fix.longitude) / fix.scale];
  builder.add(utcS, offsetOf(utcS, stated, zone), latitude, longitude);
}

function fixesOf(field: string, value: Fields): Fix[] {
  switch (field) {
    case "locations":
      return [recordFix(value)];
    case "timelineObjects":
      return monthFixes(value);
    case "rawSignals": {
      // Wifi scans and guesses of activity are signals without a position, not bad rows.
      if (!("position" in value)) return [];
      const position = fields(value["position"]);
      return [fixAt(position["timestamp"], "LatLng" in position ? position["LatLng"] : position["latLng"])];
    }
    default:
      return segmentFixes(value);
  }
}

function recordFix(record: Fields): Fix {
  return wholeFix(record["timestamp"] ?? record["timestampMs"], record["latitudeE7"], record["longitudeE7"]);
}

/** A stay or a journey of a monthly file. */
function monthFixes(object: Fields): Fix[] {
  const found: Fix[] = [];
  const at = (time: "start" | "end", of: Fields, place: unknown): void => {
    const duration = fields(of["duration"]);
    const { latitudeE7, longitudeE7 } = fields(place);
    found.push(wholeFix(duration[`${time}Timestamp`] ?? duration[`${time}TimestampMs`], latitudeE7, longitudeE7));
  };
  if ("placeVisit" in object) {
    const stay = fields(object["placeVisit"]);
    at("start", stay, stay["location"]);
  }
  if ("activitySegment" in object) {
    const journey = fields(object["activitySegment"]);
    at("start", journey, journey["startLocation"]);
    at("end", journey, journey["endLocation"]);
    const points: unknown = fields(journey["simplifiedRawPath"])["points"];
    for (const one of Array.isArray(points) ? (points as unknown[]) : []) {
      const point = fields(one);
      found.push(wholeFix(point["timestamp"] ?? point["timestampMs"], point["latE7"], point["lngE7"]));
    }
  }
  return found;
}

/** Of whole 1e-7 degrees. */
function wholeFix(time: unknown, latitude: unknown, longitude: unknown): Fix {
  return { time: text(time), afterS: 0, latitude: text(latitude), longitude: text(longitude), scale: 1e7 };
}

function segmentFixes(segment: Fields): Fix[] {
  const { startTime, endTime } = segment;
  const found: Fix[] = [];
  if ("visit" in segment) {
    found.push(fixAt(startTime, fields(fields(segment["visit"])["topCandidate"])["placeLocation"]));
  }
  if ("activity" in segment) {
    const activity = fields(segment["activity"]);
    found.push(fixAt(startTime, activity["start"]), fixAt(endTime, activity["end"]));
  }
  const path: unknown = segment["timelinePath"];
  for (const one of Array.isArray(path) ? (path as unknown[]) : []) {
    const point = fields(one);
    const minutes = toNumber(text(point["durationMinutesOffsetFromStartTime"] ?? 0));
    found.push(fixAt("time" in point ? point["time"] : startTime, point["point"], 60 * minutes));
  }
  return found;
}

function fixAt(time: unknown, place: unknown, afterS = 0): Fix {
  const written = text(typeof place === "object" && place !== null ? fields(place)["latLng"] : place);
  const match = PLACE.exec(written.trim());
  return { time: text(time), afterS, latitude: match?.[1] ?? "", longitude: match?.[2] ?? "", scale: 1 };
}

/** Text, or a number's digits; empty for anything else. */
function text(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

// Latitudes and longitudes as people paste them, and towers from a CSV file.

import type { LatLon } from "../core/area/plane";

export interface UnreadLine {
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
  readonly why: string;
}

export interface CoordinateList {
  readonly spots: readonly LatLon[];
  readonly unread: readonly UnreadLine[];
}

const DEGREES = String.raw`([+-]?(?:\d+\.?\d*|\.\d+))\s*°?`;
const BETWEEN = String.raw`(?:\s*[,:]\s*|\s+)`;
const PLAIN = new RegExp(`^${DEGREES}${BETWEEN}${DEGREES}$`);
const LETTERS_AFTER = new RegExp(String.raw`^${DEGREES}\s*([NSEW])${BETWEEN}${DEGREES}\s*([NSEW])$`, "i");
const LETTERS_BEFORE = new RegExp(String.raw`^([NSEW])\s*${DEGREES}${BETWEEN}([NSEW])\s*${DEGREES}$`, "i");
const DECIMAL_COMMA = /^[+-]?\d+,\d+$/;
const LATITUDE = /^(lat|latitude|y)$/i;
const LONGITUDE = /^(lon|lng|long|longitude|x)$/i;
const MAX_TEXT = 60;

/** One place a line (or after a semicolon): "40.75, -73.98", "40.75:-73.98", "40.75° N 73.98° W", "W 73.98, N 40.75". */
export function readCoordinates(text: string): CoordinateList {
  const spots: LatLon[] = [];
  const unread: UnreadLine[] = [];
  text.split(/\r?\n/).forEach((whole, index) => {
    for (const part of partsOf(whole)) {
      const found = readPlace(part);
      if (typeof found === "string") unread.push({ line: index + 1, text: shortened(part), why: found });
      else spots.push(found);
    }
  });
  return { spots, unread };
}

/** The places of a line. "40,75; -73,98" stays whole: one place with decimal commas, or two of whole degrees? */
function partsOf(line: string): string[] {
  const parts = line
    .split(";")
    .map((part) => part.trim())
    .filter(Boolean);
  return parts.length > 1 && parts.every((part) => DECIMAL_COMMA.test(part)) ? [line] : parts;
}

function readPlace(text: string): LatLon | string {
  const bare = withMinus(text).replace(/^\((.*)\)$/, "$1").trim();
  const plain = PLAIN.exec(bare);
  if (plain) return checked(Number(plain[1]), Number(plain[2]));
  const after = LETTERS_AFTER.exec(bare);
  if (after) return directed([after[1], after[2]], [after[3], after[4]]);
  const before = LETTERS_BEFORE.exec(bare);
  if (before) return directed([before[2], before[1]], [before[4], before[3]]);
  return "should be a latitude and a longitude with decimal points, such as 40.75, -73.98";
}

type Directed = readonly [number: string | undefined, letter: string | undefined];

/** A place from two numbers with letters, the latitude first or last. */
function directed(...both: readonly [Directed, Directed]): LatLon | string {
  const [first, second] = both.map(([number, letter = ""]) => ({ degrees: Number(number), letter: letter.toUpperCase() }));
  if (!first || !second || first.degrees < 0 || second.degrees < 0) return "should have signs or letters, not both";
  const [north, east] = "NS".includes(first.letter) ? [first, second] : [second, first];
  if (!"NS".includes(north.letter) || !"EW".includes(east.letter)) return "should have one of N and S, and one of E and W";
  return checked(north.letter === "S" ? -north.degrees : north.degrees, east.letter === "W" ? -east.degrees : east.degrees);
}

/** Minus signs as they are typeset, as keyboards have them. */
function withMinus(text: string): string {
  return text.replaceAll("\u2212", "-");
}

function checked(latitude: number, longitude: number): LatLon | string {
  if (!(Math.abs(latitude) <= 90)) return `latitude ${latitude}: should be from -90 to 90; is it the longitude?`;
  if (!(Math.abs(longitude) <= 180)) return `longitude ${longitude}: should be from -180 to 180`;
  return [latitude, longitude];
}

/** Towers from CSV: columns named lat and lon (or such), or the first two; comma, semicolon or tab between them. */
export function readTowerList(text: string): CoordinateList {
  const lines = withMinus(text).replace(/^\uFEFF/, "").split(/\r?\n/);
  const between = separator(lines.find((line) => line.trim()) ?? "");
  const spots: LatLon[] = [];
  const unread: UnreadLine[] = [];
  let columns: readonly [number, number] | undefined;
  lines.forEach((line, index) => {
    if (!line.trim()) return;
    const cells = splitCsvLine(line, between);
    if (columns === undefined) {
      const named = namedColumns(cells);
      columns = named ?? [0, 1];
      if (named) return;
    }
    const found = checkedTexts(cells[columns[0]], cells[columns[1]], between);
    if (typeof found === "string") unread.push({ line: index + 1, text: shortened(line), why: found });
    else spots.push(found);
  });
  return { spots, unread };
}

function separator(line: string): string {
  if (line.includes("\t")) return "\t";
  return line.includes(";") ? ";" : ",";
}

function namedColumns(cells: readonly string[]): readonly [number, number] | undefined {
  const latitude = cells.findIndex((cell) => LATITUDE.test(cell));
  const longitude = cells.findIndex((cell) => LONGITUDE.test(cell));
  return latitude >= 0 && longitude >= 0 ? [latitude, longitude] : undefined;
}

function checkedTexts(latitude: string | undefined, longitude: string | undefined, between: string): LatLon | string {
  const [one, two] = [latitude, longitude].map((text) => {
    const plain = between === "," ? text : text?.replace(",", ".");
    return plain?.trim() ? Number(plain) : Number.NaN;
  });
  if (one === undefined || two === undefined || Number.isNaN(one) || Number.isNaN(two)) {
    return "should have a latitude and a longitude";
  }
  return checked(one, two);
}

/** The cells of one line of CSV, quotes removed. */
export function splitCsvLine(line: string, between = ","): string[] {
  const cells: string[] = [];
  let cell = "";
  let quoted = false;
  for (let at = 0; at < line.length; at++) {
    const one = line.charAt(at);
    if (quoted && one === '"' && line[at + 1] === '"') {
      cell += '"';
      at++;
    } else if (one === '"') quoted = !quoted;
    else if (one === between && !quoted) {
      cells.push(cell.trim());
      cell = "";
    } else cell += one;
  }
  cells.push(cell.trim());
  return cells;
}

function shortened(text: string): string {
  const plain = text.trim();
  return plain.length > MAX_TEXT ? `${plain.slice(0, MAX_TEXT)}…` : plain;
}

/** 40.7512° N, 73.9800° W */
export function coordinateText([latitude, longitude]: LatLon): string {
  const north = `${Math.abs(latitude).toFixed(4)}° ${latitude < 0 ? "S" : "N"}`;
  return `${north}, ${Math.abs(longitude).toFixed(4)}° ${longitude < 0 ? "W" : "E"}`;
}

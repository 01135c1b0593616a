// Latitudes and longitudes as people paste them, and towers from a CSV file.

import type { Spot } from "./wire";

export interface Unread {
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
  readonly why: string;
}

export interface Places {
  readonly spots: readonly Spot[];
  readonly unread: readonly Unread[];
}

const NUMBER = /[+-]?\d+(?:\.\d+)?/g;
const LATITUDE = /^(lat|latitude|y)$/i;
const LONGITUDE = /^(lon|lng|long|longitude|x)$/i;
const MOST_TEXT = 60;

/** One place a line (or after a semicolon): "40.75, -73.98", "40.75:-73.98", "40.75° N 73.98° W". */
export function readPlaces(text: string): Places {
  const spots: Spot[] = [];
  const unread: Unread[] = [];
  text.split(/\r?\n/).forEach((whole, index) => {
    for (const part of whole.split(";")) {
      if (!part.trim()) continue;
      const found = readPlace(part);
      if (typeof found === "string") unread.push({ line: index + 1, text: shortened(part), why: found });
      else spots.push(found);
    }
  });
  return { spots, unread };
}

function readPlace(text: string): Spot | string {
  const numbers = text.match(NUMBER)?.map(Number) ?? [];
  const [first, second] = numbers;
  if (first === undefined || second === undefined || numbers.length > 2) {
    return "should be a latitude and a longitude, such as 40.75, -73.98";
  }
  const letters = text.toUpperCase().match(/\b[NSEW]\b|(?<=[\d°])\s*[NSEW]/g)?.map((one) => one.trim()) ?? [];
  const latitude = letters.includes("S") ? -first : first;
  const longitude = letters.includes("W") ? -second : second;
  return checked(latitude, longitude);
}

function checked(latitude: number, longitude: number): Spot | string {
  if (!(Math.abs(latitude) <= 90)) return `latitude ${latitude}: should be from -90 to 90; is it the longitude?`;
  if (!(Math.abs(longitude) <= 180)) return `longitude ${longitude}: should be from -180 to 180`;
  return [latitude, longitude];
}

/** Towers from CSV: columns named lat and lon (or such), or the first two; comma, semicolon or tab between them. */
export function readTowers(text: string): Places {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const between = separator(lines.find((line) => line.trim()) ?? "");
  const spots: Spot[] = [];
  const unread: Unread[] = [];
  let columns: readonly [number, number] | undefined;
  lines.forEach((line, index) => {
    if (!line.trim()) return;
    const cells = split(line, between);
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

function checkedTexts(latitude: string | undefined, longitude: string | undefined, between: string): Spot | string {
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
export function split(line: string, between = ","): string[] {
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
  return plain.length > MOST_TEXT ? `${plain.slice(0, MOST_TEXT)}…` : plain;
}

/** 40.7512° N, 73.9800° W */
export function placeWords([latitude, longitude]: Spot): string {
  const north = `${Math.abs(latitude).toFixed(4)}° ${latitude < 0 ? "S" : "N"}`;
  return `${north}, ${Math.abs(longitude).toFixed(4)}° ${longitude < 0 ? "W" : "E"}`;
}

// Any CSV of one person's fixes by the names of its columns, large or small letters; comma, tab or semicolon, whichever the
// heading has most of.

import { FileFormatError, InputError } from "../errors";
import type { Progress } from "../vocabulary";
import { offsetOf, readTime, type Zone } from "./clock";
import { textChunks, type TraceFile } from "./trace_files";
import { BROKEN_QUOTING, toNumber, VisitBuilder, WRONG_FIELDS } from "./visit_builder";
import type { Visits } from "./visits";

/** Longer fields come from a quote that does not end. */
const MAX_FIELD = 131_072;

/** What a column may be called; the first of the names that a heading has is taken. */
const NAMES: Readonly<Record<"time" | "latitude" | "longitude", readonly [string, ...string[]]>> = {
  time: ["time", "timestamp", "datetime"],
  latitude: ["latitude", "lat"],
  longitude: ["longitude", "lon", "lng", "long"],
};
const COLUMNS = "time, latitude, longitude";
/** If the heading has it, all rows have to be of the same person. */
const USER = "user";

export async function readTable(file: TraceFile, zone: Zone | null, progress?: Progress): Promise<Visits> {
  const builder = new VisitBuilder(file.name, `a CSV with the columns ${COLUMNS}`);
  const rows = new TableReader(() => builder.visits.drop(BROKEN_QUOTING));
  let heading: Heading | null = null;
  let person: string | null = null;
  const take = (row: readonly string[]): void => {
    if (heading === null) {
      heading = readHeading(row, file.name);
      return;
    }
    if (row.length !== heading.width) {
      builder.visits.drop(WRONG_FIELDS);
      return;
    }
    const user = (heading.user === null ? "device" : (row[heading.user] as string)).trim();
    if (user === "") {
      builder.visits.drop("no user");
      return;
    }
    person ??= user;
    if (user !== person) {
      throw new InputError("user", user, `should be '${person}' in all rows: the visits of the device's owner alone`);
    }
    const { seconds, stated } = readTime(row[heading.time] as string);
    const [latitude, longitude] = [toNumber(row[heading.latitude] as string), toNumber(row[heading.longitude] as string)];
    builder.add(seconds, offsetOf(seconds, stated, zone), latitude, longitude);
  };
  for await (const chunk of textChunks(file, progress)) rows.read(chunk).forEach(take);
  rows.end().forEach(take);
  return builder.done();
}

interface Heading {
  readonly width: number;
  readonly time: number;
  readonly latitude: number;
  readonly longitude: number;
  readonly user: number | null;
}

function readHeading(row: readonly string[], name: string): Heading {
  const written = row.map((column) => column.trim());
  const names = written.map((column) => column.toLowerCase());
  const place = ([usual, ...others]: readonly [string, ...string[]]): number => {
    const column = [usual, ...others].find((one) => names.includes(one)) ?? usual;
    const found = names.filter((one) => one === column).length;
    if (found !== 1) {
      const what = found === 0 ? "no column" : `${found} columns`;
      throw new FileFormatError(`${name}: has ${what} '${column}'; its first line reads: ${written.join(", ").slice(0, 200)}. A CSV needs the columns ${COLUMNS}`);
    }
    return names.indexOf(column);
  };
  return {
    width: row.length,
    time: place(NAMES.time),
    latitude: place(NAMES.latitude),
    longitude: place(NAMES.longitude),
    user: names.includes(USER) ? place([USER]) : null,
  };
}

/** Splits text into rows of fields, quotes undone, blank lines left out. */
class TableReader {
  private delimiter: string | null = null;
  private first = "";
  private field = "";
  private row: string[] = [];
  private quoted = false;
  /** A quote was read within a quoted field: its end, or the first half of a doubled one. */
  private closing = false;
  private atStart = true;
  private afterReturn = false;
  private skipping = false;
  private rows: string[][] = [];

  constructor(private readonly broken: () => void) {}

  read(chunk: string): string[][] {
    let text = chunk;
    if (this.delimiter === null) {
      this.first += chunk;
      const end = this.first.search(/[\r\n]/);
      if (end < 0) return [];
      text = this.choose(end);
    }
    this.scan(text);
    return this.taken();
  }

  end(): string[][] {
    if (this.delimiter === null) this.scan(this.choose(this.first.length));
    if (!this.skipping) this.endRow();
    return this.taken();
  }

  private choose(end: number): string {
    const line = this.first.slice(0, end);
    const count = (letter: string): number => line.split(letter).length;
    this.delimiter = [",", "\t", ";"].reduce((best, letter) => (count(letter) > count(best) ? letter : best));
    return this.first;
  }

  private taken(): string[][] {
    const rows = this.rows;
    this.rows = [];
    return rows;
  }

  private scan(text: string): void {
    for (const letter of text) {
      const newline = letter === "\n" || letter === "\r";
      if (this.skipping) {
        this.skipping = !newline;
        continue;
      }
      if (this.quoted && !this.closing) {
        if (letter === '"') this.closing = true;
        else this.append(letter);
      } else if (this.closing && letter === '"') {
        this.closing = false;
        this.append('"');
      } else if (letter === '"' && this.atStart) {
        this.quoted = true;
        this.atStart = false;
      } else if (letter === this.delimiter) {
        this.endField();
      } else if (newline) {
        if (!(letter === "\n" && this.afterReturn)) this.endRow();
      } else {
        this.quoted = false;
        this.closing = false;
        this.append(letter);
      }
      this.afterReturn = letter === "\r";
    }
  }

  private append(letter: string): void {
    this.field += letter;
    this.atStart = false;
    if (this.field.length > MAX_FIELD) {
      this.broken();
      this.row = [];
      this.field = "";
      this.reset();
      this.skipping = true;
    }
  }

  private endField(): void {
    this.row.push(this.field);
    this.field = "";
    this.reset();
  }

  private endRow(): void {
    const blank = this.row.length === 0 && this.field === "" && this.atStart;
    if (!blank) {
      this.endField();
      this.rows.push(this.row);
    }
    this.row = [];
  }

  private reset(): void {
    this.quoted = false;
    this.closing = false;
    this.atStart = true;
  }
}

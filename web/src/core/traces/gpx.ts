// GPX tracks, routes and waypoints of one device: points with `lat`, `lon` and a `<time>`, read tag by tag.

import { FileFormatError } from "../errors";
import type { Progress } from "../vocabulary";
import { offsetOf, readIso, type Zone } from "./clock";
import { firstBytes, textChunks, type TraceFile } from "./trace_files";
import { toNumber, VisitBuilder } from "./visit_builder";
import type { Visits } from "./visits";

const EXPECTED = 'a GPX file with points such as <trkpt lat="48.1" lon="11.5"><time>2024-03-04T08:00:00Z</time></trkpt>';
const POINTS = new Set(["trkpt", "rtept", "wpt"]);
const ATTRIBUTE = /([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
/** What is not a tag, and where it ends. */
const PASSED_OVER = [
  ["<!--", "-->"],
  ["<![CDATA[", "]]>"],
  ["<?", "?>"],
  ["<!", ">"],
] as const;

export async function readGpx(file: TraceFile, zone: Zone | null, progress?: Progress): Promise<Visits> {
  const builder = new VisitBuilder(file.name, EXPECTED);
  const points = new Points((time, latitude, longitude) => {
    const { seconds, stated } = readIso(time);
    builder.add(seconds, offsetOf(seconds, stated, zone), toNumber(latitude), toNumber(longitude));
  });
  try {
    for await (const chunk of textChunks(file, progress, await encodingOf(file))) points.read(chunk);
    points.end();
  } catch (error) {
    if (!(error instanceof NotWellFormed)) throw error;
    throw new FileFormatError(`${file.name}: is not well-formed XML (${error.message}); expected ${EXPECTED}`);
  }
  return builder.done();
}

class NotWellFormed extends Error {}

interface Point {
  readonly depth: number;
  readonly latitude: string;
  readonly longitude: string;
  time: string | null;
}

/** A reader of tags that keeps no more text than the tag it is in. */
class Points {
  private rest = "";
  private readonly open: string[] = [];
  private readonly points: Point[] = [];
  private time: string | null = null;
  private roots = 0;

  constructor(private readonly found: (time: string, latitude: string, longitude: string) => void) {}

  read(chunk: string): void {
    const text = this.rest + chunk;
    let at = 0;
    for (;;) {
      const begin = text.indexOf("<", at);
      if (begin < 0) {
        this.characters(text.slice(at));
        this.rest = "";
        return;
      }
      const end = endOfTag(text, begin);
      this.characters(text.slice(at, begin));
      if (end === null) {
        this.rest = text.slice(begin);
        return;
      }
      this.tag(text.slice(begin, end));
      at = end;
    }
  }

  end(): void {
    if (this.rest !== "" || this.open.length > 0) throw new NotWellFormed("cut short");
    if (this.roots !== 1) throw new NotWellFormed("no element found");
  }

  private characters(text: string): void {
    if (this.open.length === 0 && text.replace("\ufeff", "").trim() !== "") throw new NotWellFormed("text outside of the root");
    if (this.time !== null) this.time += text;
  }

  private tag(tag: string): void {
    if (tag.startsWith("<![CDATA[")) {
      this.characters(tag.slice(9, -3));
    } else if (tag.startsWith("</")) {
      this.close(tag.slice(2, -1).trim());
    } else if (!tag.startsWith("<?") && !tag.startsWith("<!")) {
      const empty = tag.endsWith("/>");
      const inner = tag.slice(1, empty ? -2 : -1);
      const name = /^[^\s]+/.exec(inner)?.[0];
      if (name === undefined) throw new NotWellFormed("a tag without a name");
      this.begin(name, inner.slice(name.length));
      if (empty) this.close(name);
    }
  }

  private begin(name: string, attributes: string): void {
    if (this.open.length === 0) this.roots += 1;
    this.open.push(name);
    const local = localName(name);
    const point = this.points.at(-1);
    if (POINTS.has(local)) {
      const found = new Map<string, string>();
      for (const [, key = "", double, single] of attributes.matchAll(ATTRIBUTE)) found.set(key, unescape(double ?? single ?? ""));
      this.points.push({
        depth: this.open.length,
        latitude: found.get("lat") ?? "",
        longitude: found.get("lon") ?? "",
        time: null,
      });
    } else if (local === "time" && point?.time === null && this.open.length === point.depth + 1) {
      this.time = "";
    }
  }

  private close(name: string): void {
    const point = this.points.at(-1);
    if (point !== undefined && this.open.length === point.depth) {
      this.points.pop();
      this.found(point.time ?? "", point.latitude, point.longitude);
    } else if (point !== undefined && this.time !== null && this.open.length === point.depth + 1) {
      point.time = unescape(this.time);
      this.time = null;
    }
    if (this.open.pop() !== name) throw new NotWellFormed(`mismatched tag </${name}>`);
  }
}

/** Where what begins at `begin` ends, or null if that is not there yet. */
function endOfTag(text: string, begin: number): number | null {
  for (const [start, stop] of PASSED_OVER) {
    if (text.startsWith(start, begin)) {
      const end = text.indexOf(stop, begin + start.length);
      return end < 0 ? null : end + stop.length;
    }
    // Too little of it to tell what it is.
    if (start.startsWith(text.slice(begin)) && text.length - begin < start.length) return null;
  }
  let quote = "";
  for (let i = begin + 1; i < text.length; i++) {
    const letter = text[i] as string;
    if (quote !== "") quote = letter === quote ? "" : quote;
    else if (letter === '"' || letter === "'") quote = letter;
    else if (letter === ">") return i + 1;
  }
  return null;
}

async function encodingOf(file: TraceFile): Promise<string> {
  const bytes = await firstBytes(file, 200);
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  const declared = /^<\?xml[^>]*encoding=["']([^"']+)["']/.exec(new TextDecoder("latin1").decode(bytes));
  try {
    return new TextDecoder(declared?.[1] ?? "utf-8").encoding;
  } catch {
    throw new FileFormatError(`${file.name}: is in the unknown encoding '${declared?.[1] ?? ""}'; expected ${EXPECTED}`);
  }
}

function localName(name: string): string {
  return name.slice(name.lastIndexOf(":") + 1);
}

function unescape(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-fA-F]+)|(\w+));/g, (whole, decimal?: string, hex?: string, name?: string) => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return ENTITIES[name ?? ""] ?? whole;
  });
}

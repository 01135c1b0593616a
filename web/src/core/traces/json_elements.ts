// The elements of a large JSON file's lists, one at a time: of the list that the file is, or of lists that are fields of the
// object that it is. Only one element's text is held at once; everything else is passed over.

import { FileFormatError } from "../errors";

export interface Element {
  /** The field whose list holds it; empty if the file itself is the list. */
  readonly field: string;
  readonly value: unknown;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [LIST, LIST_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];
const BLANKS = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** Yields batches, one for each chunk of text. */
export async function* jsonElements(
  chunks: AsyncIterable<string>,
  fields: ReadonlySet<string>,
): AsyncGenerator<Element[]> {
  const scanner = new Scanner(fields);
  for await (const chunk of chunks) yield scanner.scan(chunk);
  scanner.end();
}

/** Knows where it is by brackets and quotes alone; an element's own text is checked by JSON.parse. */
class Scanner {
  private readonly open: number[] = [];
  private begun = false;
  private inText = false;
  private escaped = false;
  /** The text that is being read is the name of one of the root's fields. */
  private naming = false;
  private field = "";
  /** The beginning, from earlier chunks, of the element or name that is being read. */
  private carried: string | null = null;

  constructor(private readonly fields: ReadonlySet<string>) {}

  scan(chunk: string): Element[] {
    const found: Element[] = [];
    let start = this.carried === null ? -1 : 0;
    const take = (end: number): string => {
      const text = (this.carried ?? "") + (start < 0 ? "" : chunk.slice(start, end));
      this.carried = null;
      start = -1;
      return text;
    };
    const takeElement = (end: number): void => {
      const text = take(end).trim();
      if (text !== "") found.push({ field: this.open.length === 1 ? "" : this.field, value: parse(text) });
    };
    for (let i = 0; i < chunk.length; i++) {
      const letter = chunk.charCodeAt(i);
      if (this.inText) {
        if (this.escaped) this.escaped = false;
        else if (letter === BACKSLASH) this.escaped = true;
        else if (letter === QUOTE) {
          this.inText = false;
          if (this.naming) {
            this.naming = false;
            this.field = parse(take(i + 1)) as string;
          }
        }
      } else if (letter === QUOTE) {
        this.inText = true;
        if (this.open.length === 1 && this.open[0] === OBJECT) {
          this.naming = true;
          start = i;
        }
      } else if (letter === LIST || letter === OBJECT) {
        if (this.open.length === 0 && this.begun) throw notJson("it goes on after its end");
        this.begun = true;
        this.open.push(letter);
        if (this.inWantedList) start = i + 1;
      } else if (letter === LIST_END || letter === OBJECT_END) {
        if (this.inWantedList) takeElement(i);
        if (this.open.pop() !== (letter === LIST_END ? LIST : OBJECT)) throw notJson("its brackets do not match");
      } else if (letter === COMMA && this.inWantedList) {
        takeElement(i);
        start = i + 1;
      } else if (this.open.length === 0 && !BLANKS.has(letter)) throw notJson("no list and no object");
    }
    if (start >= 0) this.carried = (this.carried ?? "") + chunk.slice(start);
    return found;
  }

  end(): void {
    if (!this.begun || this.open.length > 0) throw notJson("it is cut short");
  }

  /** Within a list whose elements are wanted, but in none of them. */
  private get inWantedList(): boolean {
    if (this.open.length === 1) return this.open[0] === LIST;
    return this.open.length === 2 && this.open[0] === OBJECT && this.open[1] === LIST && this.fields.has(this.field);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notJson("an element cannot be read");
  }
}

function notJson(why: string): FileFormatError {
  return new FileFormatError(`is not JSON (${why})`);
}

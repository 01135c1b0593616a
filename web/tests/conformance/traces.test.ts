import { expect, test } from "vitest";
import { readTrace } from "../../src/core/traces/read";
import type { TraceFile } from "../../src/core/traces/trace_files";
import { cases, refusal } from "./vectors";

interface TraceCase {
  readonly name: string;
  readonly text: string;
  readonly zone: string | null;
  readonly visits: { readonly rows: readonly number[][]; readonly dropped: Readonly<Record<string, number>> } | null;
}

/** A file that comes in pieces of so many bytes. */
function pieces(name: string, text: string, size: number): TraceFile {
  const bytes = new TextEncoder().encode(text);
  return {
    name,
    size: bytes.length,
    stream: () =>
      new ReadableStream({
        start(controller) {
          for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
          controller.close();
        },
      }),
  };
}

test("exports of phones give the same visits, and the same rows are left out, however the file is cut in pieces", async () => {
  for (const one of cases<TraceCase>("traces")) {
    for (const size of [1, 7, 64, 1 << 20]) {
      const options = one.zone === null ? {} : { zone: one.zone };
      const read = async () => {
        const visits = await readTrace(pieces(one.name, one.text, size), options);
        const rows = Array.from({ length: visits.length }, (_, i) => [
          visits.utcS(i),
          visits.offsetS(i),
          visits.latitude(i),
          visits.longitude(i),
        ]);
        rows.sort((a, b) => a.map((value, k) => value - (b[k] ?? 0)).find((difference) => difference !== 0) ?? 0);
        expect({ rows, dropped: Object.fromEntries(visits.dropped) }).toEqual(one.visits);
      };
      if (one.visits === null) expect(await refusal(read), `${one.name} in ${size}`).toContain(one.name);
      else await read();
    }
  }
});

import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { utf8 } from "../../src/core/platform/bytes";
import { exactSum } from "../../src/core/platform/exact_sum";
import { inflate } from "../../src/core/platform/inflate";
import { sha256Hex } from "../../src/core/platform/sha256";
import { readColumns } from "../../src/core/policy/encoding";
import { policyFromBytes } from "../../src/core/policy/files";
import type { Peaks } from "../../src/core/policy/peaks";
import { Policy } from "../../src/core/policy/policy";
import { readTrace } from "../../src/core/traces/read";
import { SeenTexts } from "../../src/core/traces/seen_texts";
import type { TraceFile } from "../../src/core/traces/trace_files";
import { makePolicy, makeStack, packed } from "./helpers";

test("SHA-256 is that of the standard, for every length around a block", () => {
  for (let size = 0; size < 200; size++) {
    const data = Uint8Array.from({ length: size }, (_, i) => (7 * i + size) % 256);
    expect(sha256Hex(data)).toBe(createHash("sha256").update(data).digest("hex"));
  }
});

test("a sum is rounded once", () => {
  expect(exactSum([Math.log(4), Math.log(4), Math.log(4)])).toBe(3 * Math.log(4));
  expect(exactSum([0.1, 0.2, 0.3, 0.4])).toBe(1);
  expect(exactSum([1e16, 1, 1])).toBe(1e16 + 2);
  expect(exactSum([])).toBe(0);
  expect(exactSum([5e-324, 5e-324])).toBe(1e-323);
});

describe("a policy's file", () => {
  test("is refused wherever a byte of it is changed, when it is cut short and when it goes on", async () => {
    // Of equal rows, a changed distance in the packed stream could unpack to the same bytes.
    const policy = await makePolicy({ hit: (cell) => BigInt(1000 + ((cell * cell * 7) % 97)) });
    const data = await packed(policy);
    expect((await policyFromBytes(data)).hash).toBe(policy.hash);
    for (let at = 0; at < data.length; at += 3) {
      const changed = data.slice();
      changed[at] = (changed[at] as number) ^ 0x10;
      await expect(policyFromBytes(changed), `byte ${at}`).rejects.toThrow(/policy: /);
    }
    for (const size of [0, 18, 40, data.length - 1]) await expect(policyFromBytes(data.slice(0, size))).rejects.toThrow(/policy: /);
    const longer = new Uint8Array(data.length + 3);
    longer.set(data);
    await expect(policyFromBytes(longer)).rejects.toThrow(/followed by something else/);
  });

  test("with peaks is read as it was, and is made only from weights that belong to them", async () => {
    const policy = await makeStack();
    const read = await policyFromBytes(await packed(policy));
    expect(read.hash).toBe(policy.hash);
    expect(read.targets).toEqual([12, 7]);
    expect(read.fields.values).toEqual([0.5, 0.25]);
    expect(read.fields.weights.values).toEqual(policy.fields.weights.values);
    expect(read.fields.weights.at(12, 0)).toBe((1n << 26n) + (1n << 20n));
    const { fields } = policy;
    expect(new Policy({ ...fields, value: 0.5 }).fields.weights.values).toEqual(fields.weights.values);
    const peaks = fields.peaks as Peaks;
    expect(() => new Policy({ ...fields, weights: readColumns([1n, 2n], 1) })).toThrow(/without peaks/);
    expect(() => new Policy({ ...fields, peaks: { ...peaks, floor: Array<bigint>(5).fill(1n) } })).toThrow(/peaks.floor/);
    expect(() => new Policy({ ...fields, peaks: { ...peaks, input: [12] } })).toThrow(/as many/);
    expect(() => new Policy({ ...fields, peaks: { ...peaks, symbol: [1, 0] } })).toThrow(/sorted/);
    expect(() => new Policy({ ...fields, peaks: { ...peaks, weight: [1n << 30n, 1n] } })).toThrow(/sum to more|between 0 and/);
  });

  test("is unpacked no farther than the largest policy needs", async () => {
    const bomb = new Response(new Blob([new Uint8Array(1 << 22)]).stream().pipeThrough(new CompressionStream("deflate")));
    const bytes = new Uint8Array(await bomb.arrayBuffer());
    expect(bytes.length).toBeLessThan(1 << 13);
    await expect(inflate(bytes, 1 << 20, "policy")).rejects.toThrow(/unpacks to more than 1048576 bytes/);
  });
});

/** A Records.json of so many places, made as it is read. */
function endless(places: number): TraceFile {
  const lines = 5000;
  let at = 0;
  const place = (i: number): string =>
    `{"latitudeE7": ${481_000_000 + (i % 9973)}, "longitudeE7": 115000000, "accuracy": 12, "activity": [{"activity": ` +
    `[{"type": "STILL", "confidence": 100}]}], "timestamp": "${new Date(1.7e12 + 6e4 * i).toISOString()}"}`;
  return {
    name: "Records.json",
    size: 200 * places,
    stream: () => {
      at = 0;
      return new ReadableStream({
        pull(controller) {
          const end = Math.min(places, at + lines);
          let text = at === 0 ? '{"locations": [' : "";
          for (; at < end; at++) text += (at === 0 ? "" : ",\n") + place(at);
          controller.enqueue(utf8(text + (at === places ? "]}" : "")));
          if (at === places) controller.close();
        },
      });
    },
  };
}

test("a large export is read piece by piece, and tells how far it is", async () => {
  let calls = 0;
  let last = 0;
  const visits = await readTrace(endless(100_000), {}, (done) => {
    expect(done).toBeGreaterThanOrEqual(last);
    [calls, last] = [calls + 1, done];
  });
  expect(visits.length).toBe(100_000);
  expect(calls).toBe(20);
});

test("texts are told apart by their hashes, a million near-equal ones too", () => {
  const seen = new SeenTexts();
  let found = 0;
  for (let i = 0; i < 1_000_000; i++) found += Number(seen.add(`2024-03-04T08:00:00Z|0|48${i}|115`));
  expect(found).toBe(1_000_000);
  for (let i = 0; i < 1000; i++) expect(seen.add(`2024-03-04T08:00:00Z|0|48${999 * i}|115`)).toBe(false);
});

test("columns go by their usual names, in large or small letters", async () => {
  const read = (heading: string) => readTrace(new File([`${heading}\n2024-01-01T00:00:00Z,48.0,11.0\n`], "fixes.csv"));
  for (const heading of ["Time,Latitude,Longitude", "timestamp,lat,lon", "DateTime, LAT ,Lng"]) {
    const visits = await read(heading);
    expect([visits.latitude(0), visits.longitude(0)]).toEqual([48, 11]);
  }
  await expect(read("time,lat,lat")).rejects.toThrow(/has 2 columns 'lat'; its first line reads: time, lat, lat/);
  await expect(read("When,Lat,Lon")).rejects.toThrow(/has no column 'time'; its first line reads: When, Lat, Lon. A CSV needs the columns time, latitude, longitude/);
});

test("gzip is unpacked, archives and empty files are refused with what to do", async () => {
  const text = "time,latitude,longitude\n2024-01-01T00:00:00Z,48.0,11.0\n";
  const packedBytes = await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer();
  const file = (bytes: BlobPart): TraceFile => new File([bytes], "fixes.csv");
  expect((await readTrace(file(packedBytes))).length).toBe(1);
  await expect(readTrace(file(packedBytes.slice(0, 30)))).rejects.toThrow(/fixes.csv: the compressed data is damaged/);
  await expect(readTrace(file(Uint8Array.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0])))).rejects.toThrow(/unpack it first/);
  await expect(readTrace(file("PK\x03\x04 and more"))).rejects.toThrow(/is a zip archive; unpack it first/);
  await expect(readTrace(file(""))).rejects.toThrow(/is empty/);
  const two = "user,time,latitude,longitude\na,2024-01-01,48,11\nb,2024-01-01,48,11\n";
  await expect(readTrace(file(two))).rejects.toThrow(/user = 'b': should be 'a' in all rows/);
});

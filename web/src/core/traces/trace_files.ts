// A file on its way in: chunk by chunk, so that an export of hundreds of megabytes is never in memory as a whole.

import { FileFormatError, messageOf } from "../errors";
import type { Progress } from "../vocabulary";

/** What a browser's File is, as far as it is needed. */
export interface TraceFile {
  readonly name: string;
  readonly size: number;
  stream(): ReadableStream<Uint8Array<ArrayBuffer>>;
}

const GZIP = [0x1f, 0x8b];
const XZ = [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00];
const ZIP = [0x50, 0x4b, 0x03, 0x04];

/** The file's text, unpacked if it is gzip; recognised by its first bytes, not by its name. */
export async function* textChunks(file: TraceFile, progress?: Progress, encoding = "utf-8"): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding);
  for await (const chunk of byteChunks(file, progress)) {
    const text = decoder.decode(chunk, { stream: true });
    if (text !== "") yield text;
  }
  const rest = decoder.decode();
  if (rest !== "") yield rest;
}

/** The first bytes, unpacked; for telling formats apart. */
export async function firstBytes(file: TraceFile, most: number): Promise<Uint8Array> {
  for await (const chunk of byteChunks(file)) {
    if (chunk.length > 0) return chunk.subarray(0, most);
  }
  return new Uint8Array();
}

async function* byteChunks(file: TraceFile, progress?: Progress): AsyncGenerator<Uint8Array> {
  const head = await magic(file);
  if (startsWith(head, XZ)) {
    throw new FileFormatError(`${file.name}: is packed with xz, which browsers cannot unpack; unpack it first`);
  }
  if (startsWith(head, ZIP)) {
    throw new FileFormatError(`${file.name}: is a zip archive; unpack it first and choose the files in it`);
  }
  let stream: ReadableStream<Uint8Array<ArrayBuffer>> = file.stream().pipeThrough(counting(file.size, progress));
  const packed = startsWith(head, GZIP);
  if (packed) stream = stream.pipeThrough(new DecompressionStream("gzip"));
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } catch (error) {
    const what = packed ? "the compressed data is damaged or cut off" : "cannot be read";
    throw new FileFormatError(`${file.name}: ${what} (${messageOf(error)})`);
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function magic(file: TraceFile): Promise<Uint8Array> {
  const reader = file.stream().getReader();
  try {
    return (await reader.read()).value ?? new Uint8Array();
  } finally {
    await reader.cancel();
  }
}

function startsWith(bytes: Uint8Array, start: readonly number[]): boolean {
  return start.every((byte, i) => bytes[i] === byte);
}

function counting(
  total: number,
  progress: Progress | undefined,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let done = 0;
  return new TransformStream({
    transform(chunk, controller) {
      done += chunk.length;
      progress?.(Math.min(done, total), total);
      controller.enqueue(chunk);
    },
  });
}

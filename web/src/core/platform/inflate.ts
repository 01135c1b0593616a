// Unpacking a zlib stream (RFC 1950) with a limit: some kilobytes may unpack to gigabytes, and a server is not trusted.
//
// Browsers refuse bytes after the stream's end, older ones silently drop them. A stream ends with the Adler-32 of what it
// holds, so comparing that with the file's own last four bytes finds them everywhere.

import { CrowdveilError, FileFormatError, messageOf } from "../errors";
import { concat, type Bytes } from "./bytes";

const ADLER_PRIME = 65521;
/** As many bytes as can be summed before the sums have to be reduced. */
const ADLER_RUN = 3800;

export async function inflate(packed: Bytes, mostBytes: number, what: string): Promise<Bytes> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > mostBytes) {
        await reader.cancel();
        throw new FileFormatError(`${what}: unpacks to more than ${mostBytes} bytes`);
      }
      parts.push(value);
    }
  } catch (error) {
    if (error instanceof CrowdveilError) throw error;
    throw new FileFormatError(`${what}: damaged, cut short, or followed by something else (${messageOf(error)})`);
  }
  const whole = concat(parts);
  const end = packed.length - 4;
  if (end < 0 || new DataView(packed.buffer, packed.byteOffset).getUint32(end) !== adler32(whole)) {
    throw new FileFormatError(`${what}: damaged, cut short, or followed by something else`);
  }
  return whole;
}

function adler32(data: Uint8Array): number {
  let a = 1;
  let b = 0;
  for (let from = 0; from < data.length; from += ADLER_RUN) {
    const to = Math.min(data.length, from + ADLER_RUN);
    for (let i = from; i < to; i++) {
      a += data[i] as number;
      b += a;
    }
    a %= ADLER_PRIME;
    b %= ADLER_PRIME;
  }
  return b * 65536 + a;
}

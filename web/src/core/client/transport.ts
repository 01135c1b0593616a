// Send requests to the page's server, through one method, so that a device works alike over the network and in tests.
//
// Requests go to the page's own origin and nowhere else. A transport returns whatever status the server answered with, or throws
// a ServerUnreachable. It never retries, because only the device knows what may be sent twice.

import { CrowdveilError, messageOf, ServerUnreachable } from "../errors";
import { concat, type Bytes } from "../platform/bytes";

const TIMEOUT_MS = 20_000;
/** Largest reply; a policy of a million cells fits, and an endless reply is cut off. */
const MAX_REPLY_BYTES = 2 ** 26;

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Bytes | null;
}

export interface HttpReply {
  readonly status: number;
  readonly retryAfter: string;
  readonly body: Bytes;
}

export interface Transport {
  send(request: HttpRequest): Promise<HttpReply>;
}

export class FetchTransport implements Transport {
  async send(request: HttpRequest): Promise<HttpReply> {
    try {
      const answer = await fetch(request.path, {
        method: request.method,
        headers: request.headers,
        body: request.body,
        mode: "same-origin",
        credentials: "omit",
        redirect: "error",
        referrerPolicy: "no-referrer",
        cache: "no-store",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const body = await limited(answer, request.path);
      return { status: answer.status, retryAfter: answer.headers.get("retry-after") ?? "", body };
    } catch (error) {
      if (error instanceof CrowdveilError) throw error;
      throw new ServerUnreachable(`no answer (${messageOf(error)})`);
    }
  }
}

async function limited(answer: Response, path: string): Promise<Bytes> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = answer.body?.getReader();
  for (;;) {
    const chunk = await reader?.read();
    if (chunk?.value === undefined) return concat(parts);
    size += chunk.value.length;
    if (size > MAX_REPLY_BYTES) {
      await reader?.cancel();
      throw new ServerUnreachable(`${path}: the reply is longer than ${MAX_REPLY_BYTES} bytes`);
    }
    parts.push(chunk.value);
  }
}

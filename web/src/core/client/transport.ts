// Send requests to one server, through one method, so that a device works alike over the network and in tests.
//
// Requests go to that server and nowhere else, without cookies or other credentials of the browser. A transport returns whatever status the server answered with, or throws
// a ServerUnreachable. It never retries, because only the device knows what may be sent twice.

import { CrowdveilError, InputError, messageOf, ServerUnreachable } from "../errors";
import { concat, type Bytes } from "../platform/bytes";

const TIMEOUT_MS = 20_000;
/** Largest reply; a policy of a million cells fits, and an endless reply is cut off. */
const MAX_REPLY_BYTES = 2 ** 26;

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
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
  /** `server` is an address such as https://crowd.example.org; by default the one that this page came from. */
  constructor(private readonly server: string = location.origin) {}

  async send(request: HttpRequest): Promise<HttpReply> {
    try {
      const answer = await fetch(this.server + request.path, {
        method: request.method,
        headers: request.headers,
        body: request.body,
        mode: new URL(this.server).origin === location.origin ? "same-origin" : "cors",
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

/** The address of a server without a final slash; one that would send reports unencrypted is refused. */
export function checkUrl(url: string): string {
  let parts: URL;
  try {
    parts = new URL(url);
  } catch {
    throw new InputError("url", url, "should be an address such as https://crowd.example.org");
  }
  const plain = parts.search === "" && parts.hash === "" && parts.username === "" && parts.password === "";
  if (!["http:", "https:"].includes(parts.protocol) || !plain) {
    throw new InputError("url", url, "should be an address such as https://crowd.example.org");
  }
  if (parts.protocol === "http:" && !isLoopback(parts.hostname)) {
    throw new InputError("url", url, "should begin with https://; plain http is only for this machine (127.0.0.1)");
  }
  return url.replace(/\/+$/, "");
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127\.[0-9]+\.[0-9]+\.[0-9]+$/.test(host);
}

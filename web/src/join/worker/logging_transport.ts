// A transport that logs: every request is told to the page, and what everyone is shown is kept.
//
// Before joining, the owner is shown a campaign and its policy. Joining asks for both again; `useShown` answers that once
// with the very bytes that were shown, so that exactly those are agreed to, and the server sees GET, GET, POST, PUT.

import type { HttpReply, HttpRequest, Transport } from "../../core/client/transport";
import { CrowdveilError } from "../../core/errors";
import { readProblem } from "../../core/wire/problem";
import type { LoggedRequest } from "../messages";

/** The campaign is paused for longer than anyone would watch; what was drawn is kept, and the page tries again later. */
export class CampaignPaused extends CrowdveilError {
  override name = "CampaignPaused";
}

export class LoggingTransport implements Transport {
  readonly #inner: Transport;
  readonly #tell: (request: LoggedRequest) => void;
  #kept = new Map<string, HttpReply>();
  #shown = new Set<string>();
  /** The last request got no answer at all. */
  unanswered = false;

  constructor(inner: Transport, tell: (request: LoggedRequest) => void) {
    this.#inner = inner;
    this.#tell = tell;
  }

  get replies(): [path: string, body: HttpReply["body"]][] {
    return [...this.#kept].map(([path, { body }]) => [path, body]);
  }

  /** Begin anew, or with what was kept at an earlier visit. */
  restore(replies: readonly (readonly [string, HttpReply["body"]])[] = []): void {
    this.#kept = new Map(replies.map(([path, body]) => [path, { status: 200, retryAfter: "", body }]));
    this.#shown.clear();
  }

  /** Answer the next request for each kept path with what is kept. */
  useShown(): void {
    this.#shown = new Set(this.#kept.keys());
  }

  async send(request: HttpRequest): Promise<HttpReply> {
    const { method, path, body } = request;
    const shown = method === "GET" && this.#shown.delete(path) ? this.#kept.get(path) : undefined;
    if (shown !== undefined) return shown;
    const logged = { method, path, bytes: body?.length ?? 0, problem: null };
    this.#tell({ ...logged, status: null });
    let reply: HttpReply;
    try {
      reply = await this.#inner.send(request);
    } catch (error) {
      this.unanswered = true;
      this.#tell({ ...logged, status: 0 });
      throw error;
    }
    this.unanswered = false;
    const problem = problemOf(reply);
    this.#tell({ ...logged, status: reply.status, problem });
    if (problem === "paused") throw new CampaignPaused("the campaign is paused");
    if (method === "GET" && reply.status === 200 && !("authorization" in request.headers)) this.#kept.set(path, reply);
    return reply;
  }
}

function problemOf(reply: HttpReply): string | null {
  if (reply.status < 400) return null;
  try {
    return readProblem(reply.body).kind;
  } catch {
    return null;
  }
}

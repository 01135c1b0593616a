// Send a request again, unchanged, until an answer comes that can be read.
//
// A request is repeated when no answer came, when the server was busy or failed (429, 5xx), and when the answer is not of this
// protocol (for example the login page of a hotel's network). Waits double, with full jitter, so that a thousand devices do not
// return at once. They depend only on the number of the attempt and on chance.

import { CrowdveilError, ServerRefused, ServerUnreachable, UnexpectedAnswer } from "../errors";
import type { Bytes } from "../platform/bytes";
import { secureBits } from "../platform/random";
import { readProblem, type Problem } from "../wire/problem";
import type { HttpReply, HttpRequest, Transport } from "./transport";

const JITTER_BITS = 53;

export interface RetryPolicy {
  readonly attempts: number;
  readonly firstWaitS: number;
  readonly longestWaitS: number;
}

export const DEFAULT_RETRY_POLICY: RetryPolicy = { attempts: 8, firstWaitS: 0.5, longestWaitS: 60 };

export type Sleep = (seconds: number) => Promise<void>;

export const sleep: Sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

/** Seconds until the next attempt: up to twice as long each time, plus what the server asked for. */
export function waitS(policy: RetryPolicy, attempt: number, retryAfterS: number, jitterShare: number): number {
  const longest = Math.min(policy.longestWaitS, policy.firstWaitS * 2 ** Math.min(attempt, 60));
  return Math.min(policy.longestWaitS, retryAfterS + jitterShare * longest);
}

/** Send requests until an answer can be read, the server refuses, or the attempts are used up. */
export class RetryingClient {
  /** What a person can do when no answer came; ends the error message. */
  protected readonly advice: string = "";

  constructor(
    private readonly transport: Transport,
    private readonly retryPolicy: RetryPolicy = DEFAULT_RETRY_POLICY,
    private readonly sleep_: Sleep = sleep,
  ) {}

  /** Send a request, again and unchanged where that may help, and read the answer. */
  protected async send<T>(request: HttpRequest, read: (body: Bytes) => T | Promise<T>): Promise<T> {
    let reason = "";
    for (let attempt = 0; attempt < this.retryPolicy.attempts; attempt++) {
      let afterS = 0;
      const reply = await this.sendOnce(request);
      if (typeof reply === "string") reason = reply;
      else if (reply.status >= 200 && reply.status < 300) return readReply(request, reply, read);
      else {
        reason = reasonToRetry(reply);
        afterS = retryAfterS(reply);
      }
      if (attempt + 1 < this.retryPolicy.attempts) await this.sleep_(waitS(this.retryPolicy, attempt, afterS, jitter()));
    }
    const tried = `(after ${this.retryPolicy.attempts} attempts). ${this.advice}`;
    throw new ServerUnreachable(`${request.method} ${request.path}: ${reason} ${tried}`.trimEnd());
  }

  /** The reply, or why there is none. */
  private async sendOnce(request: HttpRequest): Promise<HttpReply | string> {
    try {
      return await this.transport.send(request);
    } catch (error) {
      if (error instanceof ServerUnreachable) return error.message;
      throw error;
    }
  }
}

async function readReply<T>(request: HttpRequest, reply: HttpReply, read: (body: Bytes) => T | Promise<T>): Promise<T> {
  try {
    return await read(reply.body);
  } catch (error) {
    if (!(error instanceof CrowdveilError)) throw error;
    throw new UnexpectedAnswer(`${request.method} ${request.path}: the server's answer is not valid: ${error.message}`);
  }
}

/** Say why the request should be tried again; a refusal by the server is thrown instead. */
function reasonToRetry(reply: HttpReply): string {
  let problem: Problem;
  try {
    problem = readProblem(reply.body);
  } catch {
    return `status ${reply.status} without a problem document; is this the right server?`;
  }
  if (problem.status !== reply.status) return `status ${reply.status} with a problem document for ${problem.status}`;
  if (reply.status < 500 && reply.status !== 429) throw new ServerRefused(problem.kind, problem.detail);
  return `${problem.title} (${problem.detail})`;
}

function retryAfterS(reply: HttpReply): number {
  return /^[0-9]{1,9}$/.test(reply.retryAfter) ? Number(reply.retryAfter) : 0;
}

function jitter(): number {
  return Number(secureBits(JITTER_BITS)) / 2 ** JITTER_BITS;
}

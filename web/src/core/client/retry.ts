// How a request is repeated.
//
// It is repeated, byte for byte, when no answer came, when the server was busy or failed (429, 5xx), and when what answered
// does not speak this protocol (a portal of a hotel). Waits double, with full jitter, so that a thousand devices do not return
// at once; they depend on the number of the attempt and on randomness alone.

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

/** Seconds before the next attempt: up to twice as long each time, and as long as the server asked. */
export function waitS(policy: RetryPolicy, attempt: number, askedS: number, jitterShare: number): number {
  const most = Math.min(policy.longestWaitS, policy.firstWaitS * 2 ** Math.min(attempt, 60));
  return Math.min(policy.longestWaitS, askedS + jitterShare * most);
}

export class RetryingClient {
  constructor(
    private readonly transport: Transport,
    private readonly retryPolicy: RetryPolicy = DEFAULT_RETRY_POLICY,
    private readonly sleep_: Sleep = sleep,
  ) {}

  protected async ask<T>(request: HttpRequest, read: (body: Bytes) => T | Promise<T>): Promise<T> {
    let reason = "";
    for (let attempt = 0; attempt < this.retryPolicy.attempts; attempt++) {
      let askedS = 0;
      const reply = await this.send(request);
      if (typeof reply === "string") reason = reply;
      else if (reply.status >= 200 && reply.status < 300) return readReply(request, reply, read);
      else {
        reason = whyBusy(reply);
        askedS = retryAfterS(reply);
      }
      if (attempt + 1 < this.retryPolicy.attempts) await this.sleep_(waitS(this.retryPolicy, attempt, askedS, jitter()));
    }
    throw new ServerUnreachable(
      `${request.method} ${request.path}: ${reason} (after ${this.retryPolicy.attempts} attempts). ` +
        "Join again later: what was drawn is kept, and sent unchanged",
    );
  }

  /** The reply, or why there is none. */
  private async send(request: HttpRequest): Promise<HttpReply | string> {
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
    throw new UnexpectedAnswer(`${request.method} ${request.path}: the answer makes no sense: ${error.message}`);
  }
}

/** Why to try again; a refusal of the server's own is thrown instead. */
function whyBusy(reply: HttpReply): string {
  let problem: Problem;
  try {
    problem = readProblem(reply.body);
  } catch {
    return `status ${reply.status} without a problem document; is this the right server?`;
  }
  if (problem.status !== reply.status) return `status ${reply.status} with a problem document for ${problem.status}`;
  if (reply.status < 500 && reply.status !== 429) throw new ServerRefused(problem);
  return `${problem.title} (${problem.detail})`;
}

function retryAfterS(reply: HttpReply): number {
  return /^[0-9]{1,9}$/.test(reply.retryAfter) ? Number(reply.retryAfter) : 0;
}

function jitter(): number {
  return Number(secureBits(JITTER_BITS)) / 2 ** JITTER_BITS;
}

// The line to the server: every request a device makes, and how it tries again.
//
// A request is repeated, byte for byte, when no answer came, when the server was busy or failed (429, 5xx), and when what
// answered does not speak this protocol (a portal of a hotel). Waits double, with full jitter, so that a thousand devices do
// not return at once; they depend on the number of the attempt and on dice alone.

import type { Bytes } from "./bytes";
import { CrowdveilError, NoAnswerError, Refusal } from "./errors";
import type { Policy } from "./policy/policy";
import { policyFromBytes } from "./policy/read";
import { secureBits } from "./random";
import type { Reply, Request, Transport } from "./transport";
import { POLICY_MEDIA_TYPE } from "./wire/message";
import {
  enrolmentBytes,
  readCampaignInfo,
  readReceipt,
  readSeat,
  readStatus,
  type CampaignInfo,
  type ParticipantStatus,
  type Receipt,
  type Seat,
} from "./wire/participant";
import { readProblem, type Problem } from "./wire/problem";

const JSON_TYPE = "application/json";
const DICE_BITS = 53;

export interface Patience {
  readonly attempts: number;
  readonly firstWaitS: number;
  readonly longestWaitS: number;
}

export const DEFAULT_PATIENCE: Patience = { attempts: 8, firstWaitS: 0.5, longestWaitS: 60 };

export type Sleep = (seconds: number) => Promise<void>;

export const sleep: Sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

/** Seconds before the next attempt: up to twice as long each time, and as long as the server asked. */
export function waitS(patience: Patience, attempt: number, askedS: number, dice: number): number {
  const most = Math.min(patience.longestWaitS, patience.firstWaitS * 2 ** Math.min(attempt, 60));
  return Math.min(patience.longestWaitS, askedS + dice * most);
}

/** The server refused for good, in the words of its problem document. */
export class Declined extends Refusal {
  override name = "Declined";

  constructor(readonly problem: Problem) {
    super(`the server refused (${problem.kind}): ${problem.detail}`);
  }
}

/** Whatever answered, it was not this campaign's server: a portal of a hotel says 200, too. */
export class StrangeAnswer extends Refusal {
  override name = "StrangeAnswer";
}

export class Line {
  constructor(
    private readonly transport: Transport,
    private readonly patience: Patience = DEFAULT_PATIENCE,
    private readonly sleep_: Sleep = sleep,
  ) {}

  campaign(campaign: string): Promise<CampaignInfo> {
    return this.ask(get(pathOf(campaign), JSON_TYPE), readCampaignInfo);
  }

  policy(campaign: string, round: number): Promise<Policy> {
    return this.ask(get(pathOf(campaign, `/rounds/${round}/policy`), POLICY_MEDIA_TYPE), policyFromBytes);
  }

  /** A seat, the same one for the same secret. */
  enrol(campaign: string, secret: string, invite: string | null): Promise<Seat> {
    const headers = { accept: JSON_TYPE, "content-type": JSON_TYPE };
    const body = enrolmentBytes(secret, invite);
    return this.ask({ method: "POST", path: pathOf(campaign, "/seats"), headers, body }, readSeat);
  }

  /** Send the one report; as often as it takes, always the same bytes. */
  report(campaign: string, secret: string, upload: Bytes): Promise<Receipt> {
    const headers = { accept: JSON_TYPE, "content-type": JSON_TYPE, authorization: `Bearer ${secret}` };
    return this.ask({ method: "PUT", path: pathOf(campaign, "/report"), headers, body: upload }, readReceipt);
  }

  status(campaign: string, secret: string): Promise<ParticipantStatus> {
    const headers = { accept: JSON_TYPE, authorization: `Bearer ${secret}` };
    return this.ask({ method: "GET", path: pathOf(campaign, "/status"), headers, body: null }, readStatus);
  }

  private async ask<T>(request: Request, read: (body: Bytes) => T | Promise<T>): Promise<T> {
    let reason = "";
    for (let attempt = 0; attempt < this.patience.attempts; attempt++) {
      let askedS = 0;
      const reply = await this.send(request);
      if (typeof reply === "string") reason = reply;
      else if (reply.status >= 200 && reply.status < 300) return readReply(request, reply, read);
      else {
        reason = whyBusy(reply);
        askedS = retryAfterS(reply);
      }
      if (attempt + 1 < this.patience.attempts) await this.sleep_(waitS(this.patience, attempt, askedS, dice()));
    }
    throw new NoAnswerError(
      `${request.method} ${request.path}: ${reason} (after ${this.patience.attempts} attempts). ` +
        "Join again later: what was drawn is kept, and sent unchanged",
    );
  }

  /** The reply, or why there is none. */
  private async send(request: Request): Promise<Reply | string> {
    try {
      return await this.transport.send(request);
    } catch (error) {
      if (error instanceof NoAnswerError) return error.message;
      throw error;
    }
  }
}

function pathOf(campaign: string, rest = ""): string {
  return `/v1/campaigns/${encodeURIComponent(campaign)}${rest}`;
}

function get(path: string, accept: string): Request {
  return { method: "GET", path, headers: { accept }, body: null };
}

async function readReply<T>(request: Request, reply: Reply, read: (body: Bytes) => T | Promise<T>): Promise<T> {
  try {
    return await read(reply.body);
  } catch (error) {
    if (!(error instanceof CrowdveilError)) throw error;
    throw new StrangeAnswer(`${request.method} ${request.path}: the answer makes no sense: ${error.message}`);
  }
}

/** Why to try again; a refusal of the server's own is thrown instead. */
function whyBusy(reply: Reply): string {
  let problem: Problem;
  try {
    problem = readProblem(reply.body);
  } catch {
    return `status ${reply.status} without a problem document; is this the right server?`;
  }
  if (problem.status !== reply.status) return `status ${reply.status} with a problem document for ${problem.status}`;
  if (reply.status < 500 && reply.status !== 429) throw new Declined(problem);
  return `${problem.title} (${problem.detail})`;
}

function retryAfterS(reply: Reply): number {
  return /^[0-9]{1,9}$/.test(reply.retryAfter) ? Number(reply.retryAfter) : 0;
}

function dice(): number {
  return Number(secureBits(DICE_BITS)) / 2 ** DICE_BITS;
}

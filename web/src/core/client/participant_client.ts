// Make every request that a device sends to the server.

import type { Bytes } from "../platform/bytes";
import { policyFromBytes } from "../policy/files";
import type { Policy } from "../policy/policy";
import { POLICY_MEDIA_TYPE } from "../wire/message";
import {
  readAnnouncement,
  readReceipt,
  readSeat,
  readStatus,
  readWithdrawal,
  seatRequestBytes,
  type Announcement,
  type ParticipantStatus,
  type Receipt,
  type Seat,
  type Withdrawal,
} from "../wire/participant";
import { RetryingClient } from "./retry";
import type { HttpRequest } from "./transport";

const JSON_TYPE = "application/json";

export class ParticipantClient extends RetryingClient {
  protected override readonly advice = "Join again later; this phone keeps its answer and will send the same one";

  /** Fetch what is announced to everyone. */
  campaign(campaign: string): Promise<Announcement> {
    return this.send(get(pathOf(campaign), JSON_TYPE), readAnnouncement);
  }

  /** Fetch the policy of a round. */
  policy(campaign: string, round: number): Promise<Policy> {
    return this.send(get(pathOf(campaign, `/rounds/${round}/policy`), POLICY_MEDIA_TYPE), policyFromBytes);
  }

  /** Request a seat; the same secret gets the same seat. */
  takeSeat(campaign: string, secret: string, invite: string | null): Promise<Seat> {
    const headers = { accept: JSON_TYPE, "content-type": JSON_TYPE };
    const body = seatRequestBytes(secret, invite);
    return this.send({ method: "POST", path: pathOf(campaign, "/seats"), headers, body }, readSeat);
  }

  /** Send the report, as often as necessary and always with the same bytes. */
  sendReport(campaign: string, secret: string, report: Bytes): Promise<Receipt> {
    const headers = { accept: JSON_TYPE, "content-type": JSON_TYPE, authorization: `Bearer ${secret}` };
    return this.send({ method: "PUT", path: pathOf(campaign, "/report"), headers, body: report }, readReceipt);
  }

  /** Ask whether this device was selected. */
  status(campaign: string, secret: string): Promise<ParticipantStatus> {
    const headers = { accept: JSON_TYPE, authorization: `Bearer ${secret}` };
    return this.send({ method: "GET", path: pathOf(campaign, "/status"), headers, body: null }, readStatus);
  }

  /** Ask the server to forget the seat and the report of this device; possible until the round is closed. */
  withdraw(campaign: string, secret: string): Promise<Withdrawal> {
    const headers = { accept: JSON_TYPE, authorization: `Bearer ${secret}` };
    return this.send({ method: "DELETE", path: pathOf(campaign, "/report"), headers, body: null }, readWithdrawal);
  }
}

function pathOf(campaign: string, rest = ""): string {
  return `/v1/campaigns/${encodeURIComponent(campaign)}${rest}`;
}

function get(path: string, accept: string): HttpRequest {
  return { method: "GET", path, headers: { accept }, body: null };
}

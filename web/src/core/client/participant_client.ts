// Every request that a participant's device makes.

import type { Bytes } from "../platform/bytes";
import { policyFromBytes } from "../policy/files";
import type { Policy } from "../policy/policy";
import { POLICY_MEDIA_TYPE } from "../wire/message";
import {
  readAnnouncement,
  readReceipt,
  readSeat,
  readStatus,
  seatRequestBytes,
  type Announcement,
  type ParticipantStatus,
  type Receipt,
  type Seat,
} from "../wire/participant";
import { RetryingClient } from "./retry";
import type { HttpRequest } from "./transport";

const JSON_TYPE = "application/json";

export class ParticipantClient extends RetryingClient {
  campaign(campaign: string): Promise<Announcement> {
    return this.ask(get(pathOf(campaign), JSON_TYPE), readAnnouncement);
  }

  policy(campaign: string, round: number): Promise<Policy> {
    return this.ask(get(pathOf(campaign, `/rounds/${round}/policy`), POLICY_MEDIA_TYPE), policyFromBytes);
  }

  /** A seat, the same one for the same secret. */
  enrol(campaign: string, secret: string, invite: string | null): Promise<Seat> {
    const headers = { accept: JSON_TYPE, "content-type": JSON_TYPE };
    const body = seatRequestBytes(secret, invite);
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

}

function pathOf(campaign: string, rest = ""): string {
  return `/v1/campaigns/${encodeURIComponent(campaign)}${rest}`;
}

function get(path: string, accept: string): HttpRequest {
  return { method: "GET", path, headers: { accept }, body: null };
}

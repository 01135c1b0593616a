// Refusals of the server, as RFC 9457 problem documents.

import { InputError } from "../errors";
import { MessageReader } from "./message";

const PREFIX = "/problems/";

/** Status and title of each kind of problem; a document that contradicts them is not this protocol's. */
const PROBLEMS: Readonly<Record<string, readonly [status: number, title: string]>> = {
  malformed: [400, "The request is not JSON of this protocol"],
  unauthorized: [401, "A valid token is needed"],
  forbidden: [403, "This token is for another role"],
  "bad-invite": [403, "The invite is unknown, or was used by another device"],
  "not-found": [404, "There is no such thing"],
  "unknown-participant": [404, "There is no such participant; enrol first"],
  "method-not-allowed": [405, "This address does not answer that method"],
  "wrong-state": [409, "The campaign is not in a state that allows this"],
  "no-seat": [409, "No seat is free at the moment; ask again when the next round opens"],
  "report-conflict": [409, "Another report of this participant was stored before; it stays"],
  "round-closed": [409, "The round is closed; the report was not counted"],
  "wrong-round": [409, "The participant's seat is in another round"],
  "wrong-policy": [409, "The report was drawn from another policy than the round's"],
  "too-large": [413, "The request is too large"],
  "unsupported-media-type": [415, "The request is not of a media type that is read here"],
  invalid: [422, "A field does not fit"],
  "wrong-symbol": [422, "The round's policy has no such symbol"],
  "too-many-requests": [429, "Too many requests; wait and send the same again"],
  internal: [500, "The server failed"],
  unavailable: [503, "The server cannot store at the moment; send the same again"],
  paused: [503, "The campaign is paused; send the same again later"],
};

export interface Problem {
  readonly kind: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
}

/** A refusal as JSON, unread; the console shows it as it is. */
export interface ProblemDocument {
  type: string;
  title: string;
  status: number;
  detail: string;
  field?: string | null;
  value?: string | null;
  expected?: string | null;
}

const ANY = /^[^]*$/;

export function readProblem(data: Uint8Array): Problem {
  return MessageReader.read("Problem", data, (message) => {
    const type = message.text("type", ANY, "should be text");
    const kind = type.startsWith(PREFIX) ? type.slice(PREFIX.length) : "";
    const status = message.whole("status");
    const title = message.text("title", ANY, "should be text");
    const [knownStatus, knownTitle] = PROBLEMS[kind] ?? [];
    if (status !== knownStatus || title !== knownTitle) {
      throw new InputError("type", type, `should be ${PREFIX} and a known problem, with its status and title`);
    }
    for (const field of ["field", "value", "expected"]) {
      const value = message.optional(field);
      if (value !== undefined && value !== null) message.text(field, ANY, "should be text");
    }
    return {
      kind,
      title,
      status,
      detail: message.text("detail", ANY, "should be text"),
    };
  });
}

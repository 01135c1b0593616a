// Every error that the server answers with over HTTP, in one table, as RFC 9457 problem documents.

import { InputError } from "../errors";
import { MessageReader } from "./message";

const PREFIX = "/problems/";

/** The status and title of every kind of problem; a document that contradicts them is refused. */
const PROBLEMS: Readonly<Record<string, readonly [status: number, title: string]>> = {
  malformed: [400, "The request is not valid JSON"],
  unauthorized: [401, "A valid token is required"],
  forbidden: [403, "This token is for another role"],
  "bad-invite": [403, "The invite is unknown or was already used"],
  "too-many-seats": [403, "Too many people have joined from this network address; use another network"],
  "not-found": [404, "Not found"],
  "unknown-participant": [404, "The participant is unknown; request a seat first"],
  "method-not-allowed": [405, "This address does not support that method"],
  "wrong-state": [409, "The campaign's state does not allow this"],
  "last-owner": [409, "An owner with a valid token has to stay"],
  "no-seat": [409, "No seat is free at the moment; ask again when the next round opens"],
  "report-conflict": [409, "A different report of this participant is already stored and stays"],
  "round-closed": [409, "The round is closed; nothing was changed"],
  "wrong-round": [409, "The participant's seat is in another round"],
  "wrong-policy": [409, "The report was drawn from a policy other than the round's"],
  "too-large": [413, "The request is too large"],
  "unsupported-media-type": [415, "The media type of the request is not supported"],
  invalid: [422, "A field is not valid"],
  "wrong-symbol": [422, "The round's policy does not have this symbol"],
  "too-many-requests": [429, "Too many requests; wait, then send the same request again"],
  internal: [500, "The server failed"],
  unavailable: [503, "The server cannot store anything at the moment; send the same request again"],
  paused: [503, "The campaign is paused; send the same request again later"],
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

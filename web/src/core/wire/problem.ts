// Refusals of the server, as RFC 9457 problem documents.

import { InputError } from "../errors";
import { Incoming } from "./message";

const PREFIX = "/problems/";

/** Status of each kind of problem; a document that contradicts it is not this protocol's. */
const STATUS: Readonly<Record<string, number>> = {
  malformed: 400,
  unauthorized: 401,
  forbidden: 403,
  "bad-invite": 403,
  "not-found": 404,
  "unknown-participant": 404,
  "method-not-allowed": 405,
  "wrong-state": 409,
  "no-seat": 409,
  "report-conflict": 409,
  "round-closed": 409,
  "wrong-round": 409,
  "wrong-policy": 409,
  "too-large": 413,
  "unsupported-media-type": 415,
  invalid: 422,
  "wrong-symbol": 422,
  "too-many-requests": 429,
  internal: 500,
  unavailable: 503,
  paused: 503,
};

export interface Problem {
  readonly kind: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
}

const ANY = /^[^]*$/;

export function readProblem(data: Uint8Array): Problem {
  return Incoming.read("Problem", data, (message) => {
    const type = message.text("type", ANY, "should be text");
    const kind = type.startsWith(PREFIX) ? type.slice(PREFIX.length) : "";
    const status = message.whole("status");
    if (STATUS[kind] !== status) {
      throw new InputError("type", type, `should be ${PREFIX} and a known problem of status ${status}`);
    }
    for (const field of ["field", "value", "expected"]) {
      const value = message.optional(field);
      if (value !== undefined && value !== null) message.text(field, ANY, "should be text");
    }
    return {
      kind,
      title: message.text("title", ANY, "should be text"),
      status,
      detail: message.text("detail", ANY, "should be text"),
    };
  });
}

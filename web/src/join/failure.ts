// Why something did not go on, as the worker tells it to the page.

import type { Failure } from "./messages";

/** A failure that is sorted by what a person can do about it. */
export class FailureError extends Error {
  override name = "FailureError";

  constructor(readonly failure: Failure) {
    super(failure.message);
  }
}

export function failureFrom(error: unknown): Failure {
  if (error instanceof FailureError) return error.failure;
  return { kind: "failed", message: error instanceof Error ? error.message : String(error), figures: "", info: null };
}

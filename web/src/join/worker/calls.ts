// Answer the page's calls, and tell it what happens meanwhile.

import { FailureError } from "../failure";
import type { WorkerCall, WorkerMessage } from "../messages";
import { failureOf } from "./failure";
import { ParticipantWorker } from "./participant_worker";

const say = (said: WorkerMessage): void => {
  postMessage(said);
};
const worker = new ParticipantWorker({ tell: (event) => say({ event }) });

addEventListener("message", ({ data }: MessageEvent<WorkerCall>) => {
  const { id, name, given } = data;
  const calls = worker as unknown as Record<string, (...given: readonly unknown[]) => Promise<unknown>>;
  Promise.resolve(calls[name]?.(...given)).then(
    (result) => say({ id, result }),
    (error: unknown) => say({ id, failure: error instanceof FailureError ? error.failure : failureOf(error) }),
  );
});

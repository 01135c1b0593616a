// Calls of the page to its worker.

import { FailureError } from "./failure";
import type { WorkerApi, WorkerCall, WorkerEvent, WorkerMessage } from "./messages";

interface Waiting {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export function connectWorker(worker: Worker, onEvent: (event: WorkerEvent) => void): WorkerApi {
  const waiting = new Map<number, Waiting>();
  let last = 0;
  worker.addEventListener("message", ({ data }: MessageEvent<WorkerMessage>) => {
    if ("event" in data) {
      onEvent(data.event);
      return;
    }
    const one = waiting.get(data.id);
    waiting.delete(data.id);
    if ("failure" in data) one?.reject(new FailureError(data.failure));
    else one?.resolve(data.result);
  });
  worker.addEventListener("error", (event) => {
    const message = event.message || "the page's worker did not start; reload the page";
    for (const one of waiting.values()) one.reject(new FailureError({ kind: "failed", message, figures: "", info: null }));
    waiting.clear();
  });
  const call =
    (name: keyof WorkerApi) =>
    (...given: unknown[]): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const id = ++last;
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, name, given } satisfies WorkerCall);
      });
  return new Proxy({} as WorkerApi, { get: (_, name) => call(name as keyof WorkerApi) });
}

// The page's end of the line to its worker.

import type { Api, Call, Happening, Said, Trouble } from "./messages";

/** What the worker could not do, and why. */
export class TroubleError extends Error {
  override name = "TroubleError";

  constructor(readonly trouble: Trouble) {
    super(trouble.words);
  }
}

export function troubleIn(error: unknown): Trouble {
  if (error instanceof TroubleError) return error.trouble;
  return { kind: "failed", words: error instanceof Error ? error.message : String(error), info: null };
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

export function connect(worker: Worker, happened: (happening: Happening) => void): Api {
  const waiting = new Map<number, Waiting>();
  let last = 0;
  worker.addEventListener("message", ({ data }: MessageEvent<Said>) => {
    if ("happening" in data) {
      happened(data.happening);
      return;
    }
    const one = waiting.get(data.id);
    waiting.delete(data.id);
    if ("trouble" in data) one?.reject(new TroubleError(data.trouble));
    else one?.resolve(data.result);
  });
  worker.addEventListener("error", (event) => {
    const words = event.message || "the page's worker did not start; load the page again";
    for (const one of waiting.values()) one.reject(new TroubleError({ kind: "failed", words, info: null }));
    waiting.clear();
  });
  const call =
    (name: keyof Api) =>
    (...given: unknown[]): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const id = ++last;
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, name, given } satisfies Call);
      });
  return new Proxy({} as Api, { get: (_, name) => call(name as keyof Api) });
}

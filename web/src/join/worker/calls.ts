// Answer the page's calls, and tell it what happens meanwhile.

import type { Call, Said } from "../messages";
import { Desk, Troubled } from "./desk";
import { troubleOf } from "./trouble";

const say = (said: Said): void => {
  postMessage(said);
};
const desk = new Desk({ tell: (happening) => say({ happening }) });

addEventListener("message", ({ data }: MessageEvent<Call>) => {
  const { id, name, given } = data;
  const calls = desk as unknown as Record<string, (...given: readonly unknown[]) => Promise<unknown>>;
  Promise.resolve(calls[name]?.(...given)).then(
    (result) => say({ id, result }),
    (error: unknown) => say({ id, trouble: error instanceof Troubled ? error.trouble : troubleOf(error) }),
  );
});

// A campaign as it stands, asked again and again while someone looks: soon while it moves, later while it rests.

import { ServerUnreachable } from "../../core/errors";
import type { AreaShape } from "../../core/wire/area";
import { PROTOCOL } from "../../core/wire/message";
import type { CampaignView, RoundEstimate } from "../../core/wire/operator";
import { abandoned, RequestRefused, type OperatorApi } from "../api";
import { session } from "../session.svelte";
import { pauseBefore } from "./pauses";

export class Live {
  view: CampaignView | undefined = $state.raw();
  estimates: readonly RoundEstimate[] = $state.raw([]);
  shape: AreaShape | undefined = $state.raw();
  error: unknown = $state();
  /** When the server last answered. */
  seen: number | undefined = $state();
  readonly #api: OperatorApi;
  readonly #id: string;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stop = new AbortController();

  constructor(api: OperatorApi, id: string) {
    this.#api = api;
    this.#id = id;
  }

  /** Ask until stopped; a hidden tab asks nothing until it is looked at again. */
  start(): () => void {
    const look = () => {
      if (document.visibilityState === "visible") void this.ask();
    };
    document.addEventListener("visibilitychange", look);
    addEventListener("online", look);
    void this.ask();
    return () => {
      document.removeEventListener("visibilitychange", look);
      removeEventListener("online", look);
      clearTimeout(this.#timer);
      this.#stop.abort();
    };
  }

  /** Ask now. */
  async ask(): Promise<void> {
    clearTimeout(this.#timer);
    const { signal } = this.#stop;
    try {
      await this.take(await this.#api.campaign(this.#id, signal));
      this.error = undefined;
      this.#failures = 0;
    } catch (error) {
      if (abandoned(error)) return;
      session.noticed(error);
      this.error = error;
      this.#failures += 1;
    }
    if (signal.aborted || (this.error instanceof RequestRefused && this.error.problem.status === 404)) return;
    const pause = pauseBefore(this.view?.state, this.#failures);
    clearTimeout(this.#timer);
    if (pause !== undefined) {
      this.#timer = setTimeout(() => {
        if (document.visibilityState === "visible") void this.ask();
      }, pause);
    }
  }

  /** Show a view that the server gave, and fetch what belongs to it. */
  async take(view: CampaignView): Promise<void> {
    this.view = view;
    this.seen = Date.now();
    const { signal } = this.#stop;
    // An area does not change; what was learnt changes when a round closes, a moment after that.
    this.shape ??= await this.#api.area({ protocol: PROTOCOL, area: view.plan.area }, signal).catch(unlessDrawable);
    const closed = view.rounds.filter((one) => one.state === "closed").length;
    if (view.estimate !== null && this.estimates.length < closed) {
      this.estimates = await this.#api.estimates(this.#id, signal);
    }
  }
}

/** An area of too many cells, or of none on a map, is shown without one. */
function unlessDrawable(error: unknown): undefined {
  if (abandoned(error) || error instanceof ServerUnreachable) throw error;
  return undefined;
}

// How this device stands in one campaign, as the page draws it. All work is done in the worker.

import type { PrivacyLimits } from "../core/client/privacy_limits";
import { campaignIn, inviteIn, typedInvite } from "./address";
import { failureFrom } from "./failure";
import type {
  CheckedView,
  DeviceState,
  Failure,
  LoggedRequest,
  PlacesView,
  ReplyPreview,
  ShownChoice,
  SourceView,
  StatusAnswer,
  WorkerApi,
  WorkerEvent,
} from "./messages";
import { forgetPages } from "./offline";
import { Recorder } from "./recorder.svelte";
import { localOffsetS, type Fix } from "./recording";

/**
 *     loading → ready → sending → sent            the way through
 *               failed                            the campaign cannot be joined now, or not at all
 *               pending                           drawn, not yet acknowledged: sent again, unchanged
 *               not-counted                       drawn and seen, but never counted
 *     home, blocked, deleted                      no campaign in the address; nowhere to keep anything; all gone
 */
export type Stage = "loading" | "home" | "blocked" | "failed" | "ready" | "sending" | "pending" | "sent" | "not-counted" | "deleted";

const AGAIN_MS = 30_000;
const LOOK_AGAIN_MS = 5_000;
const MAX_LOGGED = 50;

export interface Reading {
  readonly name: string;
  readonly done: number;
  readonly total: number;
}

export interface FileFailure extends Failure {
  readonly name: string;
}

export class Participation {
  readonly campaign = campaignIn(location.pathname);
  stage: Stage = $state("loading");
  local: DeviceState | null = $state.raw(null);
  checked: CheckedView | null = $state.raw(null);
  places: PlacesView | null = $state.raw(null);
  failure: Failure | null = $state.raw(null);
  /** About files or a recording; the page as a whole goes on. */
  fileFailures: readonly FileFailure[] = $state.raw([]);
  /** A source that is still there although it was to go. */
  notRemoved: FileFailure | null = $state.raw(null);
  reading: Reading | null = $state.raw(null);
  finding = $state(false);
  checking: { readonly done: number; readonly total: number } | null = $state.raw(null);
  requests: readonly LoggedRequest[] = $state.raw([]);
  answered: StatusAnswer | null = $state.raw(null);
  asking = $state(false);
  statusFailure: Failure | null = $state.raw(null);
  /** Another tab takes part in this campaign; this one waits for it. */
  elsewhere = $state(false);
  /** What became other than it was when the button was pressed: it has to be pressed again. */
  changed: "round" | "visits" | null = $state(null);
  invite = $state(inviteIn(location.hash) ?? "");
  readonly recorder = new Recorder((visit) => void this.#record(visit));
  readonly #api: WorkerApi;
  readonly #tabs = "BroadcastChannel" in globalThis ? new BroadcastChannel("crowdveil") : null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(connect: (onEvent: (event: WorkerEvent) => void) => WorkerApi) {
    this.#api = connect((event) => this.#onEvent(event));
    this.#tabs?.addEventListener("message", () => void this.#otherTab());
    addEventListener("hashchange", () => (this.invite = inviteIn(location.hash) ?? this.invite));
    addEventListener("online", () => this.#soon(0));
    addEventListener("pageshow", (event) => event.persisted && void this.begin());
  }

  get name(): string {
    return this.checked?.info.name ?? this.failure?.info?.name ?? this.local?.name ?? this.campaign ?? "crowdveil";
  }

  get reply(): ReplyPreview | null {
    return this.places?.reply ?? null;
  }

  get last(): LoggedRequest | undefined {
    return this.requests.at(-1);
  }

  /** From the ledger on: where this device stands, and what comes next. */
  async begin(): Promise<void> {
    clearTimeout(this.#timer);
    this.stage = "loading";
    this.failure = null;
    if (!(await this.#refresh())) return;
    const entry = this.local?.entry;
    this.answered = this.local?.answered ?? null;
    if (this.campaign === undefined) this.stage = "home";
    else if (entry?.state === "acknowledged") await this.#sent();
    else if (entry?.state === "refused") this.stage = "not-counted";
    else if (entry?.drawn) await this.send(0);
    else await this.look();
  }

  async look(): Promise<void> {
    clearTimeout(this.#timer);
    this.stage = "loading";
    this.failure = null;
    try {
      this.checked = await this.#api.look();
      this.checking = null;
      this.stage = "ready";
      await this.find();
    } catch (error) {
      this.checking = null;
      this.#stop(error);
    }
  }

  /** Frequent places, after visits came or went. */
  async find(): Promise<void> {
    if (this.checked === null) return;
    this.finding = true;
    try {
      this.places = this.local?.sources.length ? await this.#api.places() : null;
      // Without visits there is no button either.
      if (this.places === null && this.changed !== null) await this.declineChanged();
    } catch (error) {
      this.#stop(error);
    } finally {
      this.finding = false;
    }
  }

  async importFiles(files: readonly File[]): Promise<void> {
    this.fileFailures = [];
    // Not there on pages without https.
    if ("storage" in navigator) void navigator.storage.persist().catch(() => false);
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    for (const file of files) {
      this.reading = { name: file.name, done: 0, total: file.size };
      try {
        await this.#api.importFile(file, zone);
      } catch (error) {
        this.fileFailures = [...this.fileFailures, { ...failureFrom(error), name: file.name }];
      }
    }
    this.reading = null;
    await this.#visitsChanged();
  }

  async remove(source: SourceView): Promise<void> {
    this.notRemoved = null;
    try {
      await this.#api.removeSource(source.id);
      if (source.recorded) this.recorder.forget();
      await this.#visitsChanged();
    } catch (error) {
      this.notRemoved = { ...failureFrom(error), name: source.name };
    }
  }

  /** The button: a seat, one draw, one report; or, if there is a drawn value, that value again. */
  async send(alreadySpentPerKm: number): Promise<void> {
    const seen = this.#seen;
    if (this.changed !== null) {
      this.changed = null;
      this.stage = "sending";
      await this.#api.agree(seen);
      return;
    }
    clearTimeout(this.#timer);
    this.requests = [];
    this.failure = null;
    this.stage = "sending";
    try {
      const entry = await this.#api.join(alreadySpentPerKm, typedInvite(this.invite) || null, seen);
      await this.#refresh();
      this.#tabs?.postMessage("changed");
      if (entry.state === "acknowledged") await this.#sent();
    } catch (error) {
      await this.#refresh();
      this.#tabs?.postMessage("changed");
      this.#stop(error);
    } finally {
      this.changed = null;
    }
  }

  /** No to what changed: nothing is drawn. */
  async declineChanged(): Promise<void> {
    await this.#api.agree(null);
  }

  async askStatus(): Promise<void> {
    this.asking = true;
    this.statusFailure = null;
    try {
      this.answered = await this.#api.status();
    } catch (error) {
      this.statusFailure = failureFrom(error);
    } finally {
      this.asking = false;
    }
  }

  async setLimits(limits: PrivacyLimits): Promise<void> {
    await this.#api.setLimits(limits);
    this.#tabs?.postMessage("changed");
    await this.#refresh();
    if (this.stage === "ready" || this.stage === "failed") await this.look();
  }

  async deleteEverything(): Promise<void> {
    clearTimeout(this.#timer);
    this.recorder.stop();
    this.recorder.forget();
    await this.#api.deleteEverything();
    await forgetPages();
    this.checked = this.places = this.local = null;
    this.stage = "deleted";
    this.#tabs?.postMessage("changed");
  }

  get #seen(): ShownChoice | null {
    return this.checked && this.places && { policyHash: this.checked.policyHash, chosen: this.places.chosen };
  }

  async #sent(): Promise<void> {
    this.stage = "sent";
    await this.askStatus();
  }

  async #refresh(): Promise<boolean> {
    try {
      this.local = await this.#api.open(this.campaign ?? "");
      return true;
    } catch (error) {
      this.failure = failureFrom(error);
      this.stage = "blocked";
      return false;
    }
  }

  async #record({ latitude, longitude }: Fix): Promise<void> {
    try {
      await this.#api.record(latitude, longitude, localOffsetS());
      await this.#visitsChanged();
    } catch (error) {
      this.fileFailures = [{ ...failureFrom(error), name: "the recording" }];
    }
  }

  async #visitsChanged(): Promise<void> {
    if (await this.#refresh()) await this.find();
    this.#tabs?.postMessage("changed");
  }

  /** Another tab took part, changed limits or visits, or deleted everything. */
  async #otherTab(): Promise<void> {
    if (this.stage === "sending" || this.stage === "deleted" || this.reading !== null) return;
    const before = this.local;
    if (!(await this.#refresh())) return;
    const { entry, sources } = this.local as DeviceState;
    const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
    if (!same(before?.entry, entry) || !same(before?.limits, this.local?.limits)) await this.begin();
    else if (!same(before?.sources, sources)) await this.find();
  }

  async #askAgain(checked: CheckedView, places: PlacesView): Promise<void> {
    await this.#refresh();
    this.changed = checked.policyHash === this.checked?.policyHash ? "visits" : "round";
    this.checked = checked;
    this.places = places;
    this.stage = "ready";
    if (!this.local?.sources.length) await this.find();
  }

  #stop(error: unknown): void {
    this.failure = failureFrom(error);
    const entry = this.local?.entry;
    if (this.failure.kind === "storage-blocked" || this.failure.kind === "ledger-altered") this.stage = "blocked";
    else if (entry?.state === "refused") this.stage = "not-counted";
    else if (entry?.drawn && entry.state === "drawn") {
      this.stage = "pending";
      this.#soon(AGAIN_MS);
    } else if (this.checked !== null && STAYS.has(this.failure.kind)) this.stage = "ready";
    else {
      this.stage = "failed";
      if (this.failure.kind === "not-yet" && this.failure.info?.state === "open") this.#soon(LOOK_AGAIN_MS);
    }
  }

  /** What waits for the network, or for a round, is tried again by itself. */
  #soon(afterMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.stage === "pending") void this.send(0);
      else if (this.stage === "failed" && WAITS.has(this.failure?.kind ?? "failed")) void this.look();
      else if (this.stage === "ready" && this.checked?.offlineSince != null) void this.look();
    }, afterMs);
  }

  #onEvent(event: WorkerEvent): void {
    switch (event.what) {
      case "read":
        if (this.reading) this.reading = { ...this.reading, done: event.done, total: event.total };
        break;
      case "checking":
        this.checking = event;
        break;
      case "request":
        this.requests = withRequest(this.requests, event.request).slice(-MAX_LOGGED);
        break;
      case "elsewhere":
        this.elsewhere = event.busy;
        break;
      case "changed":
        void this.#askAgain(event.checked, event.places);
    }
  }
}

/** Said beside the button, which may be pressed again. */
const STAYS: ReadonlySet<Failure["kind"]> = new Set(["no-answer", "unexpected-answer", "paused", "no-seat", "bad-invite", "declined", "storage-full", "failed"]);
const WAITS: ReadonlySet<Failure["kind"]> = new Set(["no-answer", "unexpected-answer", "not-yet", "paused"]);

/** An answer takes its question's place. */
export function withRequest(before: readonly LoggedRequest[], requests: LoggedRequest): readonly LoggedRequest[] {
  const last = before.at(-1);
  const answers = last?.status === null && requests.status !== null && last.method === requests.method && last.path === requests.path;
  return answers ? [...before.slice(0, -1), requests] : [...before, requests];
}

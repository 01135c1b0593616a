// How this device stands in one campaign, as the page draws it. All work is done in the worker.

import type { Caps } from "../core/caps";
import { campaignIn, inviteIn, typedInvite } from "./address";
import { troubleIn } from "./client";
import type { Answered, Api, Asked, Happening, Leaves, Local, Looked, Places, Seen, SourceView, Trouble } from "./messages";
import { forgetPages } from "./offline";
import { Recorder } from "./recorder.svelte";
import { localOffsetS, type Fix } from "./recording";

/**
 *     loading → ready → sending → sent            the way through
 *               trouble                           the campaign cannot be joined now, or not at all
 *               kept                              drawn, not yet acknowledged: sent again, unchanged
 *               uncounted                         drawn and seen, but never counted
 *     home, blocked, deleted                      no campaign in the address; nowhere to keep anything; all gone
 */
export type Stage = "loading" | "home" | "blocked" | "trouble" | "ready" | "sending" | "kept" | "sent" | "uncounted" | "deleted";

const AGAIN_MS = 30_000;
const LOOK_AGAIN_MS = 5_000;
const MOST_ASKED = 50;

export interface Reading {
  readonly name: string;
  readonly done: number;
  readonly total: number;
}

export interface FileTrouble extends Trouble {
  readonly name: string;
}

export class Take {
  readonly campaign = campaignIn(location.pathname);
  stage: Stage = $state("loading");
  local: Local | null = $state.raw(null);
  looked: Looked | null = $state.raw(null);
  places: Places | null = $state.raw(null);
  trouble: Trouble | null = $state.raw(null);
  /** About files or a recording; the page as a whole goes on. */
  fileTroubles: readonly FileTrouble[] = $state.raw([]);
  /** A source that is still there although it was to go. */
  notRemoved: FileTrouble | null = $state.raw(null);
  reading: Reading | null = $state.raw(null);
  finding = $state(false);
  checking: { readonly done: number; readonly total: number } | null = $state.raw(null);
  asked: readonly Asked[] = $state.raw([]);
  answered: Answered | null = $state.raw(null);
  asking = $state(false);
  statusTrouble: Trouble | null = $state.raw(null);
  /** Another tab takes part in this campaign; this one waits for it. */
  elsewhere = $state(false);
  /** What became other than it was when the button was pressed: it has to be pressed again. */
  changed: "round" | "visits" | null = $state(null);
  invite = $state(inviteIn(location.hash) ?? "");
  readonly recorder = new Recorder((visit) => void this.#record(visit));
  readonly #api: Api;
  readonly #tabs = "BroadcastChannel" in globalThis ? new BroadcastChannel("crowdveil") : null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(connect: (happened: (happening: Happening) => void) => Api) {
    this.#api = connect((happening) => this.#happened(happening));
    this.#tabs?.addEventListener("message", () => void this.#otherTab());
    addEventListener("hashchange", () => (this.invite = inviteIn(location.hash) ?? this.invite));
    addEventListener("online", () => this.#soon(0));
    addEventListener("pageshow", (event) => event.persisted && void this.begin());
  }

  get name(): string {
    return this.looked?.info.name ?? this.trouble?.info?.name ?? this.local?.name ?? this.campaign ?? "crowdveil";
  }

  get leaves(): Leaves | null {
    return this.places?.leaves ?? null;
  }

  get last(): Asked | undefined {
    return this.asked.at(-1);
  }

  /** From the ledger on: where this device stands, and what comes next. */
  async begin(): Promise<void> {
    clearTimeout(this.#timer);
    this.stage = "loading";
    this.trouble = null;
    if (!(await this.#refresh())) return;
    const entry = this.local?.entry;
    this.answered = this.local?.answered ?? null;
    if (this.campaign === undefined) this.stage = "home";
    else if (entry?.state === "acknowledged") await this.#sent();
    else if (entry?.state === "refused") this.stage = "uncounted";
    else if (entry?.drawn) await this.send(0);
    else await this.look();
  }

  async look(): Promise<void> {
    clearTimeout(this.#timer);
    this.stage = "loading";
    this.trouble = null;
    try {
      this.looked = await this.#api.look();
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
    if (this.looked === null) return;
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
    this.fileTroubles = [];
    // Not there on pages without https.
    if ("storage" in navigator) void navigator.storage.persist().catch(() => false);
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    for (const file of files) {
      this.reading = { name: file.name, done: 0, total: file.size };
      try {
        await this.#api.importFile(file, zone);
      } catch (error) {
        this.fileTroubles = [...this.fileTroubles, { ...troubleIn(error), name: file.name }];
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
      this.notRemoved = { ...troubleIn(error), name: source.name };
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
    this.asked = [];
    this.trouble = null;
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
    this.statusTrouble = null;
    try {
      this.answered = await this.#api.status();
    } catch (error) {
      this.statusTrouble = troubleIn(error);
    } finally {
      this.asking = false;
    }
  }

  async setCaps(caps: Caps): Promise<void> {
    await this.#api.setCaps(caps);
    this.#tabs?.postMessage("changed");
    await this.#refresh();
    if (this.stage === "ready" || this.stage === "trouble") await this.look();
  }

  async deleteEverything(): Promise<void> {
    clearTimeout(this.#timer);
    this.recorder.stop();
    this.recorder.forget();
    await this.#api.deleteEverything();
    await forgetPages();
    this.looked = this.places = this.local = null;
    this.stage = "deleted";
    this.#tabs?.postMessage("changed");
  }

  get #seen(): Seen | null {
    return this.looked && this.places && { policyHash: this.looked.policyHash, chosen: this.places.chosen };
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
      this.trouble = troubleIn(error);
      this.stage = "blocked";
      return false;
    }
  }

  async #record({ latitude, longitude }: Fix): Promise<void> {
    try {
      await this.#api.record(latitude, longitude, localOffsetS());
      await this.#visitsChanged();
    } catch (error) {
      this.fileTroubles = [{ ...troubleIn(error), name: "the recording" }];
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
    const { entry, sources } = this.local as Local;
    const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
    if (!same(before?.entry, entry) || !same(before?.caps, this.local?.caps)) await this.begin();
    else if (!same(before?.sources, sources)) await this.find();
  }

  async #askAgain(looked: Looked, places: Places): Promise<void> {
    await this.#refresh();
    this.changed = looked.policyHash === this.looked?.policyHash ? "visits" : "round";
    this.looked = looked;
    this.places = places;
    this.stage = "ready";
    if (!this.local?.sources.length) await this.find();
  }

  #stop(error: unknown): void {
    this.trouble = troubleIn(error);
    const entry = this.local?.entry;
    if (this.trouble.kind === "storage-blocked" || this.trouble.kind === "ledger-altered") this.stage = "blocked";
    else if (entry?.state === "refused") this.stage = "uncounted";
    else if (entry?.drawn && entry.state === "drawn") {
      this.stage = "kept";
      this.#soon(AGAIN_MS);
    } else if (this.looked !== null && STAYS.has(this.trouble.kind)) this.stage = "ready";
    else {
      this.stage = "trouble";
      if (this.trouble.kind === "not-yet" && this.trouble.info?.state === "open") this.#soon(LOOK_AGAIN_MS);
    }
  }

  /** What waits for the network, or for a round, is tried again by itself. */
  #soon(afterMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.stage === "kept") void this.send(0);
      else if (this.stage === "trouble" && WAITS.has(this.trouble?.kind ?? "failed")) void this.look();
      else if (this.stage === "ready" && this.looked?.offlineSince != null) void this.look();
    }, afterMs);
  }

  #happened(happening: Happening): void {
    switch (happening.what) {
      case "read":
        if (this.reading) this.reading = { ...this.reading, done: happening.done, total: happening.total };
        break;
      case "checking":
        this.checking = happening;
        break;
      case "asked":
        this.asked = noted(this.asked, happening.asked).slice(-MOST_ASKED);
        break;
      case "elsewhere":
        this.elsewhere = happening.busy;
        break;
      case "changed":
        void this.#askAgain(happening.looked, happening.places);
    }
  }
}

/** Said beside the button, which may be pressed again. */
const STAYS: ReadonlySet<Trouble["kind"]> = new Set(["no-answer", "strange-answer", "paused", "no-seat", "bad-invite", "declined", "storage-full", "failed"]);
const WAITS: ReadonlySet<Trouble["kind"]> = new Set(["no-answer", "strange-answer", "not-yet", "paused"]);

/** An answer takes its question's place. */
export function noted(before: readonly Asked[], asked: Asked): readonly Asked[] {
  const last = before.at(-1);
  const answers = last?.status === null && asked.status !== null && last.method === asked.method && last.path === asked.path;
  return answers ? [...before.slice(0, -1), asked] : [...before, asked];
}

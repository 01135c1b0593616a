// How this device stands in one campaign, as the page draws it. All work is done in the worker.

import type { ExcludedPlace } from "../core/client/excluded";
import type { Spent } from "../core/limits/charge";
import type { PrivacyLimits } from "../core/limits/privacy_limits";
import { exportedPage, inviteIn, namesCampaign, pageAddress, typedInvite, typedLink, type PageAddress } from "./address";
import { FailureError, failureFrom } from "./failure";
import type {
  CheckedView,
  DeviceState,
  Failure,
  LoggedRequest,
  PickedPlace,
  PlacesView,
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
 *               left                              the owner left, and the server has forgotten the answer
 *     home, blocked, deleted                      no campaign in the address; nowhere to keep anything; all gone
 */
export type Stage = "loading" | "home" | "blocked" | "failed" | "ready" | "sending" | "pending" | "sent" | "not-counted" | "left" | "deleted";

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
  readonly exported = exportedPage();
  address: PageAddress = $state.raw(pageAddress(this.exported));
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
  changed: "round" | "place" | null = $state(null);
  /** A panel was answered before; what is shown and sent is a new answer. */
  renewing = $state(false);
  leaving = $state(false);
  leaveFailure: Failure | null = $state.raw(null);
  invite = $state(inviteIn(location.hash) ?? "");
  /** The invite that the page's link names; empty if it names none. */
  linkInvite = $state(inviteIn(location.hash) ?? "");
  readonly recorder = new Recorder((visit) => void this.#record(visit));
  readonly #api: WorkerApi;
  readonly #tabs = "BroadcastChannel" in globalThis ? new BroadcastChannel("crowdveil") : null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #checks = 0;
  #lastCheck: Promise<void> = Promise.resolve();

  constructor(connect: (onEvent: (event: WorkerEvent) => void) => WorkerApi) {
    this.#api = connect((event) => this.#onEvent(event));
    this.#tabs?.addEventListener("message", () => void this.#otherTab());
    addEventListener("hashchange", () => void this.#hashChanged());
    addEventListener("online", () => this.#soon(0));
    addEventListener("pageshow", (event) => event.persisted && void this.begin());
  }

  /** The campaign's id; empty where the address names none. */
  get campaign(): string {
    return this.address.campaign;
  }

  get name(): string {
    const announced = this.checked?.info.name ?? this.failure?.info?.name ?? this.local?.name ?? this.local?.entry?.name;
    return (announced ?? this.campaign) || "crowdveil";
  }

  /** Whether one answer serves any number of selections, as far as this device knows. */
  get panel(): boolean {
    return this.checked?.info.panel ?? this.failure?.info?.panel ?? this.local?.panel ?? false;
  }

  get picked(): PickedPlace | null {
    return this.places?.picked ?? null;
  }

  get last(): LoggedRequest | undefined {
    return this.requests.at(-1);
  }

  /** From the ledger on: where this device stands, and what comes next. */
  async begin(): Promise<void> {
    clearTimeout(this.#timer);
    this.stage = "loading";
    this.failure = null;
    this.renewing = false;
    if (!(await this.#refresh())) return;
    const entry = this.local?.entry;
    this.answered = this.local?.answered ?? null;
    if (this.address.wrong !== "") this.#stop(new FailureError(badLink(this.address.wrong)));
    else if (this.campaign === "") this.stage = "home";
    else if (entry?.state === "withdrawn") this.stage = "left";
    else if (entry?.state === "acknowledged") await this.#sent();
    else if (entry?.state === "refused") this.stage = "not-counted";
    else if (entry?.drawn) await this.send();
    else await this.checkCampaign();
  }

  /** Look at what a panel asks in a later round; nothing is sent before the button. */
  async renew(): Promise<void> {
    this.renewing = true;
    this.places = null;
    await this.checkCampaign();
  }

  async checkCampaign(): Promise<void> {
    clearTimeout(this.#timer);
    this.stage = "loading";
    this.failure = null;
    await this.#check();
  }

  /** The worker checks one campaign at a time. A check during which another one was asked for decides nothing: limits may have changed. */
  #check(): Promise<void> {
    const number = ++this.#checks;
    this.#lastCheck = this.#lastCheck.then(() => this.#checkUnlessRepeated(() => number === this.#checks));
    return this.#lastCheck;
  }

  async #checkUnlessRepeated(isLast: () => boolean): Promise<void> {
    if (!isLast()) return;
    try {
      const checked = await this.#api.checkCampaign();
      if (!isLast()) return;
      this.checked = checked;
      this.checking = null;
      this.stage = "ready";
      await this.find();
    } catch (error) {
      if (!isLast()) return;
      this.checking = null;
      this.#stop(error);
    }
  }

  /** The owner said what was spent before: the record of answers begins. */
  async beginLedger(alreadySpent: Spent): Promise<void> {
    try {
      await this.#api.begin(alreadySpent);
      this.#tabs?.postMessage("changed");
      // A page that shows the way through stays as it is meanwhile: whoever goes on at once loses nothing.
      if (this.stage !== "ready") await this.begin();
      else if (await this.#refresh()) await this.#check();
    } catch (error) {
      this.#stop(error);
    }
  }

  /** Pick the place of the answer; it stays, whatever visits come or go. */
  async pickPlace(): Promise<void> {
    this.finding = true;
    try {
      this.places = await this.#api.pickPlace();
    } catch (error) {
      this.#stop(error);
    } finally {
      this.finding = false;
    }
  }

  /** Never report this place; another one is picked, if one had been. */
  async exclude(place: ExcludedPlace): Promise<void> {
    const again = this.picked !== null;
    try {
      await this.#api.exclude(place);
      await this.#visitsChanged();
      if (again) await this.pickPlace();
    } catch (error) {
      this.#stop(error);
    }
  }

  async includeAgain(number: number): Promise<void> {
    await this.#api.includeAgain(number);
    await this.#visitsChanged();
  }

  /** Have the server forget the answer; the campaign is not answered again. */
  async leave(): Promise<void> {
    this.leaving = true;
    this.leaveFailure = null;
    try {
      await this.#api.leave();
      this.#tabs?.postMessage("changed");
      await this.begin();
    } catch (error) {
      this.leaveFailure = failureFrom(error);
    } finally {
      this.leaving = false;
    }
  }

  /** All of the record of answers, for another phone; this one no longer answers. */
  async exportLedger(): Promise<string> {
    const text = await this.#api.exportLedger();
    this.#tabs?.postMessage("changed");
    await this.#refresh();
    return text;
  }

  async importLedger(text: string): Promise<void> {
    await this.#api.importLedger(text);
    this.#tabs?.postMessage("changed");
    await this.begin();
  }

  /** Places, after visits came or went. */
  async find(): Promise<void> {
    if (this.checked === null) return;
    this.finding = true;
    try {
      this.places = this.local?.sources.length && this.local.hasLedger ? await this.#api.places() : null;
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
  async send(): Promise<void> {
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
      await this.#adoptTypedLink();
      const invite = typedInvite(this.invite) || null;
      const entry = await (this.renewing ? this.#api.renew(invite, seen) : this.#api.join(invite, seen));
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
    if (this.stage === "ready" || this.stage === "failed") await this.checkCampaign();
    // A check is under way that may have read the earlier limits.
    else if (this.stage === "loading") await this.begin();
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
    const { checked, picked } = this;
    return checked && picked && { policyHash: checked.policyHash, cell: picked.cell, grade: picked.grade };
  }

  async #hashChanged(): Promise<void> {
    this.linkInvite = inviteIn(location.hash) ?? this.linkInvite;
    this.invite = inviteIn(location.hash) ?? this.invite;
    if (this.exported === null || !namesCampaign(location.hash)) return;
    this.address = pageAddress(this.exported);
    this.checked = this.places = null;
    await this.begin();
  }

  /** Whoever pastes a whole link where an invite is asked for has what it names compared, too. */
  async #adoptTypedLink(): Promise<void> {
    const link = typedLink(this.invite);
    if (link === null || this.address.link !== null) return;
    this.address = { ...this.address, link };
    await this.#refresh();
  }

  async #sent(): Promise<void> {
    this.renewing = false;
    this.stage = "sent";
    await this.askStatus();
  }

  async #refresh(): Promise<boolean> {
    try {
      const { server, campaign, link } = this.address;
      this.local = await this.#api.open({ server, campaign, link });
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
    this.changed = checked.policyHash === this.checked?.policyHash ? "place" : "round";
    this.checked = checked;
    this.places = places;
    this.stage = "ready";
    if (!this.local?.sources.length) await this.find();
  }

  #stop(error: unknown): void {
    this.failure = failureFrom(error);
    const entry = this.local?.entry;
    if (BLOCKS.has(this.failure.kind)) this.stage = "blocked";
    else if (entry?.state === "refused" && (!this.renewing || this.failure.kind === "not-counted")) this.stage = "not-counted";
    else if (entry?.drawn && entry.state === "drawn") {
      this.stage = "pending";
      this.#soon(AGAIN_MS);
    } else if (this.checked !== null && STAYS.has(this.failure.kind)) this.stage = "ready";
    else {
      this.stage = "failed";
      const { kind, info } = this.failure;
      // The next round of a panel may be months away.
      if (kind === "no-open-round" && info?.state === "open") this.#soon(info.panel ? AGAIN_MS : LOOK_AGAIN_MS);
    }
  }

  /** What waits for the network, or for a round, is tried again by itself. */
  #soon(afterMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.stage === "pending") void this.send();
      else if (this.stage === "failed" && WAITS.has(this.failure?.kind ?? "failed")) void this.checkCampaign();
      else if (this.stage === "ready" && this.checked?.offlineSince != null) void this.checkCampaign();
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

const BLOCKS: ReadonlySet<Failure["kind"]> = new Set(["storage-blocked", "ledger-altered", "ledger-moved"]);
/** Said beside the button, which may be pressed again. */
const STAYS: ReadonlySet<Failure["kind"]> = new Set(["no-answer", "unexpected-answer", "paused", "no-seat", "bad-invite", "too-many-seats", "declined", "storage-full", "failed"]);
const WAITS: ReadonlySet<Failure["kind"]> = new Set(["no-answer", "unexpected-answer", "no-open-round", "paused"]);

function badLink(message: string): Failure {
  return { kind: "bad-link", message, figures: "", info: null };
}

/** An answer takes its question's place. */
export function withRequest(before: readonly LoggedRequest[], requests: LoggedRequest): readonly LoggedRequest[] {
  const last = before.at(-1);
  const answers = last?.status === null && requests.status !== null && last.method === requests.method && last.path === requests.path;
  return answers ? [...before.slice(0, -1), requests] : [...before, requests];
}

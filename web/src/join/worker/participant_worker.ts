// The device, as the page asks it: one campaign, its owner's visits, one draw.

import { explain, type Certificate } from "../../core/certify/certificate";
import { DEFAULT_ENVIRONMENT, DEFAULT_SETTINGS, Device, type CheckedCampaign } from "../../core/client/device";
import type { LedgerEntry } from "../../core/client/events";
import { IndexedDbStorage } from "../../core/client/indexeddb_storage";
import { Ledger } from "../../core/client/ledger";
import { MemoryStorage, type LedgerStorage } from "../../core/client/ledger_storage";
import { ParticipantClient } from "../../core/client/participant_client";
import { checkLimits, checkPolicy, DEFAULT_LIMITS, type PrivacyLimits } from "../../core/client/privacy_limits";
import type { RetryPolicy } from "../../core/client/retry";
import { FetchTransport, type Transport } from "../../core/client/transport";
import { InputError, ServerUnreachable } from "../../core/errors";
import type { Profile } from "../../core/profile/profile";
import { readTrace } from "../../core/traces/read";
import { NULL } from "../../core/vocabulary";
import { readAnnouncement, type Announcement } from "../../core/wire/participant";
import { FailureError } from "../failure";
import type {
  AnnouncementView,
  CheckedView,
  DeviceState,
  EntryView,
  PlacesView,
  ShownChoice,
  SourceView,
  StatusAnswer,
  WorkerApi,
  WorkerEvent,
} from "../messages";
import { failureOf, fileFailure } from "./failure";
import { findPlaces, replyPreview, type FoundPlaces } from "./frequent_places";
import { LocalData, type KeptCampaign } from "./local_data";
import { LoggingTransport } from "./logging_transport";

/** Someone is looking: after a few attempts the page says how it stands, and goes on later by itself. */
const RETRY_POLICY: RetryPolicy = { attempts: 3, firstWaitS: 0.5, longestWaitS: 30 };
const PROGRESS_MS = 80;

export interface WorkerParts {
  readonly tell: (event: WorkerEvent) => void;
  readonly localData?: LocalData;
  readonly storage?: LedgerStorage;
  readonly transport?: Transport;
  readonly retryPolicy?: RetryPolicy;
}

export class ParticipantWorker implements WorkerApi {
  readonly #tell: (event: WorkerEvent) => void;
  readonly #localData: LocalData;
  readonly #ledger: Ledger;
  readonly #transport: LoggingTransport;
  readonly #client: ParticipantClient;
  readonly #certified = new Map<string, Certificate>();
  #campaign = "";
  #current: CheckedCampaign | null = null;
  /** The place, and the area and visits that it was found from. */
  #found: (FoundPlaces & { readonly from: string }) | null = null;
  /** What the owner saw at the last press of the button; null after a no. */
  #seen: ShownChoice | null = null;
  #answer: ((seen: ShownChoice | null) => void) | null = null;

  constructor({ tell, localData, storage, transport, retryPolicy }: WorkerParts) {
    this.#tell = tell;
    this.#localData = localData ?? new LocalData();
    this.#ledger = new Ledger(storage ?? new IndexedDbStorage());
    this.#transport = new LoggingTransport(transport ?? new FetchTransport(), (request) => tell({ what: "request", request }));
    this.#client = new ParticipantClient(this.#transport, retryPolicy ?? RETRY_POLICY);
  }

  async open(campaign: string): Promise<DeviceState> {
    this.#campaign = campaign;
    try {
      const hasLedger = await this.#ledger.exists();
      const entries = hasLedger ? [...(await this.#ledger.entries()).values()].map(entryView) : [];
      const kept = await this.#localData.kept();
      const mine = kept.find((one) => one.campaign === campaign);
      return {
        hasLedger,
        spentPerKm: hasLedger ? await this.#ledger.spentEpsilonPerKm() : 0,
        beforePerKm: hasLedger ? await this.#ledger.alreadySpentEpsilonPerKm() : 0,
        entries,
        entry: entries.find((one) => one.campaign === campaign) ?? null,
        limits: await this.#localData.limits(),
        defaultLimits: DEFAULT_LIMITS,
        sources: await this.#localData.sources(),
        answered: mine?.answered ?? null,
        name: mine?.name ?? null,
        known: known(entries, kept),
      };
    } catch (error) {
      throw new FailureError(failureOf(error));
    }
  }

  /** Fetch and check; without a network, check again what was fetched last. */
  async look(): Promise<CheckedView> {
    this.#current = this.#found = null;
    this.#transport.restore();
    try {
      const checked = await this.#checked(null);
      const { name } = checked.info;
      await this.#keep({ name, at: Date.now(), replies: this.#transport.replies });
      return checked;
    } catch (error) {
      const info = this.#announced();
      if (info !== null) await this.#keep({ name: info.name });
      if (error instanceof ServerUnreachable && this.#transport.unanswered) {
        const kept = (await this.#localData.kept()).find((one) => one.campaign === this.#campaign);
        if (kept !== undefined && kept.replies.length > 1) return this.#lookAtKept(kept);
      }
      throw new FailureError(failureOf(error, info));
    }
  }

  async places(): Promise<PlacesView> {
    const checked = this.#shown();
    return placesView(checked, await this.#find(checked));
  }

  async importFile(file: File, zone: string): Promise<SourceView> {
    let told = 0;
    const progress = (done: number, total: number): void => {
      if (performance.now() - told < PROGRESS_MS) return;
      told = performance.now();
      this.#tell({ what: "read", done, total });
    };
    try {
      const visits = await readTrace(file, { zone }, progress);
      return await this.#localData.add(file.name, file.size, visits);
    } catch (error) {
      throw new FailureError(fileFailure(error));
    }
  }

  removeSource(id: number): Promise<void> {
    return this.#localData.remove(id);
  }

  async record(latitude: number, longitude: number, offsetS: number): Promise<SourceView> {
    try {
      return await this.#localData.record(Math.floor(Date.now() / 1000), offsetS, latitude, longitude);
    } catch (error) {
      throw new FailureError(failureOf(error));
    }
  }

  /** After the owner's yes: a seat, one draw, one report. What was drawn before is sent again, unchanged. */
  async join(alreadySpentPerKm: number, invite: string | null, seen: ShownChoice | null): Promise<EntryView> {
    try {
      return entryView(await this.#alone(() => this.#join(alreadySpentPerKm, invite, seen)));
    } catch (error) {
      throw new FailureError(failureOf(error, this.#announced()));
    }
  }

  agree(seen: ShownChoice | null): Promise<void> {
    this.#answer?.(seen);
    return Promise.resolve();
  }

  async status(): Promise<StatusAnswer> {
    try {
      const { state, offer } = await (await this.#device(this.#ledger)).status(this.#campaign);
      const answered = { state, offer, at: Date.now() };
      await this.#keep({ answered });
      return answered;
    } catch (error) {
      throw new FailureError(failureOf(error));
    }
  }

  setLimits(limits: PrivacyLimits): Promise<void> {
    return this.#localData.setLimits(checkLimits(limits));
  }

  async deleteEverything(): Promise<void> {
    this.#current = this.#found = null;
    this.#transport.restore();
    await this.#localData.clear();
    await this.#ledger.deleteEverything();
  }

  async #checked(offlineSince: number | null): Promise<CheckedView> {
    // Who has no ledger yet has spent nothing that is known; it is made, and asked about, with the first draw.
    const ledger = (await this.#ledger.exists()) ? this.#ledger : await emptyLedger();
    const checked = await (await this.#device(ledger)).checkCampaign(this.#campaign);
    this.#current = checked;
    return checkedView(checked, offlineSince);
  }

  /** For a start without a network; where there is no room, the page goes on without. */
  async #keep(changes: Partial<KeptCampaign>): Promise<void> {
    try {
      await this.#localData.keep(this.#campaign, changes);
    } catch (error) {
      if (failureOf(error).kind !== "storage-full") throw error;
    }
  }

  async #lookAtKept(kept: KeptCampaign): Promise<CheckedView> {
    this.#transport.restore(kept.replies);
    this.#transport.useShown();
    try {
      return await this.#checked(kept.at);
    } catch (error) {
      throw new FailureError(failureOf(error, this.#announced()));
    }
  }

  async #join(alreadySpentPerKm: number, invite: string | null, seen: ShownChoice | null): Promise<LedgerEntry> {
    await this.#begin(alreadySpentPerKm);
    this.#seen = seen;
    const device = await this.#device(this.#ledger);
    if (this.#found !== null) this.#transport.useShown();
    return device.join(
      this.#campaign,
      (checked) => this.#profileToReport(checked),
      () => this.#seen !== null,
      invite,
    );
  }

  async #begin(alreadySpentPerKm: number): Promise<void> {
    try {
      if (!(await this.#ledger.exists())) await this.#ledger.create(alreadySpentPerKm);
    } catch (error) {
      // Another tab, in another campaign, may have been first.
      if (!(await this.#ledger.exists())) throw error;
    }
  }

  /**
   * The place of the visits there are now, under the policy there is now. The button was pressed for what was seen beside
   * it; for another place, or other chances, it has to be pressed again.
   */
  async #profileToReport(checked: CheckedCampaign): Promise<Profile> {
    this.#current = checked;
    let found = await this.#find(checked);
    while (!isSeen(this.#seen, checked, found)) {
      const answer = new Promise<ShownChoice | null>((resolve) => (this.#answer = resolve));
      this.#tell({ what: "changed", checked: checkedView(checked, null), places: placesView(checked, found) });
      this.#seen = await answer;
      if (this.#seen === null) break;
      found = await this.#find(checked);
    }
    return found.place === NULL ? new Map<number, number>() : new Map([[found.place, 1]]);
  }

  /** Frequent places; as long as area and visits stay, so does the one that chance picked. */
  async #find(checked: CheckedCampaign): Promise<FoundPlaces> {
    const from = JSON.stringify([checked.area.digest, await this.#localData.sources()]);
    if (this.#found?.from === from) return this.#found;
    const found = await findPlaces(await this.#device(this.#ledger), checked, await this.#localData.visits());
    this.#found = { ...found, from };
    return this.#found;
  }

  async #device(ledger: Ledger): Promise<Device> {
    const limits = await this.#localData.limits();
    return new Device({ ...DEFAULT_SETTINGS, limits }, ledger, this.#client, {
      ...DEFAULT_ENVIRONMENT,
      check: (policy, announcement, area) => {
        const { open, targets, epsilonPerKm, nullEpsilon } = announcement;
        const key = [policy.hash, open?.policyHash, area.digest, targets, epsilonPerKm, nullEpsilon].join("|");
        let told = 0;
        const certificate =
          this.#certified.get(key) ??
          checkPolicy(policy, announcement, area, (done, total) => {
            if (performance.now() - told < PROGRESS_MS) return;
            told = performance.now();
            this.#tell({ what: "checking", done, total });
          });
        this.#certified.set(key, certificate);
        return certificate;
      },
    });
  }

  #shown(): CheckedCampaign {
    if (this.#current === null) throw new InputError("campaign", this.#campaign, "should be looked at first");
    return this.#current;
  }

  /** What was announced last, even if it was refused. */
  #announced(): AnnouncementView | null {
    const path = `/v1/campaigns/${encodeURIComponent(this.#campaign)}`;
    const body = this.#transport.replies.find(([one]) => one === path)?.[1];
    try {
      return body === undefined ? null : infoView(readAnnouncement(body));
    } catch {
      return null;
    }
  }

  /** One tab at a time takes part; the others say that they wait, and find what it drew. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const locks = typeof navigator === "undefined" ? undefined : (navigator as Partial<Navigator>).locks;
    if (locks === undefined) return work();
    const name = `crowdveil-join-${this.#campaign}`;
    const first = await locks.request(name, { ifAvailable: true }, async (lock) => lock && { result: await work() });
    if (first !== null) return first.result;
    this.#tell({ what: "elsewhere", busy: true });
    return locks.request(name, () => {
      this.#tell({ what: "elsewhere", busy: false });
      return work();
    });
  }
}

function isSeen(seen: ShownChoice | null, { policy }: CheckedCampaign, { view }: FoundPlaces): boolean {
  return seen?.policyHash === policy.hash && seen.chosen === view.chosen;
}

function placesView({ policy }: CheckedCampaign, { place, view }: FoundPlaces): PlacesView {
  return { ...view, reply: replyPreview(policy, place) };
}

async function emptyLedger(): Promise<Ledger> {
  const ledger = new Ledger(new MemoryStorage());
  await ledger.create(0);
  return ledger;
}

function known(entries: readonly EntryView[], kept: readonly KeptCampaign[]): DeviceState["known"] {
  const names = new Map<string, string | null>(entries.map(({ campaign }) => [campaign, null]));
  for (const { campaign, name } of kept) names.set(campaign, name);
  return [...names].map(([campaign, name]) => ({ campaign, name }));
}

function entryView({ campaign, state, epsilonPerKm, symbol, reason, at }: LedgerEntry): EntryView {
  return { campaign, state, epsilonPerKm, drawn: symbol !== null, reason, at };
}

function infoView(announcement: Announcement): AnnouncementView {
  const { campaign, name, offer, epsilonPerKm, delta, period, nullEpsilon, enrolment, rounds, open, state } = announcement;
  const round = open?.round ?? null;
  return { campaign, name, offer, epsilonPerKm, delta, period, nullEpsilon, enrolment, rounds, round, state };
}

function checkedView({ announcement, area, policy, certificate }: CheckedCampaign, offlineSince: number | null): CheckedView {
  return {
    info: infoView(announcement),
    cells: area.cells,
    policyHash: policy.hash,
    explanation: explain(certificate),
    offlineSince,
  };
}

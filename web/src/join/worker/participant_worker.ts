// The device, as the page asks it: one campaign, its owner's visits, one draw.

import { explain, type Certificate } from "../../core/certify/certificate";
import {
  DEFAULT_ENVIRONMENT,
  DEFAULT_SETTINGS,
  Device,
  keyOf,
  type CheckedCampaign,
} from "../../core/client/device";
import type { EntryState, LedgerEntry } from "../../core/client/events";
import type { ExcludedPlace } from "../../core/client/excluded";
import { describeSymbol } from "../../core/client/explain";
import { IndexedDbStorage } from "../../core/client/indexeddb_storage";
import { Ledger } from "../../core/client/ledger";
import { MemoryStorage, type LedgerStorage } from "../../core/client/ledger_storage";
import { ParticipantClient } from "../../core/client/participant_client";
import type { RetryPolicy } from "../../core/client/retry";
import { FetchTransport, type Transport } from "../../core/client/transport";
import { InputError, ServerUnreachable } from "../../core/errors";
import { NOTHING_SPENT, type Spent } from "../../core/limits/charge";
import { DEFAULT_LIMITS, type PrivacyLimits } from "../../core/limits/privacy_limits";
import { checkPolicy } from "../../core/limits/terms_checks";
import type { Place } from "../../core/profile/place";
import { readTrace } from "../../core/traces/read";
import { NULL } from "../../core/vocabulary";
import { readAnnouncement, type Announcement } from "../../core/wire/participant";
import { FailureError } from "../failure";
import type {
  AnnouncementView,
  CampaignAddress,
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
import { findPlaces, pickedPlace } from "./frequent_places";
import { LocalData, type KeptCampaign } from "./local_data";
import { LoggingTransport } from "./logging_transport";

/** Someone is looking: after a few attempts the page says how it stands, and goes on later by itself. */
const RETRY_POLICY: RetryPolicy = { attempts: 3, firstWaitS: 0.5, longestWaitS: 30 };
const PROGRESS_MS = 80;

export interface WorkerParts {
  readonly tell: (event: WorkerEvent) => void;
  readonly localData?: LocalData;
  readonly storage?: LedgerStorage;
  /** Reaches the server at an address. */
  readonly transportTo?: (server: string) => Transport;
  readonly retryPolicy?: RetryPolicy;
}

export class ParticipantWorker implements WorkerApi {
  readonly #tell: (event: WorkerEvent) => void;
  readonly #localData: LocalData;
  readonly #ledger: Ledger;
  readonly #transportTo: (server: string) => Transport;
  readonly #retryPolicy: RetryPolicy;
  readonly #certified = new Map<string, Certificate>();
  #address: CampaignAddress = { server: "", campaign: "", link: null };
  #transport: LoggingTransport;
  #current: CheckedCampaign | null = null;
  /** What the owner saw at the last press of the button; null after a no. */
  #seen: ShownChoice | null = null;
  #answer: ((seen: ShownChoice | null) => void) | null = null;

  constructor({ tell, localData, storage, transportTo, retryPolicy }: WorkerParts) {
    this.#tell = tell;
    this.#localData = localData ?? new LocalData();
    this.#ledger = new Ledger(storage ?? new IndexedDbStorage());
    this.#transportTo = transportTo ?? ((server) => new FetchTransport(server));
    this.#retryPolicy = retryPolicy ?? RETRY_POLICY;
    this.#transport = this.#logging("");
  }

  async open(address: CampaignAddress): Promise<DeviceState> {
    if (address.server !== this.#address.server) this.#transport = this.#logging(address.server);
    this.#address = address;
    try {
      const hasLedger = await this.#ledger.exists();
      const entries = hasLedger ? (await this.#ledger.entries()).map(entryView) : [];
      const kept = await this.#localData.kept();
      const mine = kept.find((one) => this.#isHere(one));
      return {
        hasLedger,
        retired: hasLedger && (await this.#ledger.isRetired()),
        spent: hasLedger ? await this.#ledger.spent() : NOTHING_SPENT,
        spentEver: hasLedger ? await this.#ledger.spentEver() : NOTHING_SPENT,
        before: hasLedger ? await this.#ledger.alreadySpent() : NOTHING_SPENT,
        entries,
        entry: lastOf(entries.filter((one) => this.#isHere(one))),
        limits: hasLedger ? await this.#ledger.limits() : DEFAULT_LIMITS,
        defaultLimits: DEFAULT_LIMITS,
        excluded: await this.#ledger.excluded(),
        sources: await this.#localData.sources(),
        answered: mine?.answered ?? null,
        name: mine?.name ?? null,
        panel: mine?.panel ?? null,
        known: known(entries, kept),
      };
    } catch (error) {
      throw new FailureError(failureOf(error));
    }
  }

  async begin(alreadySpent: Spent): Promise<void> {
    try {
      if (!(await this.#ledger.exists())) await this.#ledger.create(DEFAULT_LIMITS, alreadySpent);
    } catch (error) {
      // Another tab may have been first.
      if (!(await this.#ledger.exists())) throw new FailureError(failureOf(error));
    }
  }

  /** Fetch and check; without a network, check again what was fetched last. */
  async checkCampaign(): Promise<CheckedView> {
    this.#current = null;
    this.#transport.restore();
    try {
      const checked = await this.#checked(null);
      const { name, panel } = checked.info;
      await this.#keep({ name, panel, at: Date.now(), replies: this.#transport.replies });
      return checked;
    } catch (error) {
      const info = this.#announced();
      if (info !== null) await this.#keep({ name: info.name, panel: info.panel });
      if (error instanceof ServerUnreachable && this.#transport.unanswered) {
        const kept = (await this.#localData.kept()).find((one) => this.#isHere(one));
        if (kept !== undefined && kept.replies.length > 1) return this.#lookAtKept(kept);
      }
      throw new FailureError(failureOf(error, info));
    }
  }

  async places(): Promise<PlacesView> {
    const checked = this.#shown();
    return this.#placesView(checked, await this.#ledger.pendingPlace(keyOf(checked)));
  }

  async pickPlace(): Promise<PlacesView> {
    const checked = this.#shown();
    try {
      return await this.#placesView(checked, await this.#place(checked));
    } catch (error) {
      throw new FailureError(failureOf(error));
    }
  }

  async exclude(place: ExcludedPlace): Promise<void> {
    try {
      await this.#ledger.exclude(place);
    } catch (error) {
      throw new FailureError(failureOf(error));
    }
  }

  includeAgain(number: number): Promise<void> {
    return this.#ledger.includeAgain(number);
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
  async join(invite: string | null, seen: ShownChoice | null): Promise<EntryView> {
    return this.#takePart("join", invite, seen);
  }

  /** A new answer in a later round of a panel, after the owner's yes. */
  async renew(invite: string | null, seen: ShownChoice | null): Promise<EntryView> {
    return this.#takePart("renew", invite, seen);
  }

  agree(seen: ShownChoice | null): Promise<void> {
    this.#answer?.(seen);
    return Promise.resolve();
  }

  async status(): Promise<StatusAnswer> {
    try {
      const { state, offer, answers } = await this.#device(this.#ledger).status(this.#address.campaign);
      const uses = answers.map(({ round, status: { selections, chosen } }) => ({ round, selections, chosen }));
      const renewal = await this.#roundToRenew();
      const answered = { state, offer, answers: uses, renewal, at: Date.now() };
      await this.#keep({ answered });
      return answered;
    } catch (error) {
      throw new FailureError(failureOf(error));
    }
  }

  async leave(): Promise<EntryView> {
    try {
      return entryView(await this.#alone(() => this.#device(this.#ledger).leave(this.#address.campaign)));
    } catch (error) {
      throw new FailureError(failureOf(error));
    }
  }

  setLimits(limits: PrivacyLimits): Promise<void> {
    return this.#ledger.changeLimits(limits);
  }

  async exportLedger(): Promise<string> {
    try {
      return await this.#ledger.export();
    } catch (error) {
      throw new FailureError(failureOf(error));
    }
  }

  async importLedger(text: string): Promise<void> {
    try {
      await this.#ledger.import(text);
    } catch (error) {
      throw new FailureError(fileFailure(error));
    }
  }

  async deleteEverything(): Promise<void> {
    this.#current = null;
    this.#transport.restore();
    await this.#localData.clear();
    await this.#ledger.deleteEverything();
  }

  async #checked(offlineSince: number | null): Promise<CheckedView> {
    // Who has no ledger yet has spent nothing that is known; its owner is asked before a place is picked.
    const ledger = (await this.#ledger.exists()) ? this.#ledger : await emptyLedger();
    const { campaign, link } = this.#address;
    const checked = await this.#device(ledger).checkCampaign(campaign, link);
    this.#current = checked;
    return checkedView(checked, offlineSince);
  }

  /** For a start without a network; where there is no room, the page goes on without. */
  async #keep(changes: Partial<KeptCampaign>): Promise<void> {
    try {
      await this.#localData.keep(this.#address, changes);
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

  /** The open round of a panel, if it is later than this device's answer; of other campaigns nothing more is asked. */
  async #roundToRenew(): Promise<number | null> {
    const { server, campaign } = this.#address;
    const kept = (await this.#localData.kept()).find((one) => this.#isHere(one));
    if (kept?.panel === false) return null;
    const { terms, notice, state } = await this.#client().campaign(campaign);
    await this.#keep({ panel: terms.panel });
    const mine = (await this.#ledger.entries()).filter(({ key, server: at }) => key.campaign === campaign && at === server);
    const begun = lastOf(mine)?.key.report;
    const asks = terms.panel && state === "open" && notice !== null && begun !== undefined;
    return asks && notice.round > begun ? notice.round : null;
  }

  async #takePart(how: "join" | "renew", invite: string | null, seen: ShownChoice | null): Promise<EntryView> {
    try {
      return entryView(await this.#alone(() => this.#send(how, invite, seen)));
    } catch (error) {
      throw new FailureError(failureOf(error, this.#announced()));
    }
  }

  #send(how: "join" | "renew", invite: string | null, seen: ShownChoice | null): Promise<LedgerEntry> {
    const { campaign, link } = this.#address;
    this.#seen = seen;
    if (this.#current !== null) this.#transport.useShown();
    return this.#device(this.#ledger)[how](campaign, (checked) => this.#placeToReport(checked), {
      invite,
      link,
      agree: () => this.#seen !== null,
    });
  }

  /**
   * The place that was picked, under the policy there is now. The button was pressed for what was seen beside it; for another
   * place, or other chances, it has to be pressed again.
   */
  async #placeToReport(checked: CheckedCampaign): Promise<Place> {
    this.#current = checked;
    let place = await this.#place(checked);
    while (!isSeen(this.#seen, checked, place)) {
      const answer = new Promise<ShownChoice | null>((resolve) => (this.#answer = resolve));
      const places = await this.#placesView(checked, place);
      this.#tell({ what: "changed", checked: checkedView(checked, null), places });
      this.#seen = await answer;
      if (this.#seen === null) break;
      place = await this.#place(checked);
    }
    return place;
  }

  async #place(checked: CheckedCampaign): Promise<Place> {
    return this.#device(this.#ledger).place(checked, await this.#localData.visits());
  }

  async #placesView(checked: CheckedCampaign, place: Place | null): Promise<PlacesView> {
    const [visits, excluded] = [await this.#localData.visits(), await this.#ledger.excluded()];
    const found = await findPlaces(this.#device(this.#ledger), checked, visits, excluded);
    return { ...found, picked: place === null ? null : await pickedPlace(checked, place, found.excludedHere) };
  }

  #device(ledger: Ledger): Device {
    return new Device(DEFAULT_SETTINGS, ledger, this.#client(), this.#address.server, {
      ...DEFAULT_ENVIRONMENT,
      check: (policy, announcement, area) => {
        const { terms, notice } = announcement;
        const key = [policy.hash, notice?.policyHash, terms.hash].join("|");
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

  #client(): ParticipantClient {
    return new ParticipantClient(this.#transport, this.#retryPolicy);
  }

  #logging(server: string): LoggingTransport {
    const inner: Transport = { send: (request) => this.#transportTo(server).send(request) };
    return new LoggingTransport(inner, (request) => this.#tell({ what: "request", request }));
  }

  #isHere({ server, campaign }: { readonly server: string; readonly campaign: string }): boolean {
    return server === this.#address.server && campaign === this.#address.campaign;
  }

  #shown(): CheckedCampaign {
    if (this.#current === null) throw new InputError("campaign", this.#address.campaign, "should be looked at first");
    return this.#current;
  }

  /** What was announced last, even if it was refused. */
  #announced(): AnnouncementView | null {
    const path = `/v1/campaigns/${encodeURIComponent(this.#address.campaign)}`;
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
    const name = `crowdveil-join-${this.#address.server}-${this.#address.campaign}`;
    const first = await locks.request(name, { ifAvailable: true }, async (lock) => lock && { result: await work() });
    if (first !== null) return first.result;
    this.#tell({ what: "elsewhere", busy: true });
    return locks.request(name, () => {
      this.#tell({ what: "elsewhere", busy: false });
      return work();
    });
  }
}

function isSeen(seen: ShownChoice | null, { policy }: CheckedCampaign, { cell, grade }: Place): boolean {
  return seen?.policyHash === policy.hash && (seen.cell ?? NULL) === cell && seen.grade === grade;
}

async function emptyLedger(): Promise<Ledger> {
  const ledger = new Ledger(new MemoryStorage());
  await ledger.create();
  return ledger;
}

/** The last entry with a seat or an answer; one that has neither only if there is no other. */
function lastOf<Entry extends { readonly state: EntryState }>(entries: readonly Entry[]): Entry | null {
  return entries.findLast(({ state }) => state !== "joining") ?? entries.at(-1) ?? null;
}

function known(entries: readonly EntryView[], kept: readonly KeptCampaign[]): DeviceState["known"] {
  const found = new Map<string, DeviceState["known"][number]>();
  for (const { server, campaign, name } of [...entries, ...kept]) {
    found.set(`${server} ${campaign}`, { server, campaign, name: name === "" ? null : name });
  }
  return [...found.values()];
}

function entryView({ key, name, server, state, charge, symbol, symbolName, reason, at }: LedgerEntry): EntryView {
  const answer = symbol === null ? null : describeSymbol(symbolName);
  const { campaign, serverKey, report } = key;
  return { campaign, name, server, serverKey, report, state, charge, drawn: symbol !== null, answer, reason, at };
}

function infoView({ terms, notice, state }: Announcement): AnnouncementView {
  const { campaign, name, offer, epsilonPerKm, delta, period, nullEpsilon, gradeEpsilon, rule, enrolment, rounds } = terms;
  const { serverKey, hash: termsHash, lowerDeltas, panel, renewalS } = terms;
  const round = notice?.round ?? null;
  const promised = { epsilonPerKm, nullEpsilon, gradeEpsilon, delta, lowerDeltas, period, rule };
  return { campaign, name, offer, ...promised, enrolment, rounds, round, panel, renewalS, state, serverKey, termsHash };
}

function checkedView(checked: CheckedCampaign, offlineSince: number | null): CheckedView {
  const { announcement, area, policy, certificate, charge } = checked;
  return {
    info: infoView(announcement),
    cells: area.cells,
    policyHash: policy.hash,
    charge,
    neighbourKm: area.nearestNeighbourKm,
    explanation: explain(certificate),
    offlineSince,
  };
}

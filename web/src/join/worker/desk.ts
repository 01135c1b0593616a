// The device, as the page asks it: one campaign, its owner's visits, one draw.

import { checkCaps, checkPolicy, DEFAULT_CAPS, type Caps } from "../../core/caps";
import { explain, type Certificate } from "../../core/certify/certificate";
import { DEFAULT_SETTINGS, Device, REAL_SURROUNDINGS, type Offer } from "../../core/device";
import { InputError, NoAnswerError } from "../../core/errors";
import type { Entry } from "../../core/ledger/events";
import { IndexedDbStorage } from "../../core/ledger/indexeddb";
import { Ledger } from "../../core/ledger/ledger";
import { MemoryStorage, type LedgerStorage } from "../../core/ledger/storage";
import { Line, type Patience } from "../../core/line";
import { NULL } from "../../core/policy/policy";
import type { Profile } from "../../core/profile/profile";
import { readTrace } from "../../core/traces/read";
import { FetchTransport, type Transport } from "../../core/transport";
import type { CampaignInfo } from "../../core/wire/participant";
import { readCampaignInfo } from "../../core/wire/participant";
import type { Answered, Api, EntryView, Happening, InfoView, Local, Looked, Places, Seen, SourceView, Trouble } from "../messages";
import { Carrier } from "./carrier";
import { Own, type KeptCampaign } from "./own";
import { findPlaces, leavesFrom, type Found } from "./places";
import { fileTrouble, troubleOf } from "./trouble";

/** Someone is looking: after a few attempts the page says how it stands, and goes on later by itself. */
const PATIENCE: Patience = { attempts: 3, firstWaitS: 0.5, longestWaitS: 30 };
const PROGRESS_MS = 80;

export interface Needs {
  readonly tell: (happening: Happening) => void;
  readonly own?: Own;
  readonly storage?: LedgerStorage;
  readonly transport?: Transport;
  readonly patience?: Patience;
}

/** An error that is sorted already. */
export class Troubled extends Error {
  constructor(readonly trouble: Trouble) {
    super(trouble.words);
  }
}

export class Desk implements Api {
  readonly #tell: (happening: Happening) => void;
  readonly #own: Own;
  readonly #ledger: Ledger;
  readonly #carrier: Carrier;
  readonly #line: Line;
  readonly #certified = new Map<string, Certificate>();
  #campaign = "";
  #offer: Offer | null = null;
  /** The place, and the area and visits that it was found from. */
  #found: (Found & { readonly from: string }) | null = null;
  /** What the owner saw at the last press of the button; null after a no. */
  #seen: Seen | null = null;
  #answer: ((seen: Seen | null) => void) | null = null;

  constructor({ tell, own, storage, transport, patience }: Needs) {
    this.#tell = tell;
    this.#own = own ?? new Own();
    this.#ledger = new Ledger(storage ?? new IndexedDbStorage());
    this.#carrier = new Carrier(transport ?? new FetchTransport(), (asked) => tell({ what: "asked", asked }));
    this.#line = new Line(this.#carrier, patience ?? PATIENCE);
  }

  async open(campaign: string): Promise<Local> {
    this.#campaign = campaign;
    try {
      const hasLedger = await this.#ledger.exists();
      const entries = hasLedger ? [...(await this.#ledger.entries()).values()].map(entryView) : [];
      const kept = await this.#own.kept();
      const mine = kept.find((one) => one.campaign === campaign);
      return {
        hasLedger,
        spentPerKm: hasLedger ? await this.#ledger.spentEpsilonPerKm() : 0,
        beforePerKm: hasLedger ? await this.#ledger.alreadySpentEpsilonPerKm() : 0,
        entries,
        entry: entries.find((one) => one.campaign === campaign) ?? null,
        caps: await this.#own.caps(),
        usualCaps: DEFAULT_CAPS,
        sources: await this.#own.sources(),
        answered: mine?.answered ?? null,
        name: mine?.name ?? null,
        known: known(entries, kept),
      };
    } catch (error) {
      throw new Troubled(troubleOf(error));
    }
  }

  /** Fetch and check; without a network, check again what was fetched last. */
  async look(): Promise<Looked> {
    this.#offer = this.#found = null;
    this.#carrier.restore();
    try {
      const looked = await this.#looked(null);
      const { name } = looked.info;
      await this.#keep({ name, at: Date.now(), replies: this.#carrier.replies });
      return looked;
    } catch (error) {
      const info = this.#announced();
      if (info !== null) await this.#keep({ name: info.name });
      if (error instanceof NoAnswerError && this.#carrier.unanswered) {
        const kept = (await this.#own.kept()).find((one) => one.campaign === this.#campaign);
        if (kept !== undefined && kept.replies.length > 1) return this.#lookAtKept(kept);
      }
      throw new Troubled(troubleOf(error, info));
    }
  }

  async places(): Promise<Places> {
    const offer = this.#shown();
    return placesView(offer, await this.#find(offer));
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
      return await this.#own.add(file.name, file.size, visits);
    } catch (error) {
      throw new Troubled(fileTrouble(error));
    }
  }

  removeSource(id: number): Promise<void> {
    return this.#own.remove(id);
  }

  async record(latitude: number, longitude: number, offsetS: number): Promise<SourceView> {
    try {
      return await this.#own.record(Math.floor(Date.now() / 1000), offsetS, latitude, longitude);
    } catch (error) {
      throw new Troubled(troubleOf(error));
    }
  }

  /** After the owner's yes: a seat, one draw, one report. What was drawn before is sent again, unchanged. */
  async join(alreadySpentPerKm: number, invite: string | null, seen: Seen | null): Promise<EntryView> {
    try {
      return entryView(await this.#alone(() => this.#join(alreadySpentPerKm, invite, seen)));
    } catch (error) {
      throw new Troubled(troubleOf(error, this.#announced()));
    }
  }

  agree(seen: Seen | null): Promise<void> {
    this.#answer?.(seen);
    return Promise.resolve();
  }

  async status(): Promise<Answered> {
    try {
      const { state, offer } = await (await this.#device(this.#ledger)).status(this.#campaign);
      const answered = { state, offer, at: Date.now() };
      await this.#keep({ answered });
      return answered;
    } catch (error) {
      throw new Troubled(troubleOf(error));
    }
  }

  setCaps(caps: Caps): Promise<void> {
    return this.#own.setCaps(checkCaps(caps));
  }

  async deleteEverything(): Promise<void> {
    this.#offer = this.#found = null;
    this.#carrier.restore();
    await this.#own.clear();
    await this.#ledger.deleteEverything();
  }

  async #looked(offlineSince: number | null): Promise<Looked> {
    // Who has no ledger yet has spent nothing that is known; it is made, and asked about, with the first draw.
    const ledger = (await this.#ledger.exists()) ? this.#ledger : await emptyLedger();
    const offer = await (await this.#device(ledger)).look(this.#campaign);
    this.#offer = offer;
    return lookedView(offer, offlineSince);
  }

  /** For a start without a network; where there is no room, the page goes on without. */
  async #keep(changes: Partial<KeptCampaign>): Promise<void> {
    try {
      await this.#own.keep(this.#campaign, changes);
    } catch (error) {
      if (troubleOf(error).kind !== "storage-full") throw error;
    }
  }

  async #lookAtKept(kept: KeptCampaign): Promise<Looked> {
    this.#carrier.restore(kept.replies);
    this.#carrier.useShown();
    try {
      return await this.#looked(kept.at);
    } catch (error) {
      throw new Troubled(troubleOf(error, this.#announced()));
    }
  }

  async #join(alreadySpentPerKm: number, invite: string | null, seen: Seen | null): Promise<Entry> {
    await this.#begin(alreadySpentPerKm);
    this.#seen = seen;
    const device = await this.#device(this.#ledger);
    if (this.#found !== null) this.#carrier.useShown();
    return device.join(
      this.#campaign,
      (offer) => this.#whereabouts(offer),
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
   * it; for another place, or other dice, it has to be pressed again.
   */
  async #whereabouts(offer: Offer): Promise<Profile> {
    this.#offer = offer;
    let found = await this.#find(offer);
    while (!isSeen(this.#seen, offer, found)) {
      const answer = new Promise<Seen | null>((resolve) => (this.#answer = resolve));
      this.#tell({ what: "changed", looked: lookedView(offer, null), places: placesView(offer, found) });
      this.#seen = await answer;
      if (this.#seen === null) break;
      found = await this.#find(offer);
    }
    return found.place === NULL ? new Map<number, number>() : new Map([[found.place, 1]]);
  }

  /** Frequent places; as long as area and visits stay, so does the one that chance picked. */
  async #find(offer: Offer): Promise<Found> {
    const from = JSON.stringify([offer.terms.area.digest, await this.#own.sources()]);
    if (this.#found?.from === from) return this.#found;
    const found = await findPlaces(await this.#device(this.#ledger), offer, await this.#own.visits());
    this.#found = { ...found, from };
    return this.#found;
  }

  async #device(ledger: Ledger): Promise<Device> {
    const caps = await this.#own.caps();
    return new Device({ ...DEFAULT_SETTINGS, caps }, ledger, this.#line, {
      ...REAL_SURROUNDINGS,
      check: (policy, policyHash, terms) => {
        const key = [policy.hash, policyHash, terms.area.digest, terms.targets, terms.epsilonPerKm, terms.nullEpsilon].join("|");
        let told = 0;
        const certificate =
          this.#certified.get(key) ??
          checkPolicy(policy, policyHash, terms, (done, total) => {
            if (performance.now() - told < PROGRESS_MS) return;
            told = performance.now();
            this.#tell({ what: "checking", done, total });
          });
        this.#certified.set(key, certificate);
        return certificate;
      },
    });
  }

  #shown(): Offer {
    if (this.#offer === null) throw new InputError("campaign", this.#campaign, "look at it first");
    return this.#offer;
  }

  /** What was announced last, even if it was refused. */
  #announced(): InfoView | null {
    const path = `/v1/campaigns/${encodeURIComponent(this.#campaign)}`;
    const body = this.#carrier.replies.find(([one]) => one === path)?.[1];
    try {
      return body === undefined ? null : infoView(readCampaignInfo(body));
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

function isSeen(seen: Seen | null, { policy }: Offer, { view }: Found): boolean {
  return seen?.policyHash === policy.hash && seen.chosen === view.chosen;
}

function placesView({ policy }: Offer, { place, view }: Found): Places {
  return { ...view, leaves: leavesFrom(policy, place) };
}

async function emptyLedger(): Promise<Ledger> {
  const ledger = new Ledger(new MemoryStorage());
  await ledger.create(0);
  return ledger;
}

function known(entries: readonly EntryView[], kept: readonly KeptCampaign[]): Local["known"] {
  const names = new Map<string, string | null>(entries.map(({ campaign }) => [campaign, null]));
  for (const { campaign, name } of kept) names.set(campaign, name);
  return [...names].map(([campaign, name]) => ({ campaign, name }));
}

function entryView({ campaign, state, epsilonPerKm, symbol, reason, at }: Entry): EntryView {
  return { campaign, state, epsilonPerKm, drawn: symbol !== null, reason, at };
}

function infoView(info: CampaignInfo): InfoView {
  const { campaign, name, offer, epsilonPerKm, delta, period, nullEpsilon, enrolment, rounds, open, state } = info;
  const round = open?.round ?? null;
  return { campaign, name, offer, epsilonPerKm, delta, period, nullEpsilon, enrolment, rounds, round, state };
}

function lookedView({ info, terms, policy, certificate }: Offer, offlineSince: number | null): Looked {
  return {
    info: infoView(info),
    cells: terms.area.cells,
    policyHash: policy.hash,
    smallestPerKm: certificate.smallestEpsilonPerKm,
    checked: explain(certificate),
    offlineSince,
  };
}

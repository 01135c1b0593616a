// Record everything a device has ever reported, and what it cost; written before anything is sent.
//
// Every report is charged on both accounts (limits/charge.ts), whatever it says and whether or not it was acknowledged or
// withdrawn, because it may have arrived. Sums run over the whole ledger or, if the owner chose so, over the last twelve months.
// Times never decrease, so setting the clock back frees nothing. The owner's limits are kept here, not typed at every call. A
// device that lost its ledger (cleared data, another browser) cannot know what it reported before. So a ledger is never created
// implicitly: `create` asks what was already spent, and the safe answer is the whole limit (`wholeLimit`).
//
// The place of a report is picked once, and kept only until a symbol was drawn from it. After that only the symbol is known, even
// to the device.

import type { PlainObject } from "../codec";
import { CampaignRefused, FileFormatError, InputError, LedgerRetired } from "../errors";
import { grouped } from "../formatting";
import { checkSpent, checkTotals, NOTHING_SPENT, spentPlus, type Charge, type Spent } from "../limits/charge";
import { checkLattice, latticeFields, type Lattice } from "../limits/lattices";
import {
  checkLimits,
  DEFAULT_LIMITS,
  LIMIT_NAMES,
  limitsFields,
  stricterLimits,
  type PrivacyLimits,
} from "../limits/privacy_limits";
import type { Place } from "../profile/place";
import type { Seat } from "../wire/participant";
import type { RoundNotice } from "../wire/terms";
import {
  alreadySpentIn,
  chargeIn,
  entriesOf,
  eventRow,
  latticeIn,
  limitsIn,
  nextEvent,
  notBefore,
  readEvents,
  sameKey,
  THE_DEVICE,
  timeOf,
  type EventKind,
  type LedgerEntry,
  type LedgerEvent,
  type ReportKey,
} from "./events";
import { checkExcluded, type ExcludedPlace } from "./excluded";
import type { LedgerChange, LedgerStorage, StoredLedger } from "./ledger_storage";
import { readTransfer, transferText } from "./ledger_transfer";

export type Clock = () => string;

export const utcNow: Clock = () => utcText(new Date());

/** No twelve months are longer. */
const TWELVE_MONTHS_MS = 366 * 24 * 3600 * 1000;
/** A panel may ask again earlier than planned by one of so many parts of its period: clocks differ. */
const EARLY_SHARE = 10;
/** Longer periods count as a century, so that a date can be named. */
const MAX_WAIT_S = 100 * 366 * 86_400;

/** What is recorded with a symbol when it is drawn. */
export interface DrawTerms {
  readonly charge: Charge;
  readonly lattice: Lattice;
  readonly notice: RoundNotice;
  /** Of a panel: seconds from one round to the next, as its owner agreed. */
  readonly renewalS?: number | null;
}

/** To whom a secret is sent, and for what: the campaign's name and offer, the server's address and the hash of the terms. */
export interface Recipient {
  readonly name: string;
  readonly offer: string;
  readonly server: string;
  readonly termsHash: string;
}

export class Ledger {
  constructor(
    private readonly storage: LedgerStorage,
    private readonly clock: Clock = utcNow,
  ) {}

  /** Whether there is a ledger on this device. */
  exists(): Promise<boolean> {
    return this.storage.transact(({ events }) => ({ result: events.length > 0 }));
  }

  /** Create a ledger with the owner's limits; on a device that took part before, give what may have been spent. */
  create(limits: PrivacyLimits = DEFAULT_LIMITS, alreadySpent: Spent = NOTHING_SPENT): Promise<void> {
    const { epsilonPerKm, nullEpsilon, clearReports, reports } = checkSpent(alreadySpent);
    const body = {
      limits: limitsFields(checkLimits(limits)),
      already_spent: { epsilon_per_km: epsilonPerKm, null_epsilon: nullEpsilon, clear_reports: clearReports, reports },
    };
    return this.storage.transact(({ events }) => {
      if (events.length > 0) throw new FileFormatError("a ledger exists already; what it records stays spent");
      return { append: [eventRow(nextEvent([], THE_DEVICE, "created", body, this.clock()))], result: undefined };
    });
  }

  /**
   * Continue, on this device, a ledger that another device exported; that one no longer answers.
   *
   * A file from someone else could bring limits that allow anything. So limits that are looser than the defaults are set back to
   * the defaults.
   */
  import(text: string): Promise<void> {
    const { events, pending, excluded } = readTransfer(text);
    return this.storage.transact((stored) => {
      if (stored.events.length > 0) throw new FileFormatError("a ledger exists already; what it records stays spent");
      const all = [...events, nextEvent(events, THE_DEVICE, "imported", {}, this.clock())];
      const limits = limitsNow(all);
      const stricter = stricterLimits(limits, DEFAULT_LIMITS);
      if (LIMIT_NAMES.some((name) => stricter[name] !== limits[name])) {
        all.push(nextEvent(all, THE_DEVICE, "limits", { limits: limitsFields(stricter) }, this.clock()));
      }
      return { append: all.map(eventRow), pending, excluded, result: undefined };
    });
  }

  // --- reading ----------------------------------------------------------------------------------------------------

  /** What this device did for each report. */
  entries(): Promise<LedgerEntry[]> {
    return this.read(entriesOf);
  }

  async entry(key: ReportKey): Promise<LedgerEntry | null> {
    return (await this.entries()).find((one) => sameKey(one.key, key)) ?? null;
  }

  /**
   * What this device did in a campaign on the server at an address: the report with the greatest number. If the server's key
   * changed, it is the one under the last key.
   */
  async find(campaign: string, server: string): Promise<LedgerEntry | null> {
    const found = (await this.entries()).filter((one) => one.key.campaign === campaign && one.server === server);
    const lastKey = found.at(-1)?.key.serverKey;
    const underLastKey = found.filter(({ key }) => key.serverKey === lastKey);
    return underLastKey.sort((a, b) => a.key.report - b.key.report).at(-1) ?? null;
  }

  /** The owner's limits. */
  limits(): Promise<PrivacyLimits> {
    return this.read(limitsNow);
  }

  /** What counts against the owner's limits: all reports, or those of the last twelve months. */
  spent(): Promise<Spent> {
    return this.read((events) => this.counted(events));
  }

  /** What all reports cost that this ledger knows of, however long ago. */
  spentEver(): Promise<Spent> {
    return this.read((events) => spentPlus(alreadySpentIn(events[0] as LedgerEvent), drawn(events).map(chargeIn)));
  }

  /** What the owner said was spent before this ledger began. */
  alreadySpent(): Promise<Spent> {
    return this.read((events) => alreadySpentIn(events[0] as LedgerEvent));
  }

  /** Refuse a report that would exceed the owner's limits, or whose map does not fit those of earlier reports. */
  check(charge: Charge, lattice: Lattice): Promise<void> {
    return this.read((events) => this.checkReport(events, charge, lattice));
  }

  /**
   * Refuse a round of a panel before the one that this device has begun, or sooner than the announced schedule.
   *
   * A later answer may be drawn when as many periods have passed since an earlier one as there are rounds between them, less a
   * tenth of one period. That holds for every earlier answer, so tenths do not add up.
   */
  checkRound(key: ReportKey, renewalS: number | null): Promise<void> {
    return this.read((events) => this.checkOrderAndTime(events, key, renewalS));
  }

  /** Whether this ledger was moved to another device. */
  isRetired(): Promise<boolean> {
    return this.read((events) => movedAt(events) !== null);
  }

  /** Refuse a ledger that was moved to another device. */
  checkActive(): Promise<void> {
    return this.read(checkActive);
  }

  // --- recording --------------------------------------------------------------------------------------------------

  /** Record other limits; they hold from the next report on. */
  changeLimits(limits: PrivacyLimits): Promise<void> {
    const body = { limits: limitsFields(checkLimits(limits)) };
    return this.change((events) => ({
      append: [eventRow(nextEvent(events, THE_DEVICE, "limits", body, this.clock()))],
      result: undefined,
    }));
  }

  /** Record the participant's secret for a report; it is made once, before it is first sent. */
  begin(key: ReportKey, secret: () => string, { name, offer, server, termsHash }: Recipient): Promise<LedgerEntry> {
    return this.once(key, "secret", () => ({ name, offer, server, terms_hash: termsHash, secret: secret() }));
  }

  /** Record the seat that the server gave; the first one stays. */
  seat(key: ReportKey, { participant, round, policyHash }: Seat, invite: string | null = null): Promise<LedgerEntry> {
    const kept = invite === null ? {} : { invite };
    return this.once(key, "seat", () => ({ participant, round, policy_hash: policyHash, ...kept }));
  }

  /**
   * Draw a symbol and record it in one transaction; if one is recorded already, return that one instead.
   *
   * `draw` gives the symbol and its name. It is not called if the report would exceed a limit, and must not wait for anything.
   * The place from which it was drawn is forgotten in the same transaction.
   */
  drawOnce(key: ReportKey, terms: DrawTerms, draw: () => readonly [symbol: number, name: string]): Promise<LedgerEntry> {
    const body = (events: readonly LedgerEvent[]): PlainObject => {
      this.checkReport(events, terms.charge, terms.lattice);
      this.checkOrderAndTime(events, key, terms.renewalS ?? null);
      const [symbol, name] = draw();
      const { campaign, termsHash, round, policyHash, signature } = terms.notice;
      return {
        epsilon_per_km: terms.charge.epsilonPerKm,
        null_epsilon: terms.charge.nullEpsilon,
        clear: terms.charge.clear,
        lattice: latticeFields(terms.lattice),
        notice: { campaign, terms_hash: termsHash, round, policy_hash: policyHash, signature },
        symbol,
        symbol_name: name,
      };
    };
    const forgotten = ({ pending }: StoredLedger) => ({ pending: pending.filter((one) => !sameKey(one.key, key)) });
    return this.once(key, "drawn", body, forgotten);
  }

  /** Record that the server has stored the report. */
  acknowledge(key: ReportKey, receiptDigest: string): Promise<LedgerEntry> {
    return this.once(key, "acknowledged", () => ({ receipt_digest: receiptDigest }));
  }

  /** Record that the server will never count the report; its charge stays, because the server saw it. */
  refuse(key: ReportKey, reason: string): Promise<LedgerEntry> {
    return this.once(key, "refused", () => ({ reason }));
  }

  /** Record that the owner left and the server has forgotten the report; its charge stays. */
  withdraw(key: ReportKey): Promise<LedgerEntry> {
    return this.once(key, "withdrawn", () => ({}));
  }

  // --- places -----------------------------------------------------------------------------------------------------

  /**
   * Pick the place of a report and record it; if one is recorded already, return that one.
   *
   * Declining and asking again therefore gives the same place. Only if its cell was excluded since, another one is picked.
   */
  keepPlace(key: ReportKey, termsHash: string, excluded: ReadonlySet<number>, pick: () => Place): Promise<Place> {
    return this.change((_, { pending }) => {
      const found = pending.find((one) => sameKey(one.key, key));
      if (found !== undefined && found.termsHash !== termsHash) {
        throw new CampaignRefused(
          `The conditions of campaign ${key.campaign} are not those that you were shown before. This phone does not take part.`,
          `The terms had the hash ${found.termsHash.slice(0, 12)} then, and have ${termsHash.slice(0, 12)} now.`,
        );
      }
      if (found !== undefined && !excluded.has(found.place.cell)) return { result: found.place };
      const place = pick();
      return { pending: [...pending.filter((one) => one !== found), { key, termsHash, place }], result: place };
    });
  }

  /** The place that was picked for a report and not drawn from yet; null if there is none. */
  pendingPlace(key: ReportKey): Promise<Place | null> {
    return this.storage.transact(({ pending }) => ({ result: pending.find((one) => sameKey(one.key, key))?.place ?? null }));
  }

  /** Never report from this place. */
  exclude(place: ExcludedPlace): Promise<void> {
    const checked = checkExcluded(place);
    return this.change((_, { excluded }) => ({ excluded: [...excluded, checked], result: undefined }));
  }

  /** The places that are never reported. */
  excluded(): Promise<readonly ExcludedPlace[]> {
    return this.storage.transact(({ excluded }) => ({ result: excluded }));
  }

  /** Allow reports from an excluded place again. */
  includeAgain(number: number): Promise<void> {
    return this.change((_, { excluded }) => {
      if (!(number in excluded)) throw new InputError("place", number, "should be one of the excluded places");
      return { excluded: excluded.filter((_, k) => k !== number), result: undefined };
    });
  }

  // --- moving to another device, and deleting ---------------------------------------------------------------------

  /**
   * All of the ledger as a text for another device; this one no longer answers.
   *
   * The text is given out only after this ledger is marked as moved, so that at no moment two ledgers can be used. After an
   * interruption in between, export again: a ledger that was moved can still be exported, unchanged.
   */
  export(): Promise<string> {
    return this.storage.transact((stored) => {
      const events = readEvents(stored.events, stored.head);
      const append = movedAt(events) === null ? [nextEvent(events, THE_DEVICE, "retired", {}, this.clock())] : [];
      const { pending, excluded } = stored;
      return { append: append.map(eventRow), result: transferText({ events: [...events, ...append], pending, excluded }) };
    });
  }

  /** Delete everything on this device; what was sent to the server stays there. */
  deleteEverything(): Promise<void> {
    return this.storage.clear();
  }

  // --- steps ------------------------------------------------------------------------------------------------------

  private checkReport(events: readonly LedgerEvent[], charge: Charge, lattice: Lattice): void {
    checkActive(events);
    const limits = limitsNow(events);
    checkTotals(this.counted(events), charge, limits);
    checkLattice(lattice, drawn(events).map(latticeIn), limits);
  }

  private checkOrderAndTime(events: readonly LedgerEvent[], key: ReportKey, renewalS: number | null): void {
    checkOrder(events, key);
    if (renewalS === null) return;
    const nowMs = Date.parse(notBefore(events, this.clock()));
    for (const event of drawn(events)) {
      const { report } = event.key;
      if (!sameCampaign(event.key, key) || report >= key.report) continue;
      const waitS = (key.report - report) * renewalS - Math.floor(renewalS / EARLY_SHARE);
      const dueMs = Date.parse(timeOf(event)) + 1000 * Math.min(waitS, MAX_WAIT_S);
      if (nowMs >= dueMs) continue;
      const due = utcText(new Date(dueMs));
      throw new CampaignRefused(
        "This panel asks for a new answer sooner than it announced when you joined. Your phone did not answer; it can " +
          `from ${due.slice(0, 10)} on.`,
        `The answer of round ${report + 1} was drawn at ${timeOf(event)}, and rounds are ${grouped(renewalS)} seconds ` +
          `apart; one of round ${key.report + 1} can be drawn from ${due} on.`,
      );
    }
  }

  private counted(events: readonly LedgerEvent[]): Spent {
    let since = "";
    if (limitsNow(events).span === "twelve-months") {
      since = utcText(new Date(Date.parse(notBefore(events, this.clock())) - TWELVE_MONTHS_MS));
    }
    const created = events[0] as LedgerEvent;
    const before = timeOf(created) >= since ? alreadySpentIn(created) : NOTHING_SPENT;
    return spentPlus(before, drawn(events).filter((event) => timeOf(event) >= since).map(chargeIn));
  }

  private read<T>(find: (events: readonly LedgerEvent[]) => T): Promise<T> {
    return this.storage.transact(({ events, head }) => ({ result: find(readEvents(events, head)) }));
  }

  private change<T>(step: (events: readonly LedgerEvent[], stored: StoredLedger) => LedgerChange<T>): Promise<T> {
    return this.storage.transact((stored) => {
      const events = readEvents(stored.events, stored.head);
      checkActive(events);
      return step(events, stored);
    });
  }

  private once(
    key: ReportKey,
    kind: EventKind,
    body: (events: readonly LedgerEvent[]) => PlainObject,
    also: (stored: StoredLedger) => Partial<LedgerChange<never>> = () => ({}),
  ): Promise<LedgerEntry> {
    if (key.campaign === "" || key.serverKey === "") {
      throw new InputError("key", key.campaign, "should name the server's key and the campaign's id");
    }
    return this.change((events, stored) => {
      const known = events.some((event) => sameKey(event.key, key) && event.kind === kind);
      const append = known ? [] : [nextEvent(events, key, kind, body(events), this.clock())];
      const entry = entriesOf([...events, ...append]).find((one) => sameKey(one.key, key)) as LedgerEntry;
      return { ...(known ? {} : also(stored)), append: append.map(eventRow), result: entry };
    });
  }
}

function utcText(time: Date): string {
  return `${time.toISOString().slice(0, 19)}+00:00`;
}

function drawn(events: readonly LedgerEvent[]): LedgerEvent[] {
  return events.filter(({ kind }) => kind === "drawn");
}

function sameCampaign(one: ReportKey, other: ReportKey): boolean {
  return one.serverKey === other.serverKey && one.campaign === other.campaign;
}

function checkOrder(events: readonly LedgerEvent[], key: ReportKey): void {
  const begun = events.filter((event) => sameCampaign(event.key, key)).map((event) => event.key.report);
  const latest = Math.max(key.report, ...begun);
  if (key.report === latest) return;
  throw new CampaignRefused(
    "This panel went back to a round before the one that your phone has begun to answer. Your phone did not answer.",
    `Round ${key.report + 1} is announced; round ${latest + 1} is begun.`,
  );
}

function limitsNow(events: readonly LedgerEvent[]): PrivacyLimits {
  return limitsIn(events.findLast(({ kind }) => kind === "created" || kind === "limits") as LedgerEvent);
}

function movedAt(events: readonly LedgerEvent[]): string | null {
  const last = events.findLast(({ kind }) => kind === "retired" || kind === "imported");
  return last?.kind === "retired" ? timeOf(last) : null;
}

function checkActive(events: readonly LedgerEvent[]): void {
  const at = movedAt(events);
  if (at === null) return;
  throw new LedgerRetired(`this ledger was moved to another device (${at}) and no longer answers; import what was exported`);
}

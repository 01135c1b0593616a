// Record everything a device has ever reported, and its privacy loss; written before anything is sent.
//
// The loss is the sum of ε per km over all campaigns in which a symbol was drawn, whether or not it was acknowledged, because it
// may have arrived. The clock is not part of the sum, so setting it back frees nothing. A device that lost its ledger (cleared
// data, another browser) cannot know what it reported before. So a ledger is never created implicitly: `create` asks what was
// already spent, and the safe answer is the whole limit. The place is not recorded: only the symbol that was drawn from it.

import { FileFormatError, InputError, LimitReached } from "../errors";
import { exact, general } from "../formatting";
import { exactSum } from "../platform/exact_sum";
import {
  alreadySpentEpsilonPerKm,
  checkChain,
  entriesOf,
  nextEvent,
  spentEpsilonPerKm,
  type EventBody,
  type EventKind,
  type LedgerEntry,
  type LedgerEvent,
} from "./events";
import { describeUse } from "./explain";
import type { LedgerStorage } from "./ledger_storage";

export type Clock = () => string;

export const utcNow: Clock = () => `${new Date().toISOString().slice(0, 19)}+00:00`;

export class Ledger {
  constructor(
    private readonly storage: LedgerStorage,
    private readonly clock: Clock = utcNow,
  ) {}

  /** Whether there is a ledger on this device. */
  exists(): Promise<boolean> {
    return this.storage.transact((events) => ({ append: null, result: events.length > 0 }));
  }

  /** Create a ledger; on a device that took part before, give what may have been spent (if unknown, the whole limit). */
  create(alreadySpentEpsilonPerKm: number): Promise<void> {
    if (!(Number.isFinite(alreadySpentEpsilonPerKm) && alreadySpentEpsilonPerKm >= 0)) {
      const expected = "should be a finite number of at least 0; 0 for a new device";
      throw new InputError("alreadySpentEpsilonPerKm", alreadySpentEpsilonPerKm, expected);
    }
    return this.storage.transact((events) => {
      if (events.length > 0) throw new FileFormatError("a ledger exists already; what it records stays spent");
      const body = { already_spent_epsilon_per_km: exact(alreadySpentEpsilonPerKm) };
      return { append: nextEvent([], "", "created", body, this.clock()), result: undefined };
    });
  }

  entries(): Promise<Map<string, LedgerEntry>> {
    return this.read(entriesOf);
  }

  async entry(campaign: string): Promise<LedgerEntry | null> {
    return (await this.entries()).get(campaign) ?? null;
  }

  spentEpsilonPerKm(): Promise<number> {
    return this.read(spentEpsilonPerKm);
  }

  alreadySpentEpsilonPerKm(): Promise<number> {
    return this.read(alreadySpentEpsilonPerKm);
  }

  /** Refuse a campaign that would take the sum of ε over all campaigns past the owner's limit. */
  checkLifetime(epsilonPerKm: number, limitEpsilonPerKm: number): Promise<void> {
    return this.read((events) => checkLifetime(answeredIn(events), spentEpsilonPerKm(events), epsilonPerKm, limitEpsilonPerKm));
  }

  /** Record the participant's secret in a campaign; it is made once, before it is first sent. */
  begin(campaign: string, secret: () => string): Promise<LedgerEntry> {
    return this.once(campaign, "secret", () => ({ secret: secret() }));
  }

  /** Record the seat that the server gave; the first one stays. */
  seat(campaign: string, seat: NonNullable<LedgerEntry["seat"]>): Promise<LedgerEntry> {
    const { participant, round, policyHash } = seat;
    return this.once(campaign, "seat", () => ({ participant, round, policy_hash: policyHash }));
  }

  /**
   * Draw a symbol and record it in one transaction; if one is recorded already, return that one instead. `draw` is not called
   * if the loss would exceed the limit, and must not wait for anything.
   */
  drawOnce(campaign: string, epsilonPerKm: number, lifetimeEpsilonPerKm: number, draw: () => number): Promise<LedgerEntry> {
    return this.once(campaign, "drawn", (events) => {
      checkLifetime(answeredIn(events), spentEpsilonPerKm(events), epsilonPerKm, lifetimeEpsilonPerKm);
      return { epsilon_per_km: exact(epsilonPerKm), symbol: draw() };
    });
  }

  /** Record that the server has stored the report. */
  acknowledge(campaign: string, receiptDigest: string): Promise<LedgerEntry> {
    return this.once(campaign, "acknowledged", () => ({ receipt_digest: receiptDigest }));
  }

  /** Record that the server will never count the report; its loss stays counted, because the server saw it. */
  refuse(campaign: string, reason: string): Promise<LedgerEntry> {
    return this.once(campaign, "refused", () => ({ reason }));
  }

  /** Delete everything on this device; what was sent to the server stays there. */
  deleteEverything(): Promise<void> {
    return this.storage.clear();
  }

  private read<T>(find: (events: readonly LedgerEvent[]) => T): Promise<T> {
    return this.storage.transact((events, head) => {
      checkChain(events, head);
      return { append: null, result: find(events) };
    });
  }

  private once(
    campaign: string,
    kind: EventKind,
    body: (events: readonly LedgerEvent[]) => EventBody,
  ): Promise<LedgerEntry> {
    if (campaign === "") throw new InputError("campaign", campaign, "should be the campaign's id");
    return this.storage.transact((events, head) => {
      checkChain(events, head);
      const known = events.some((event) => event.campaign === campaign && event.kind === kind);
      const append = known ? null : nextEvent(events, campaign, kind, body(events), this.clock());
      const all = append === null ? events : [...events, append];
      return { append, result: entriesOf(all).get(campaign) as LedgerEntry };
    });
  }
}

/** Refuse a campaign that would take the sum of ε over all campaigns past the owner's limit. */
export function checkLifetime(
  answered: number,
  spentEpsilonPerKm: number,
  epsilonPerKm: number,
  limitEpsilonPerKm: number,
): void {
  if (exactSum([spentEpsilonPerKm, epsilonPerKm]) <= limitEpsilonPerKm) return;
  const used = describeUse(answered, spentEpsilonPerKm, limitEpsilonPerKm);
  throw new LimitReached(
    spentEpsilonPerKm < limitEpsilonPerKm
      ? `This campaign would take you past your limit. ${used} Your phone did not answer.`
      : used,
    `The limit for all campaigns together is ε = ${general(limitEpsilonPerKm, 6)} per km; ${general(spentEpsilonPerKm, 6)} is ` +
      `permanently used, and this campaign would add ${general(epsilonPerKm, 6)}.`,
  );
}

function answeredIn(events: readonly LedgerEvent[]): number {
  return events.filter(({ kind }) => kind === "drawn").length;
}

// Where a ledger lies: anything that can read all of it and change it in a single step that nobody else can come between.

import type { EventRow, Head } from "./events";
import type { ExcludedPlace } from "./excluded";
import type { PendingPlace } from "./ledger_transfer";

export interface StoredLedger {
  readonly events: readonly EventRow[];
  readonly head: Head | null;
  readonly pending: readonly PendingPlace[];
  readonly excluded: readonly ExcludedPlace[];
}

export interface LedgerChange<T> {
  readonly result: T;
  readonly append?: readonly EventRow[];
  /** All that are pending from now on. */
  readonly pending?: readonly PendingPlace[];
  /** All that are excluded from now on. */
  readonly excluded?: readonly ExcludedPlace[];
}

/** What a step decides from what is stored. It must not wait for anything. */
export type LedgerStep<T> = (stored: StoredLedger) => LedgerChange<T>;

export interface LedgerStorage {
  /** Runs one step alone, and returns only once what it changed is stored for good. */
  transact<T>(step: LedgerStep<T>): Promise<T>;
  /** Removes the ledger, and everything else that is stored with it. */
  clear(): Promise<void>;
}

export function headOf(rows: readonly EventRow[]): Head | null {
  const last = rows.at(-1);
  return last === undefined ? null : [last[0], last[6]];
}

export const NOTHING_STORED: StoredLedger = { events: [], head: null, pending: [], excluded: [] };

/** For tests, and for looking at a campaign without keeping anything. */
export class MemoryStorage implements LedgerStorage {
  stored: StoredLedger = NOTHING_STORED;

  transact<T>(step: LedgerStep<T>): Promise<T> {
    return Promise.resolve().then(() => {
      const { result, append = [], pending, excluded } = step(structuredClone(this.stored));
      const { stored } = this;
      this.stored = structuredClone({
        events: [...stored.events, ...append],
        head: headOf(append) ?? stored.head,
        pending: pending ?? stored.pending,
        excluded: excluded ?? stored.excluded,
      });
      return result;
    });
  }

  clear(): Promise<void> {
    this.stored = NOTHING_STORED;
    return Promise.resolve();
  }
}

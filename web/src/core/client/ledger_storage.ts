// Where a ledger lies: anything that can read all events and add one in a single step that nobody else can come between.

import type { Head, LedgerEvent } from "./events";

/** What a step decides from what is stored: nothing, or one more event. It must not wait for anything. */
export type LedgerStep<T> = (
  events: readonly LedgerEvent[],
  head: Head | null,
) => { readonly append: LedgerEvent | null; readonly result: T };

export interface LedgerStorage {
  /** Runs one step alone, and returns only once what it appended is stored for good. */
  transact<T>(step: LedgerStep<T>): Promise<T>;
  /** Removes the ledger, and everything else that is stored with it. */
  clear(): Promise<void>;
}

/** For tests, and for looking at a campaign without keeping anything. */
export class MemoryStorage implements LedgerStorage {
  events: LedgerEvent[] = [];
  head: Head | null = null;

  transact<T>(step: LedgerStep<T>): Promise<T> {
    return Promise.resolve().then(() => {
      const { append, result } = step(structuredClone(this.events), this.head);
      if (append !== null) {
        this.events.push(structuredClone(append));
        this.head = { number: append.number, digest: append.digest };
      }
      return result;
    });
  }

  clear(): Promise<void> {
    this.events = [];
    this.head = null;
    return Promise.resolve();
  }
}

// The ledger in the browser's IndexedDB.
//
// A readwrite transaction excludes all others on the same stores, in all tabs, until it is complete; its `complete` event
// comes, with strict durability, once the data is on the disk. "Drawn once" is also a unique index over server, campaign,
// report and kind (events about the device itself have none), so the schema refuses a second draw even if the code asked for
// one. A Web Lock around it makes tabs wait in line instead of
// queueing transactions, and keeps the deletion of everything out of a draw that is under way.

import { FileFormatError, messageOf } from "../errors";
import type { EventRow, Head } from "./events";
import type { ExcludedPlace } from "./excluded";
import { headOf, type LedgerStep, type LedgerStorage } from "./ledger_storage";
import type { PendingPlace } from "./ledger_transfer";

const VERSION = 1;
const EVENTS = "event";
/** The head, what is pending and what is excluded, each as one value. */
const STATE = "state";
const [HEAD, PENDING, EXCLUDED] = ["head", "pending", "excluded"] as const;

interface StoredEvent {
  readonly number: number;
  readonly row: EventRow;
  /** Server, campaign, report and kind; left out of the index where the event is about the device itself. */
  readonly once?: readonly (string | number)[];
}

export class IndexedDbStorage implements LedgerStorage {
  constructor(
    private readonly name = "crowdveil",
    private readonly factory: IDBFactory = indexedDB,
  ) {}

  transact<T>(step: LedgerStep<T>): Promise<T> {
    return this.alone(async () => {
      const database = await this.open();
      try {
        return await transactIn(database, step);
      } finally {
        database.close();
      }
    });
  }

  clear(): Promise<void> {
    return this.alone(
      () =>
        new Promise<void>((resolve, reject) => {
          const request = this.factory.deleteDatabase(this.name);
          request.onsuccess = () => resolve();
          request.onerror = () => reject(failure(request.error));
        }),
    );
  }

  private alone<T>(work: () => Promise<T>): Promise<T> {
    const locks = typeof navigator === "undefined" ? undefined : (navigator.locks as LockManager | undefined);
    return locks === undefined ? work() : locks.request(`${this.name}-ledger`, work);
  }

  private open(): Promise<IDBDatabase> {
    return new Promise((resolve, reject) => {
      const request = this.factory.open(this.name, VERSION);
      request.onupgradeneeded = () => {
        const events = request.result.createObjectStore(EVENTS, { keyPath: "number" });
        events.createIndex("once", "once", { unique: true });
        request.result.createObjectStore(STATE);
      };
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(failure(request.error));
      request.onblocked = () => reject(new FileFormatError("the ledger is open in an older page; close it"));
    });
  }
}

function transactIn<T>(database: IDBDatabase, step: LedgerStep<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction([EVENTS, STATE], "readwrite", { durability: "strict" });
    let decided: { readonly result: T } | null = null;
    let thrown: unknown = null;
    // A result is told only after the commit: who dies before has said nothing, and may draw anew.
    transaction.oncomplete = () => {
      if (decided === null) reject(failure(transaction.error));
      else resolve(decided.result);
    };
    transaction.onabort = () => reject(thrown === null ? failure(transaction.error) : (thrown as Error));
    const events = transaction.objectStore(EVENTS);
    const state = transaction.objectStore(STATE);
    const all = events.getAll() as IDBRequest<StoredEvent[]>;
    const head = state.get(HEAD) as IDBRequest<Head | undefined>;
    const pending = state.get(PENDING) as IDBRequest<PendingPlace[] | undefined>;
    const excluded = state.get(EXCLUDED) as IDBRequest<ExcludedPlace[] | undefined>;
    excluded.onsuccess = () => {
      try {
        const change = step({
          events: all.result.map(({ row }) => row),
          head: head.result ?? null,
          pending: pending.result ?? [],
          excluded: excluded.result ?? [],
        });
        const { append = [] } = change;
        for (const row of append) events.add(storedEvent(row));
        if (append.length > 0) state.put(headOf(append), HEAD);
        if (change.pending !== undefined) state.put(change.pending, PENDING);
        if (change.excluded !== undefined) state.put(change.excluded, EXCLUDED);
        decided = { result: change.result };
      } catch (error) {
        thrown = error;
        transaction.abort();
      }
    };
  });
}

function storedEvent(row: EventRow): StoredEvent {
  const [number, serverKey, campaign, report, kind] = row;
  return campaign === "" ? { number, row } : { number, row, once: [serverKey, campaign, report, kind] };
}

function failure(error: DOMException | null): FileFormatError {
  return new FileFormatError(`the ledger cannot be stored: ${error === null ? "no reason given" : messageOf(error)}`);
}

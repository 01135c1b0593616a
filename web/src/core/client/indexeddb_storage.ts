// The ledger in the browser's IndexedDB.
//
// A readwrite transaction excludes all others on the same stores, in all tabs, until it is complete; its `complete` event
// comes, with strict durability, once the data is on the disk. "Drawn once" is also a unique index, [campaign, kind], so the
// schema refuses a second draw even if the code asked for one. A Web Lock around it makes tabs wait in line instead of
// queueing transactions, and keeps the deletion of everything out of a draw that is under way.

import { FileFormatError, messageOf } from "../errors";
import type { Head, LedgerEvent } from "./events";
import type { LedgerStep, LedgerStorage } from "./ledger_storage";

const VERSION = 1;
const EVENTS = "event";
const HEAD = "head";
const HEAD_KEY = "only";

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
        events.createIndex("once", ["campaign", "kind"], { unique: true });
        request.result.createObjectStore(HEAD);
      };
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(failure(request.error));
      request.onblocked = () => reject(new FileFormatError("the ledger is open in an older page; close it"));
    });
  }
}

function transactIn<T>(database: IDBDatabase, step: LedgerStep<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const transaction = database.transaction([EVENTS, HEAD], "readwrite", { durability: "strict" });
    let decided: { readonly result: T } | null = null;
    let thrown: unknown = null;
    // A result is told only after the commit: who dies before has said nothing, and may draw anew.
    transaction.oncomplete = () => {
      if (decided === null) reject(failure(transaction.error));
      else resolve(decided.result);
    };
    transaction.onabort = () => reject(thrown === null ? failure(transaction.error) : (thrown as Error));
    const events = transaction.objectStore(EVENTS);
    const head = transaction.objectStore(HEAD);
    const all = events.getAll() as IDBRequest<LedgerEvent[]>;
    const last = head.get(HEAD_KEY) as IDBRequest<Head | undefined>;
    last.onsuccess = () => {
      try {
        const { append, result } = step(all.result, last.result ?? null);
        if (append !== null) {
          events.add(append);
          head.put({ number: append.number, digest: append.digest } satisfies Head, HEAD_KEY);
        }
        decided = { result };
      } catch (error) {
        thrown = error;
        transaction.abort();
      }
    };
  });
}

function failure(error: DOMException | null): FileFormatError {
  return new FileFormatError(`the ledger cannot be stored: ${error === null ? "no reason given" : messageOf(error)}`);
}

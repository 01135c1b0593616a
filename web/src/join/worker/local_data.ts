// The owner's visits and what campaigns announced, in an IndexedDB of their own beside the ledger's.
//
// The ledger holds what was said; this holds what was not. Connections are closed after every step, so that deleting
// everything never waits for another tab.

import { Visits } from "../../core/traces/visits";
import type { SourceView, StatusAnswer } from "../messages";

const VERSION = 1;
const [SOURCES, CAMPAIGNS] = ["source", "campaign"] as const;
const RECORDED = "Recorded by this page";

interface SourceRow {
  readonly id?: number;
  readonly name: string;
  readonly size: number;
  readonly recorded: boolean;
  readonly dropped: readonly (readonly [string, number])[];
  /** UTC seconds, offset, latitude, longitude of each visit. */
  readonly columns: readonly Float64Array<ArrayBuffer>[];
}

/** What a campaign announced, byte by byte, and what it answered last. */
export interface KeptCampaign {
  readonly server: string;
  readonly campaign: string;
  readonly name: string | null;
  /** Whether it is a panel; null if it was not looked at here. */
  readonly panel: boolean | null;
  readonly at: number;
  readonly replies: readonly (readonly [path: string, body: Uint8Array<ArrayBuffer>])[];
  readonly answered: StatusAnswer | null;
}

export class SameFile extends Error {}

export class LocalData {
  constructor(
    private readonly name = "crowdveil-local-data",
    private readonly factory: IDBFactory = indexedDB,
  ) {}

  async sources(): Promise<SourceView[]> {
    return (await this.rows()).map(viewOf);
  }

  async visits(): Promise<Visits> {
    const all = new Visits();
    for (const { columns } of await this.rows()) {
      const [time, offset, latitude, longitude] = columns as [Float64Array, Float64Array, Float64Array, Float64Array];
      time.forEach((utcS, i) => {
        all.push(utcS, offset[i] as number, latitude[i] as number, longitude[i] as number);
      });
    }
    return all;
  }

  /** Keep what was read from a file; the same file a second time would count every visit twice. */
  async add(name: string, size: number, visits: Visits): Promise<SourceView> {
    const row: SourceRow = { name, size, recorded: false, dropped: [...visits.dropped], columns: columnsOf(visits) };
    return this.alone("readwrite", SOURCES, async (store) => {
      for (const one of await resultOf(store.getAll() as IDBRequest<SourceRow[]>)) {
        if (one.size === size && !one.recorded && sameVisits(one, row)) throw new SameFile(one.name);
      }
      return viewOf({ ...row, id: Number(await resultOf(store.add(row))) });
    });
  }

  /** One more visit of the page's own recording. */
  async record(utcS: number, offsetS: number, latitude: number, longitude: number): Promise<SourceView> {
    return this.alone("readwrite", SOURCES, async (store) => {
      const rows = await resultOf(store.getAll() as IDBRequest<SourceRow[]>);
      const before = rows.find((one) => one.recorded);
      const added = [utcS, offsetS, latitude, longitude];
      const columns = added.map((value, k) => Float64Array.from([...(before?.columns[k] ?? []), value]));
      const row: SourceRow = { ...before, name: RECORDED, size: 0, recorded: true, dropped: [], columns };
      return viewOf({ ...row, id: Number(await resultOf(store.put(row))) });
    });
  }

  remove(id: number): Promise<void> {
    return this.alone("readwrite", SOURCES, (store) => resultOf(store.delete(id)));
  }

  kept(): Promise<KeptCampaign[]> {
    return this.alone("readonly", CAMPAIGNS, (store) => resultOf(store.getAll() as IDBRequest<KeptCampaign[]>));
  }

  keep({ server, campaign }: Pick<KeptCampaign, "server" | "campaign">, changes: Partial<KeptCampaign>): Promise<void> {
    return this.alone("readwrite", CAMPAIGNS, async (store) => {
      const before = await resultOf(store.get([server, campaign]) as IDBRequest<KeptCampaign | undefined>);
      const blank: KeptCampaign = { server, campaign, name: null, panel: null, at: 0, replies: [], answered: null };
      await resultOf(store.put({ ...blank, ...before, ...changes }));
    });
  }

  clear(): Promise<void> {
    return new Promise((resolve, reject) => {
      const request = this.factory.deleteDatabase(this.name);
      request.onsuccess = () => resolve();
      request.onerror = () => reject(request.error ?? new Error("the visits cannot be deleted"));
    });
  }

  private rows(): Promise<SourceRow[]> {
    return this.alone("readonly", SOURCES, (store) => resultOf(store.getAll() as IDBRequest<SourceRow[]>));
  }

  /** One step in one transaction; what it returns is told once it is stored. */
  private async alone<T>(
    mode: IDBTransactionMode,
    name: string,
    step: (store: IDBObjectStore) => Promise<T>,
  ): Promise<T> {
    const database = await this.open();
    try {
      const transaction = database.transaction(name, mode);
      const done = new Promise<void>((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error ?? new Error("nothing was stored"));
      });
      const [found] = await Promise.all([
        step(transaction.objectStore(name)).catch((error: unknown) => {
          try {
            transaction.abort();
          } catch {
            // It has ended already.
          }
          throw error;
        }),
        done,
      ]);
      return found;
    } finally {
      database.close();
    }
  }

  private open(): Promise<IDBDatabase> {
    return new Promise((resolve, reject) => {
      const request = this.factory.open(this.name, VERSION);
      request.onupgradeneeded = () => {
        request.result.createObjectStore(SOURCES, { keyPath: "id", autoIncrement: true });
        request.result.createObjectStore(CAMPAIGNS, { keyPath: ["server", "campaign"] });
      };
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error ?? new Error("the browser keeps nothing"));
    });
  }
}

function resultOf<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("nothing was stored"));
  });
}

function columnsOf(visits: Visits): Float64Array<ArrayBuffer>[] {
  const column = (at: (visit: number) => number) => Float64Array.from({ length: visits.length }, (_, i) => at(i));
  return [
    column((i) => visits.utcS(i)),
    column((i) => visits.offsetS(i)),
    column((i) => visits.latitude(i)),
    column((i) => visits.longitude(i)),
  ];
}

function sameVisits(one: SourceRow, other: SourceRow): boolean {
  return one.columns.every((column, k) => {
    const beside = other.columns[k];
    return column.length === beside?.length && column.every((value, i) => value === beside[i]);
  });
}

function viewOf(row: SourceRow): SourceView {
  const times = row.columns[0] as Float64Array;
  let [from, to] = [Infinity, -Infinity];
  for (const utcS of times) {
    from = Math.min(from, utcS);
    to = Math.max(to, utcS);
  }
  const { id = 0, name, recorded, dropped } = row;
  return { id, name, recorded, visits: times.length, from: 1000 * from, to: 1000 * to, dropped };
}

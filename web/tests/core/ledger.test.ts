import { IDBFactory } from "fake-indexeddb";
import { describe, expect, test } from "vitest";
import type { LedgerEntry, ReportKey } from "../../src/core/client/events";
import { IndexedDbStorage } from "../../src/core/client/indexeddb_storage";
import { Ledger, type DrawTerms } from "../../src/core/client/ledger";
import { MemoryStorage, type LedgerStorage } from "../../src/core/client/ledger_storage";
import { NOTHING_SPENT, wholeLimit, type Charge } from "../../src/core/limits/charge";
import type { Lattice } from "../../src/core/limits/lattices";
import { DEFAULT_LIMITS } from "../../src/core/limits/privacy_limits";

const LN4 = Math.log(4);
const LN64 = Math.log(64);
const CHARGE: Charge = { epsilonPerKm: LN4, nullEpsilon: LN64, clear: false };
const LATTICE: Lattice = {
  kind: "grid",
  digest: "aa",
  originE7: [0, 0],
  cellM: 1000,
  cornerHalfM: [0, 0],
  boxE7: [0, 0, 100_000, 100_000],
  groundHalfM: [[0, 0, 20_000, 20_000]],
};
const STORAGES: readonly [string, () => LedgerStorage][] = [
  ["memory", () => new MemoryStorage()],
  ["IndexedDB", () => new IndexedDbStorage("test", new IDBFactory())],
];

function keyOf(campaign: string, serverKey = "k"): ReportKey {
  return { serverKey, campaign, report: 0 };
}

function terms({ campaign }: ReportKey, charge = CHARGE, lattice = LATTICE): DrawTerms {
  const digest = "0".repeat(64);
  return { charge, lattice, notice: { campaign, termsHash: digest, round: 0, policyHash: digest, signature: "0".repeat(128) } };
}

function drawIn(ledger: Ledger, campaign: string, symbol = 0, charge = CHARGE, lattice = LATTICE): Promise<LedgerEntry> {
  const key = keyOf(campaign);
  return ledger.drawOnce(key, terms(key, charge, lattice), () => [symbol, "hit"]);
}

async function started(storage: LedgerStorage, spent = NOTHING_SPENT): Promise<Ledger> {
  const ledger = new Ledger(storage);
  await ledger.create(DEFAULT_LIMITS, spent);
  return ledger;
}

describe.each(STORAGES)("a ledger in %s", (_, storage) => {
  test("draws once, however often and from however many tabs at once it is asked", async () => {
    const place = storage();
    await started(place);
    let draws = 0;
    const tabs = Array.from({ length: 20 }, () => new Ledger(place));
    const key = keyOf("c");
    const entries = await Promise.all(tabs.map((tab) => tab.drawOnce(key, terms(key), () => [++draws, "hit"])));
    expect(draws).toBe(1);
    expect(new Set(entries.map((entry) => entry.symbol))).toEqual(new Set([1]));
    expect(await new Ledger(place).spent()).toEqual({ epsilonPerKm: LN4, nullEpsilon: LN64, clearReports: 0, reports: 1 });
  });

  test("lets exactly three reports under the default limits, on either account, and draws nothing for a fourth", async () => {
    for (const charge of [CHARGE, { ...CHARGE, epsilonPerKm: 0.1 }, { ...CHARGE, nullEpsilon: 0.1 }]) {
      const ledger = await started(storage());
      for (const campaign of ["a", "b", "c"]) await drawIn(ledger, campaign, 0, charge);
      let drawn = false;
      const key = keyOf("d");
      const fourth = ledger.drawOnce(key, terms(key, charge), () => ((drawn = true), [0, "hit"]));
      await expect(fourth).rejects.toThrow(/You have answered 3 campaigns, the most your limit allows/);
      expect(drawn).toBe(false);
    }
  });

  test("keeps reports of the same campaign id on two servers apart", async () => {
    const ledger = await started(storage());
    const [one, other] = [keyOf("c", "one"), keyOf("c", "other")];
    await ledger.drawOnce(one, terms(one), () => [1, "hit"]);
    expect((await ledger.drawOnce(other, terms(other), () => [2, "hit"])).symbol).toBe(2);
    expect((await ledger.spent()).reports).toBe(2);
  });

  test("refuses a map that does not fit an earlier one, and draws nothing", async () => {
    const ledger = await started(storage());
    await drawIn(ledger, "a");
    const shifted = { ...LATTICE, digest: "bb", cornerHalfM: [500, 0] as const };
    await expect(drawIn(ledger, "b", 0, CHARGE, shifted)).rejects.toThrow(/divided in another way/);
    expect((await drawIn(ledger, "c", 0, CHARGE, { ...shifted, boxE7: [200_000, 0, 300_000, 9] })).symbol).toBe(0);
  });

  test("keeps the first secret, seat, symbol and receipt, in the order they came", async () => {
    const ledger = await started(storage());
    const key = keyOf("c");
    const recipient = { name: "C", offer: "A coffee", server: "https://a.example", termsHash: "ab" };
    await ledger.begin(key, () => "one", recipient);
    expect((await ledger.begin(key, () => "two", recipient)).secret).toBe("one");
    await ledger.seat(key, { campaign: "c", participant: 4, round: 1, policyHash: "ab", termsHash: "ab" });
    await ledger.seat(key, { campaign: "c", participant: 5, round: 2, policyHash: "cd", termsHash: "ab" });
    await drawIn(ledger, "c", -1);
    const entry = await ledger.acknowledge(key, "ff");
    expect(entry).toMatchObject({ participant: 4, round: 1, policyHash: "ab", symbol: -1, charge: CHARGE, symbolName: "hit" });
    expect(entry).toMatchObject({ state: "acknowledged", receiptDigest: "ff", server: "https://a.example", name: "C" });
    expect((await ledger.withdraw(key)).state).toBe("withdrawn");
    expect((await ledger.find("c", "https://a.example"))?.secret).toBe("one");
    expect(await ledger.find("c", "https://b.example")).toBeNull();
  });

  test("keeps its owner's limits, and counts what was spent before", async () => {
    const ledger = await started(storage(), wholeLimit(DEFAULT_LIMITS));
    await expect(ledger.create()).rejects.toThrow(/a ledger exists already/);
    await expect(drawIn(ledger, "c")).rejects.toThrow(/Your limit was used up before this record began/);
    await ledger.changeLimits({ ...DEFAULT_LIMITS, totalEpsilonPerKm: 9, totalNullEpsilon: 99 });
    expect((await ledger.limits()).totalEpsilonPerKm).toBe(9);
    expect((await drawIn(ledger, "c")).symbol).toBe(0);
    expect(() => ledger.create(DEFAULT_LIMITS, { ...NOTHING_SPENT, reports: -1 })).toThrow(/already spent reports = -1/);
  });

  test("keeps the place of a report until it is drawn from, and no longer", async () => {
    const ledger = await started(storage());
    const key = keyOf("c");
    const pick = (cell: number) => ledger.keepPlace(key, "terms", new Set([9]), () => ({ cell, grade: 1 }));
    expect(await pick(9)).toEqual({ cell: 9, grade: 1 });
    expect(await pick(3)).toEqual({ cell: 3, grade: 1 }); // 9 is excluded
    expect(await pick(4)).toEqual({ cell: 3, grade: 1 });
    await expect(ledger.keepPlace(key, "others", new Set(), () => ({ cell: 1, grade: 0 }))).rejects.toThrow(/are not those that you were shown before/);
    expect(await ledger.pendingPlace(key)).toEqual({ cell: 3, grade: 1 });
    await drawIn(ledger, "c");
    expect(await ledger.pendingPlace(key)).toBeNull();
  });

  test("moves to another device whole, and no longer answers here; the file can be saved again, unchanged", async () => {
    const ledger = await started(storage());
    await drawIn(ledger, "a", 3);
    await ledger.exclude({ latitude: 48.1, longitude: 11.5, radiusKm: 0.25 });
    await ledger.keepPlace(keyOf("b"), "terms", new Set(), () => ({ cell: 3, grade: 1 }));
    const text = await ledger.export();
    expect(await ledger.export()).toBe(text);
    expect(await ledger.isRetired()).toBe(true);
    await expect(drawIn(ledger, "b")).rejects.toThrow(/was moved to another device/);
    await expect(ledger.changeLimits(DEFAULT_LIMITS)).rejects.toThrow(/was moved to another device/);
    const moved = new Ledger(storage());
    await moved.import(text);
    expect(await moved.spent()).toEqual(await ledger.spent());
    expect(await moved.excluded()).toEqual([{ latitude: 48.1, longitude: 11.5, radiusKm: 0.25 }]);
    expect(await moved.pendingPlace(keyOf("b"))).toEqual({ cell: 3, grade: 1 });
    expect((await drawIn(moved, "a", 5)).symbol).toBe(3);
    expect((await drawIn(moved, "b", 5)).symbol).toBe(5);
    await expect(moved.import(text)).rejects.toThrow(/a ledger exists already/);
  });

  test("brings no limits from elsewhere that are looser than the defaults", async () => {
    const gift = new Ledger(storage());
    const strange = { ...DEFAULT_LIMITS, epsilonPerKm: 1e6, clearReports: 1e6, span: "twelve-months", minCells: 2, cellKm: 0.5 } as const;
    await gift.create(strange);
    const moved = new Ledger(storage());
    await moved.import(await gift.export());
    expect(await moved.limits()).toEqual({ ...DEFAULT_LIMITS, cellKm: 0.5 });
  });

  test("is gone after everything was deleted, and says nothing until it is begun again", async () => {
    const ledger = await started(storage());
    await drawIn(ledger, "c");
    await ledger.deleteEverything();
    expect(await ledger.exists()).toBe(false);
    await expect(ledger.entries()).rejects.toThrow(/truncated/);
    await ledger.create();
    expect(await ledger.spent()).toEqual(NOTHING_SPENT);
  });
});

test("a failing draw stores nothing, and the next one is the first", async () => {
  const ledger = await started(new IndexedDbStorage("test", new IDBFactory()));
  const key = keyOf("c");
  const failing = ledger.drawOnce(key, terms(key), () => {
    throw new Error("no random bits");
  });
  await expect(failing).rejects.toThrow("no random bits");
  expect(await ledger.entry(key)).toBeNull();
  expect((await drawIn(ledger, "c", 5)).symbol).toBe(5);
});

test("a ledger that was altered, truncated or reordered is refused", async () => {
  const place = new MemoryStorage();
  const ledger = await started(place);
  await drawIn(ledger, "c", 3);
  const { stored } = place;
  const [first, second] = stored.events as [(typeof stored.events)[0], (typeof stored.events)[0]];
  const [number, serverKey, campaign, report, kind, text, digest] = second;
  for (const wrong of [
    [first, [number, serverKey, campaign, report, kind, text.replace('"symbol":3', '"symbol":4'), digest] as const],
    [first, [number, serverKey, "d", report, kind, text, digest] as const],
    [first, [number, "other", campaign, report, kind, text, digest] as const],
    [first],
    [second],
    [],
    [second, first],
  ]) {
    place.stored = { ...stored, events: wrong };
    await expect(ledger.entries(), JSON.stringify(wrong)).rejects.toThrow(/the ledger was (altered|truncated)/);
  }
  place.stored = { ...stored, head: [1, "00"] };
  await expect(ledger.entries()).rejects.toThrow(/truncated/);
});

test("turning the clock back frees nothing, and times never run backwards", async () => {
  let now = "2026-05-01T00:00:00+00:00";
  const ledger = new Ledger(new MemoryStorage(), () => now);
  await ledger.create({ ...DEFAULT_LIMITS, span: "twelve-months" });
  await drawIn(ledger, "a");
  now = "1999-01-01T00:00:00+00:00";
  const entry = await drawIn(ledger, "b");
  expect(entry.at).toBe("2026-05-01T00:00:00+00:00");
  expect((await ledger.spent()).reports).toBe(2);
  now = "2027-05-03T00:00:00+00:00";
  expect((await ledger.spent()).reports).toBe(0);
  expect((await ledger.spentEver()).reports).toBe(2);
});

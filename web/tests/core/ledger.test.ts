import { IDBFactory } from "fake-indexeddb";
import { describe, expect, test } from "vitest";
import { IndexedDbStorage } from "../../src/core/client/indexeddb_storage";
import { Ledger } from "../../src/core/client/ledger";
import { MemoryStorage, type LedgerStorage } from "../../src/core/client/ledger_storage";

const LN4 = Math.log(4);
const STORAGES: readonly [string, () => LedgerStorage][] = [
  ["memory", () => new MemoryStorage()],
  ["IndexedDB", () => new IndexedDbStorage("test", new IDBFactory())],
];

async function started(storage: LedgerStorage, spent = 0): Promise<Ledger> {
  const ledger = new Ledger(storage);
  await ledger.create(spent);
  return ledger;
}

describe.each(STORAGES)("a ledger in %s", (_, storage) => {
  test("draws once, however often and from however many tabs at once it is asked", async () => {
    const place = storage();
    await started(place);
    let draws = 0;
    const tabs = Array.from({ length: 20 }, () => new Ledger(place));
    const entries = await Promise.all(tabs.map((tab) => tab.drawOnce("c", LN4, 3 * LN4, () => ++draws)));
    expect(draws).toBe(1);
    expect(new Set(entries.map((entry) => entry.symbol))).toEqual(new Set([1]));
    expect(await new Ledger(place).spentEpsilonPerKm()).toBe(LN4);
  });

  test("lets exactly three campaigns of ln 4 under a limit of 3 ln 4, and draws nothing for a fourth", async () => {
    const ledger = await started(storage());
    for (const campaign of ["a", "b", "c"]) await ledger.drawOnce(campaign, LN4, 3 * LN4, () => 0);
    let drawn = false;
    const fourth = ledger.drawOnce("d", 1e-9, 3 * LN4, () => ((drawn = true), 0));
    await expect(fourth).rejects.toThrow(/You have answered 3 campaigns, the most your limit allows/);
    expect(drawn).toBe(false);
    expect(await ledger.spentEpsilonPerKm()).toBe(3 * LN4);
  });

  test("keeps the first secret, seat, symbol and receipt, in the order they came", async () => {
    const ledger = await started(storage());
    await ledger.begin("c", () => "one");
    expect((await ledger.begin("c", () => "two")).secret).toBe("one");
    await ledger.seat("c", { participant: 4, round: 1, policyHash: "ab" });
    await ledger.seat("c", { participant: 5, round: 2, policyHash: "cd" });
    await ledger.drawOnce("c", 0.5, 1, () => -1);
    const entry = await ledger.acknowledge("c", "ff");
    expect(entry).toMatchObject({ seat: { participant: 4, round: 1, policyHash: "ab" }, symbol: -1, epsilonPerKm: 0.5 });
    expect(entry).toMatchObject({ state: "acknowledged", receiptDigest: "ff" });
  });

  test("counts what was spent before it, and is begun once", async () => {
    const place = storage();
    const ledger = await started(place, 3 * LN4);
    await expect(ledger.create(0)).rejects.toThrow(/a ledger exists already/);
    await expect(ledger.drawOnce("c", LN4, 3 * LN4, () => 0)).rejects.toThrow(/Your limit was used up before this ledger began/);
    expect(() => ledger.create(-1)).toThrow(/alreadySpentEpsilonPerKm = -1/);
  });

  test("is gone after everything was deleted, and says nothing until it is begun again", async () => {
    const ledger = await started(storage());
    await ledger.drawOnce("c", LN4, 3 * LN4, () => 0);
    await ledger.deleteEverything();
    expect(await ledger.exists()).toBe(false);
    await expect(ledger.entries()).rejects.toThrow(/truncated/);
    await ledger.create(LN4);
    expect(await ledger.spentEpsilonPerKm()).toBe(LN4);
  });
});

test("a failing draw stores nothing, and the next one is the first", async () => {
  const place = new IndexedDbStorage("test", new IDBFactory());
  const ledger = await started(place);
  const failing = ledger.drawOnce("c", LN4, 3 * LN4, () => {
    throw new Error("no random bits");
  });
  await expect(failing).rejects.toThrow("no random bits");
  expect(await ledger.entry("c")).toBeNull();
  expect((await ledger.drawOnce("c", LN4, 3 * LN4, () => 5)).symbol).toBe(5);
});

test("a ledger that was altered, truncated or reordered is refused", async () => {
  const place = new MemoryStorage();
  const ledger = await started(place);
  await ledger.drawOnce("c", LN4, 3 * LN4, () => 3);
  const { events, head } = place;
  const [first, second] = events as [(typeof events)[0], (typeof events)[0]];
  for (const wrong of [
    [first, { ...second, body: { ...second.body, epsilon_per_km: "0.1" } }],
    [first, { ...second, campaign: "d" }],
    [first],
    [second],
    [],
    [second, first],
  ]) {
    place.events = wrong;
    await expect(ledger.entries(), JSON.stringify(wrong)).rejects.toThrow(/the ledger was (altered|truncated)/);
  }
  place.events = events;
  place.head = head === null ? null : { ...head, digest: "00" };
  await expect(ledger.entries()).rejects.toThrow(/truncated/);
});

test("turning the clock back frees nothing, and times never run backwards", async () => {
  let now = "2026-05-01T00:00:00+00:00";
  const ledger = new Ledger(new MemoryStorage(), () => now);
  await ledger.create(0);
  await ledger.drawOnce("a", LN4, 3 * LN4, () => 0);
  now = "1999-01-01T00:00:00+00:00";
  const entry = await ledger.drawOnce("b", LN4, 3 * LN4, () => 0);
  expect(entry.at).toBe("2026-05-01T00:00:00+00:00");
  expect(await ledger.spentEpsilonPerKm()).toBe(2 * LN4);
});

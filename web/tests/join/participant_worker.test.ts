import { IDBFactory, IDBObjectStore } from "fake-indexeddb";
import { describe, expect, test, vi } from "vitest";
import { IndexedDbStorage } from "../../src/core/client/indexeddb_storage";
import { DEFAULT_LIMITS } from "../../src/core/client/privacy_limits";
import { ServerUnreachable } from "../../src/core/errors";
import { utf8 } from "../../src/core/platform/bytes";
import { FailureError } from "../../src/join/failure";
import type { ShownChoice, WorkerEvent } from "../../src/join/messages";
import { failureOf } from "../../src/join/worker/failure";
import { LocalData } from "../../src/join/worker/local_data";
import { ParticipantWorker } from "../../src/join/worker/participant_worker";
import { CAMPAIGN, FakeServer, makePolicy, problem } from "../core/helpers";

const HOME = [48.1, 11.5] as const;
const WORK = [48.109, 11.5] as const;
const ABROAD = [40.7, -74] as const;
const RETRY_POLICY = { attempts: 2, firstWaitS: 0, longestWaitS: 0 };

function file(name = "visits.csv", place: readonly [number, number] = HOME): File {
  const rows = Array.from({ length: 100 }, (_, day) => {
    return `${new Date(Date.now() - (day + 1) * 86_400_000).toISOString()},${place[0]},${place[1]}`;
  });
  return new File([["time,latitude,longitude", ...rows].join("\n")], name);
}

async function made(factory = new IDBFactory(), server?: FakeServer) {
  const told: WorkerEvent[] = [];
  const transport = server ?? new FakeServer(await makePolicy());
  const worker = new ParticipantWorker({
    tell: (event) => told.push(event),
    localData: new LocalData("own", factory),
    storage: new IndexedDbStorage("ledger", factory),
    transport,
    retryPolicy: RETRY_POLICY,
  });
  await worker.open(CAMPAIGN);
  return { worker, server: transport, told, factory };
}

async function kindOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "none",
    (error: unknown) => (error instanceof FailureError ? error.failure.kind : String(error)),
  );
}

/** What the owner sees beside the button, after looking and importing. */
async function shown(worker: ParticipantWorker, visits = file()): Promise<ShownChoice> {
  const { policyHash } = await worker.look();
  await worker.importFile(visits, "UTC");
  return { policyHash, chosen: (await worker.places()).chosen };
}

/** What the owner is shown before the button has to be pressed again, the nth time. */
async function changed(told: readonly WorkerEvent[], nth = 1): Promise<ShownChoice> {
  for (;;) {
    const event = told.filter(({ what }) => what === "changed")[nth - 1];
    if (event?.what === "changed") return { policyHash: event.checked.policyHash, chosen: event.places.chosen };
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const methods = (server: FakeServer): string[] => server.requests.map(({ method }) => method);

describe("the participant's worker", () => {
  test("looks, finds places and joins with four requests, what was shown being what is agreed to", async () => {
    const { worker, server } = await made();
    const checked = await worker.look();
    expect(checked.explanation).toContain("Private at ε = 1 per km");
    await worker.importFile(file(), "UTC");
    const places = await worker.places();
    expect(places).toMatchObject({ frequent: 1, chosen: 12, counted: 100, reply: { none: false, clear: false } });
    expect(places.map.regions).toHaveLength(25);
    expect(methods(server)).toEqual(["GET", "GET"]);
    const seen = { policyHash: checked.policyHash, chosen: places.chosen };
    expect((await worker.join(0, null, seen)).state).toBe("acknowledged");
    expect(methods(server)).toEqual(["GET", "GET", "POST", "PUT"]);
    const local = await worker.open(CAMPAIGN);
    expect(local).toMatchObject({ hasLedger: true, spentPerKm: 1, beforePerKm: 0, entry: { state: "acknowledged" }, name: "Winter air" });
  });

  test("begins a ledger with what its owner says was spent before, and then keeps to the limit", async () => {
    const { worker, server } = await made();
    const seen = await shown(worker);
    expect(await kindOf(worker.join(DEFAULT_LIMITS.lifetimeEpsilonPerKm, null, seen))).toBe("lifetime");
    expect(methods(server)).toEqual(["GET", "GET"]);
    const { lifetimeEpsilonPerKm } = DEFAULT_LIMITS;
    expect(await worker.open(CAMPAIGN)).toMatchObject({ spentPerKm: lifetimeEpsilonPerKm, beforePerKm: lifetimeEpsilonPerKm });
    expect(await kindOf(worker.look())).toBe("lifetime");
  });

  test("two workers on one device draw once, and the second sends nothing of its own", async () => {
    const one = await made();
    const two = await made(one.factory, one.server);
    await two.worker.look();
    const seen = await shown(one.worker);
    await two.worker.places();
    await Promise.all([one.worker.join(0, null, seen), two.worker.join(0, null, seen)]);
    expect(one.server.uploads.size).toBe(1);
    const bodies = one.server.requests.filter(({ method }) => method === "PUT").map(({ body }) => String(body));
    expect(new Set(bodies).size).toBe(1);
  });

  test("keeps what was drawn while nobody answers, and sends the same afterwards from a new page", async () => {
    const one = await made();
    const seen = await shown(one.worker);
    one.server.faults = (number) => (number > 3 ? "request" : null);
    expect(await kindOf(one.worker.join(0, null, seen))).toBe("no-answer");
    expect((await one.worker.open(CAMPAIGN)).entry).toMatchObject({ state: "drawn", drawn: true });
    one.server.faults = () => null;
    const two = await made(one.factory, one.server);
    expect((await two.worker.join(0, null, null)).state).toBe("acknowledged");
    expect(methods(one.server)).toEqual(["GET", "GET", "POST", "PUT", "PUT", "PUT"]);
    const bodies = one.server.requests.slice(3).map(({ body }) => String(body));
    expect(new Set(bodies).size).toBe(1);
  });

  test("shows without a network what was announced before, checked anew", async () => {
    const one = await made();
    await one.worker.look();
    const two = await made(one.factory, one.server);
    one.server.faults = () => "request";
    expect((await two.worker.look()).offlineSince).toBeGreaterThan(0);
    const stranger = await made(new IDBFactory(), one.server);
    expect(await kindOf(stranger.worker.look())).toBe("no-answer");
  });

  test("shows a round that moved on, and draws nothing without a second yes", async () => {
    const server = new FakeServer(await makePolicy());
    const { worker, told } = await made(new IDBFactory(), server);
    const seen = await shown(worker);
    const next = new FakeServer(await makePolicy({ hit: () => 1030n }));
    server.send = (request) => next.send(request);
    const joining = kindOf(worker.join(0, null, seen));
    await changed(told);
    expect(next.uploads.size).toBe(0);
    await worker.agree(null);
    expect(await joining).toBe("declined");
    expect(next.uploads.size).toBe(0);
    expect((await worker.open(CAMPAIGN)).spentPerKm).toBe(0);
  });

  test("draws from the visits that are there at the second yes, and from no others", async () => {
    const server = new FakeServer(await makePolicy());
    const { worker, told } = await made(new IDBFactory(), server);
    const seen = await shown(worker);
    const next = new FakeServer(await makePolicy({ hit: () => 1030n }));
    server.send = (request) => next.send(request);
    const joining = worker.join(0, null, seen);
    const here = await changed(told);
    expect(here).toMatchObject({ chosen: 12 });
    for (const { id } of (await worker.open(CAMPAIGN)).sources) await worker.removeSource(id);
    await worker.importFile(file("abroad.csv", ABROAD), "UTC");
    await worker.agree(here);
    const nowhere = await changed(told, 2);
    expect(nowhere).toEqual({ ...here, chosen: null });
    expect(next.uploads.size).toBe(0);
    await worker.agree(nowhere);
    expect((await joining).state).toBe("acknowledged");
    expect([...next.uploads.values()].join()).toContain("nullnull");
  });

  test("asks again when visits came or went after the page was drawn, and not when the place is the same", async () => {
    const { worker, server, told } = await made();
    const seen = await shown(worker, file("abroad.csv", ABROAD));
    expect(seen.chosen).toBeNull();
    await worker.importFile(file(), "UTC");
    const joining = worker.join(0, null, seen);
    const here = await changed(told);
    expect(here.chosen).toBe(12);
    expect(server.uploads.size).toBe(0);
    await worker.record(...HOME, 3600);
    await worker.agree(here);
    expect((await joining).state).toBe("acknowledged");
    expect([...server.uploads.values()].join()).not.toContain("null");
    expect(methods(server)).toEqual(["GET", "GET", "POST", "PUT"]);
  });

  test("keeps to the place that chance picked while visits stay", async () => {
    const { worker } = await made();
    await shown(worker);
    await worker.importFile(file("work.csv", WORK), "UTC");
    const places = await worker.places();
    expect(places.frequent).toBe(2);
    for (let again = 0; again < 20; again++) expect((await worker.places()).chosen).toBe(places.chosen);
  });

  test("stops at a pause at once, and keeps what was drawn", async () => {
    const { worker, server } = await made();
    const seen = await shown(worker);
    server.problem = { path: "/report", reply: problem(503, "paused", "The campaign is paused; send the same request again later") };
    expect(await kindOf(worker.join(0, null, seen))).toBe("paused");
    expect((await worker.open(CAMPAIGN)).entry?.state).toBe("drawn");
  });

  test("reads a file once, and says what is wrong with others", async () => {
    const { worker } = await made();
    const source = await worker.importFile(file(), "UTC");
    expect(source.visits).toBe(100);
    expect(await kindOf(worker.importFile(file(), "UTC"))).toBe("same-file");
    expect(await kindOf(worker.importFile(new File([""], "a.csv"), "UTC"))).toBe("empty-file");
    expect(await kindOf(worker.importFile(new File(["a,b\n1,2"], "a.csv"), "UTC"))).toBe("broken-file");
    await worker.record(48.1, 11.5, 3600);
    const { id } = await worker.record(48.2, 11.6, 3600);
    expect((await worker.open(CAMPAIGN)).sources.map(({ visits, recorded }) => [visits, recorded])).toEqual([
      [100, false],
      [2, true],
    ]);
    await worker.removeSource(id);
    await worker.removeSource(source.id);
    expect((await worker.open(CAMPAIGN)).sources).toEqual([]);
  });

  test("deletes everything", async () => {
    const { worker, factory } = await made();
    const seen = await shown(worker);
    await worker.join(0, null, seen);
    await worker.deleteEverything();
    expect(await factory.databases()).toEqual([]);
    expect(await worker.open(CAMPAIGN)).toMatchObject({ hasLedger: false, entries: [], sources: [], known: [] });
  });

  test("limits hold from the next look on", async () => {
    const { worker } = await made();
    await worker.setLimits({ ...DEFAULT_LIMITS, epsilonPerKm: 0.5 });
    expect(await kindOf(worker.look())).toBe("limits");
    await worker.setLimits(DEFAULT_LIMITS);
    expect((await worker.look()).cells).toBe(25);
  });
});

test("no answer at all is not taken for a refusal", async () => {
  const server = new FakeServer(await makePolicy());
  server.send = () => Promise.reject(new ServerUnreachable("no network"));
  const { worker } = await made(new IDBFactory(), server);
  expect(await kindOf(worker.look())).toBe("no-answer");
});

test("whoever else answers is not taken for a campaign whose policy fails the check", async () => {
  const portal = { status: 200, retryAfter: "", body: utf8("<!doctype html><title>Welcome</title>") };
  const { worker, server } = await made();
  server.problem = { path: "", reply: portal };
  expect(await kindOf(worker.look())).toBe("unexpected-answer");
  server.problem = null;
  const seen = await shown(worker);
  server.problem = { path: "/seats", reply: portal };
  expect(await kindOf(worker.join(0, null, seen))).toBe("unexpected-answer");
  expect((await worker.open(CAMPAIGN)).spentPerKm).toBe(0);
  server.problem = { path: "/report", reply: portal };
  expect(await kindOf(worker.join(0, null, seen))).toBe("unexpected-answer");
  expect((await worker.open(CAMPAIGN)).entry?.state).toBe("drawn");
  server.problem = null;
  expect((await worker.join(0, null, null)).state).toBe("acknowledged");
});

test("a full disk keeps nobody from looking, and is called one where something has to be stored", async () => {
  const factory = new IDBFactory();
  const server = new FakeServer(await makePolicy());
  const { worker } = await made(factory, server);
  const { id } = await worker.importFile(file(), "UTC");
  const full = vi.spyOn(IDBObjectStore.prototype, "put").mockImplementation(noRoom);
  vi.spyOn(IDBObjectStore.prototype, "delete").mockImplementation(noRoom);
  const { policyHash } = await worker.look();
  const seen = { policyHash, chosen: (await worker.places()).chosen };
  expect(full).toHaveBeenCalledOnce();
  expect(await kindOf(worker.join(0, null, seen))).toBe("storage-full");
  expect(server.uploads.size).toBe(0);
  for (const work of [() => worker.setLimits(DEFAULT_LIMITS), () => worker.removeSource(id)]) {
    expect(failureOf(await work().catch((error: unknown) => error)).kind).toBe("storage-full");
  }
  vi.restoreAllMocks();
});

function noRoom(): never {
  throw new DOMException("no space", "QuotaExceededError");
}

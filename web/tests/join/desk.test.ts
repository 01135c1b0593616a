import { IDBFactory, IDBObjectStore } from "fake-indexeddb";
import { describe, expect, test, vi } from "vitest";
import { utf8 } from "../../src/core/bytes";
import { DEFAULT_CAPS } from "../../src/core/caps";
import { NoAnswerError } from "../../src/core/errors";
import { IndexedDbStorage } from "../../src/core/ledger/indexeddb";
import type { Happening, Seen } from "../../src/join/messages";
import { Desk, Troubled } from "../../src/join/worker/desk";
import { Own } from "../../src/join/worker/own";
import { troubleOf } from "../../src/join/worker/trouble";
import { CAMPAIGN, FakeServer, makePolicy, problem } from "../core/helpers";

const HOME = [48.1, 11.5] as const;
const WORK = [48.109, 11.5] as const;
const ABROAD = [40.7, -74] as const;
const PATIENCE = { attempts: 2, firstWaitS: 0, longestWaitS: 0 };

function file(name = "visits.csv", place: readonly [number, number] = HOME): File {
  const rows = Array.from({ length: 100 }, (_, day) => {
    return `${new Date(Date.now() - (day + 1) * 86_400_000).toISOString()},${place[0]},${place[1]}`;
  });
  return new File([["time,latitude,longitude", ...rows].join("\n")], name);
}

async function made(factory = new IDBFactory(), server?: FakeServer) {
  const told: Happening[] = [];
  const transport = server ?? new FakeServer(await makePolicy());
  const desk = new Desk({
    tell: (happening) => told.push(happening),
    own: new Own("own", factory),
    storage: new IndexedDbStorage("ledger", factory),
    transport,
    patience: PATIENCE,
  });
  await desk.open(CAMPAIGN);
  return { desk, server: transport, told, factory };
}

async function kindOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "none",
    (error: unknown) => (error instanceof Troubled ? error.trouble.kind : String(error)),
  );
}

/** What the owner sees beside the button, after looking and importing. */
async function shown(desk: Desk, visits = file()): Promise<Seen> {
  const { policyHash } = await desk.look();
  await desk.importFile(visits, "UTC");
  return { policyHash, chosen: (await desk.places()).chosen };
}

/** What the owner is shown before the button has to be pressed again, the nth time. */
async function changed(told: readonly Happening[], nth = 1): Promise<Seen> {
  for (;;) {
    const happening = told.filter(({ what }) => what === "changed")[nth - 1];
    if (happening?.what === "changed") return { policyHash: happening.looked.policyHash, chosen: happening.places.chosen };
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const methods = (server: FakeServer): string[] => server.requests.map(({ method }) => method);

describe("the desk", () => {
  test("looks, finds places and joins with four requests, what was shown being what is agreed to", async () => {
    const { desk, server } = await made();
    const looked = await desk.look();
    expect(looked.checked).toContain("Private at ε = 1 per km");
    await desk.importFile(file(), "UTC");
    const places = await desk.places();
    expect(places).toMatchObject({ frequent: 1, chosen: 12, counted: 100, leaves: { none: false, clear: false } });
    expect(places.map.regions).toHaveLength(25);
    expect(methods(server)).toEqual(["GET", "GET"]);
    const seen = { policyHash: looked.policyHash, chosen: places.chosen };
    expect((await desk.join(0, null, seen)).state).toBe("acknowledged");
    expect(methods(server)).toEqual(["GET", "GET", "POST", "PUT"]);
    const local = await desk.open(CAMPAIGN);
    expect(local).toMatchObject({ hasLedger: true, spentPerKm: 1, beforePerKm: 0, entry: { state: "acknowledged" }, name: "Winter air" });
  });

  test("begins a ledger with what its owner says was spent before, and then keeps to the cap", async () => {
    const { desk, server } = await made();
    const seen = await shown(desk);
    expect(await kindOf(desk.join(DEFAULT_CAPS.lifetimeEpsilonPerKm, null, seen))).toBe("lifetime");
    expect(methods(server)).toEqual(["GET", "GET"]);
    const { lifetimeEpsilonPerKm } = DEFAULT_CAPS;
    expect(await desk.open(CAMPAIGN)).toMatchObject({ spentPerKm: lifetimeEpsilonPerKm, beforePerKm: lifetimeEpsilonPerKm });
    expect(await kindOf(desk.look())).toBe("lifetime");
  });

  test("two desks on one device draw once, and the second sends nothing of its own", async () => {
    const one = await made();
    const two = await made(one.factory, one.server);
    await two.desk.look();
    const seen = await shown(one.desk);
    await two.desk.places();
    await Promise.all([one.desk.join(0, null, seen), two.desk.join(0, null, seen)]);
    expect(one.server.uploads.size).toBe(1);
    const bodies = one.server.requests.filter(({ method }) => method === "PUT").map(({ body }) => String(body));
    expect(new Set(bodies).size).toBe(1);
  });

  test("keeps what was drawn while nobody answers, and sends the same afterwards from a new page", async () => {
    const one = await made();
    const seen = await shown(one.desk);
    one.server.faults = (number) => (number > 3 ? "request" : null);
    expect(await kindOf(one.desk.join(0, null, seen))).toBe("no-answer");
    expect((await one.desk.open(CAMPAIGN)).entry).toMatchObject({ state: "drawn", drawn: true });
    one.server.faults = () => null;
    const two = await made(one.factory, one.server);
    expect((await two.desk.join(0, null, null)).state).toBe("acknowledged");
    expect(methods(one.server)).toEqual(["GET", "GET", "POST", "PUT", "PUT", "PUT"]);
    const bodies = one.server.requests.slice(3).map(({ body }) => String(body));
    expect(new Set(bodies).size).toBe(1);
  });

  test("shows without a network what was announced before, checked anew", async () => {
    const one = await made();
    await one.desk.look();
    const two = await made(one.factory, one.server);
    one.server.faults = () => "request";
    expect((await two.desk.look()).offlineSince).toBeGreaterThan(0);
    const stranger = await made(new IDBFactory(), one.server);
    expect(await kindOf(stranger.desk.look())).toBe("no-answer");
  });

  test("shows a round that moved on, and draws nothing without a second yes", async () => {
    const server = new FakeServer(await makePolicy());
    const { desk, told } = await made(new IDBFactory(), server);
    const seen = await shown(desk);
    const next = new FakeServer(await makePolicy({ hit: () => 1030n }));
    server.send = (request) => next.send(request);
    const joining = kindOf(desk.join(0, null, seen));
    await changed(told);
    expect(next.uploads.size).toBe(0);
    await desk.agree(null);
    expect(await joining).toBe("declined");
    expect(next.uploads.size).toBe(0);
    expect((await desk.open(CAMPAIGN)).spentPerKm).toBe(0);
  });

  test("draws from the visits that are there at the second yes, and from no others", async () => {
    const server = new FakeServer(await makePolicy());
    const { desk, told } = await made(new IDBFactory(), server);
    const seen = await shown(desk);
    const next = new FakeServer(await makePolicy({ hit: () => 1030n }));
    server.send = (request) => next.send(request);
    const joining = desk.join(0, null, seen);
    const here = await changed(told);
    expect(here).toMatchObject({ chosen: 12 });
    for (const { id } of (await desk.open(CAMPAIGN)).sources) await desk.removeSource(id);
    await desk.importFile(file("abroad.csv", ABROAD), "UTC");
    await desk.agree(here);
    const nowhere = await changed(told, 2);
    expect(nowhere).toEqual({ ...here, chosen: null });
    expect(next.uploads.size).toBe(0);
    await desk.agree(nowhere);
    expect((await joining).state).toBe("acknowledged");
    expect([...next.uploads.values()].join()).toContain("nullnull");
  });

  test("asks again when visits came or went after the page was drawn, and not when the place is the same", async () => {
    const { desk, server, told } = await made();
    const seen = await shown(desk, file("abroad.csv", ABROAD));
    expect(seen.chosen).toBeNull();
    await desk.importFile(file(), "UTC");
    const joining = desk.join(0, null, seen);
    const here = await changed(told);
    expect(here.chosen).toBe(12);
    expect(server.uploads.size).toBe(0);
    await desk.record(...HOME, 3600);
    await desk.agree(here);
    expect((await joining).state).toBe("acknowledged");
    expect([...server.uploads.values()].join()).not.toContain("null");
    expect(methods(server)).toEqual(["GET", "GET", "POST", "PUT"]);
  });

  test("keeps to the place that chance picked while visits stay", async () => {
    const { desk } = await made();
    await shown(desk);
    await desk.importFile(file("work.csv", WORK), "UTC");
    const places = await desk.places();
    expect(places.frequent).toBe(2);
    for (let again = 0; again < 20; again++) expect((await desk.places()).chosen).toBe(places.chosen);
  });

  test("stops at a pause at once, and keeps what was drawn", async () => {
    const { desk, server } = await made();
    const seen = await shown(desk);
    server.problem = { path: "/report", reply: problem(503, "paused", "The campaign is paused; send the same again later") };
    expect(await kindOf(desk.join(0, null, seen))).toBe("paused");
    expect((await desk.open(CAMPAIGN)).entry?.state).toBe("drawn");
  });

  test("reads a file once, and says what is wrong with others", async () => {
    const { desk } = await made();
    const source = await desk.importFile(file(), "UTC");
    expect(source.visits).toBe(100);
    expect(await kindOf(desk.importFile(file(), "UTC"))).toBe("same-file");
    expect(await kindOf(desk.importFile(new File([""], "a.csv"), "UTC"))).toBe("empty-file");
    expect(await kindOf(desk.importFile(new File(["a,b\n1,2"], "a.csv"), "UTC"))).toBe("broken-file");
    await desk.record(48.1, 11.5, 3600);
    const { id } = await desk.record(48.2, 11.6, 3600);
    expect((await desk.open(CAMPAIGN)).sources.map(({ visits, recorded }) => [visits, recorded])).toEqual([
      [100, false],
      [2, true],
    ]);
    await desk.removeSource(id);
    await desk.removeSource(source.id);
    expect((await desk.open(CAMPAIGN)).sources).toEqual([]);
  });

  test("deletes everything", async () => {
    const { desk, factory } = await made();
    const seen = await shown(desk);
    await desk.join(0, null, seen);
    await desk.deleteEverything();
    expect(await factory.databases()).toEqual([]);
    expect(await desk.open(CAMPAIGN)).toMatchObject({ hasLedger: false, entries: [], sources: [], known: [] });
  });

  test("limits hold from the next look on", async () => {
    const { desk } = await made();
    await desk.setCaps({ ...DEFAULT_CAPS, epsilonPerKm: 0.5 });
    expect(await kindOf(desk.look())).toBe("limits");
    await desk.setCaps(DEFAULT_CAPS);
    expect((await desk.look()).cells).toBe(25);
  });
});

test("no answer at all is not taken for a refusal", async () => {
  const server = new FakeServer(await makePolicy());
  server.send = () => Promise.reject(new NoAnswerError("no network"));
  const { desk } = await made(new IDBFactory(), server);
  expect(await kindOf(desk.look())).toBe("no-answer");
});

test("whoever else answers is not taken for a campaign whose policy fails the check", async () => {
  const portal = { status: 200, retryAfter: "", body: utf8("<!doctype html><title>Welcome</title>") };
  const { desk, server } = await made();
  server.problem = { path: "", reply: portal };
  expect(await kindOf(desk.look())).toBe("strange-answer");
  server.problem = null;
  const seen = await shown(desk);
  server.problem = { path: "/seats", reply: portal };
  expect(await kindOf(desk.join(0, null, seen))).toBe("strange-answer");
  expect((await desk.open(CAMPAIGN)).spentPerKm).toBe(0);
  server.problem = { path: "/report", reply: portal };
  expect(await kindOf(desk.join(0, null, seen))).toBe("strange-answer");
  expect((await desk.open(CAMPAIGN)).entry?.state).toBe("drawn");
  server.problem = null;
  expect((await desk.join(0, null, null)).state).toBe("acknowledged");
});

test("a full disk keeps nobody from looking, and is called one where something has to be stored", async () => {
  const factory = new IDBFactory();
  const server = new FakeServer(await makePolicy());
  const { desk } = await made(factory, server);
  const { id } = await desk.importFile(file(), "UTC");
  const full = vi.spyOn(IDBObjectStore.prototype, "put").mockImplementation(noRoom);
  vi.spyOn(IDBObjectStore.prototype, "delete").mockImplementation(noRoom);
  const { policyHash } = await desk.look();
  const seen = { policyHash, chosen: (await desk.places()).chosen };
  expect(full).toHaveBeenCalledOnce();
  expect(await kindOf(desk.join(0, null, seen))).toBe("storage-full");
  expect(server.uploads.size).toBe(0);
  for (const work of [() => desk.setCaps(DEFAULT_CAPS), () => desk.removeSource(id)]) {
    expect(troubleOf(await work().catch((error: unknown) => error)).kind).toBe("storage-full");
  }
  vi.restoreAllMocks();
});

function noRoom(): never {
  throw new DOMException("no space", "QuotaExceededError");
}

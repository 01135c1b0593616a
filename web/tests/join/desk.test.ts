import { IDBFactory } from "fake-indexeddb";
import { describe, expect, test } from "vitest";
import { DEFAULT_CAPS } from "../../src/core/caps";
import { NoAnswerError } from "../../src/core/errors";
import { IndexedDbStorage } from "../../src/core/ledger/indexeddb";
import type { Happening } from "../../src/join/messages";
import { Desk, Troubled } from "../../src/join/worker/desk";
import { Own } from "../../src/join/worker/own";
import { CAMPAIGN, FakeServer, makePolicy, problem } from "../core/helpers";

const HOME = [48.1, 11.5] as const;
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
    expect((await desk.join(0, null)).state).toBe("acknowledged");
    expect(methods(server)).toEqual(["GET", "GET", "POST", "PUT"]);
    const local = await desk.open(CAMPAIGN);
    expect(local).toMatchObject({ hasLedger: true, spentPerKm: 1, entry: { state: "acknowledged" }, name: "Winter air" });
  });

  test("begins a ledger with what its owner says was spent before, and then keeps to the cap", async () => {
    const { desk, server } = await made();
    await desk.look();
    await desk.importFile(file(), "UTC");
    await desk.places();
    expect(await kindOf(desk.join(DEFAULT_CAPS.lifetimeEpsilonPerKm, null))).toBe("lifetime");
    expect(methods(server)).toEqual(["GET", "GET"]);
    expect((await desk.open(CAMPAIGN)).spentPerKm).toBe(DEFAULT_CAPS.lifetimeEpsilonPerKm);
    expect(await kindOf(desk.look())).toBe("lifetime");
  });

  test("two desks on one device draw once, and the second sends nothing of its own", async () => {
    const one = await made();
    const two = await made(one.factory, one.server);
    for (const { desk } of [one, two]) await desk.look();
    await one.desk.importFile(file(), "UTC");
    for (const { desk } of [one, two]) await desk.places();
    await Promise.all([one.desk.join(0, null), two.desk.join(0, null)]);
    expect(one.server.uploads.size).toBe(1);
    const bodies = one.server.requests.filter(({ method }) => method === "PUT").map(({ body }) => String(body));
    expect(new Set(bodies).size).toBe(1);
  });

  test("keeps what was drawn while nobody answers, and sends the same afterwards from a new page", async () => {
    const one = await made();
    await one.desk.look();
    await one.desk.importFile(file(), "UTC");
    await one.desk.places();
    one.server.faults = (number) => (number > 3 ? "request" : null);
    expect(await kindOf(one.desk.join(0, null))).toBe("no-answer");
    expect((await one.desk.open(CAMPAIGN)).entry).toMatchObject({ state: "drawn", drawn: true });
    one.server.faults = () => null;
    const two = await made(one.factory, one.server);
    expect((await two.desk.join(0, null)).state).toBe("acknowledged");
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
    await desk.look();
    await desk.importFile(file(), "UTC");
    await desk.places();
    const next = new FakeServer(await makePolicy({ hit: () => 1030n }));
    server.send = (request) => next.send(request);
    const joining = kindOf(desk.join(0, null));
    while (!told.some(({ what }) => what === "changed")) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(next.uploads.size).toBe(0);
    await desk.agree(false);
    expect(await joining).toBe("declined");
    expect(next.uploads.size).toBe(0);
    expect((await desk.open(CAMPAIGN)).spentPerKm).toBe(0);
  });

  test("stops at a pause at once, and keeps what was drawn", async () => {
    const { desk, server } = await made();
    await desk.look();
    await desk.importFile(file(), "UTC");
    await desk.places();
    server.problem = { path: "/report", reply: problem(503, "paused", "The campaign is paused; send the same again later") };
    expect(await kindOf(desk.join(0, null))).toBe("paused");
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
    await desk.look();
    await desk.importFile(file(), "UTC");
    await desk.places();
    await desk.join(0, null);
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

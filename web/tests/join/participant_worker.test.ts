import { IDBFactory, IDBObjectStore } from "fake-indexeddb";
import { afterEach, describe, expect, test, vi } from "vitest";
import { IndexedDbStorage } from "../../src/core/client/indexeddb_storage";
import { ServerUnreachable } from "../../src/core/errors";
import { NOTHING_SPENT, wholeLimit } from "../../src/core/limits/charge";
import { DEFAULT_LIMITS } from "../../src/core/limits/privacy_limits";
import { utf8 } from "../../src/core/platform/bytes";
import { FailureError } from "../../src/join/failure";
import type { ShownChoice, WorkerEvent } from "../../src/join/messages";
import { failureOf } from "../../src/join/worker/failure";
import { LocalData } from "../../src/join/worker/local_data";
import { ParticipantWorker } from "../../src/join/worker/participant_worker";
import { CAMPAIGN, FakeServer, makePolicy, problem, SERVER, SERVER_KEY } from "../core/helpers";

const HOME = [48.1, 11.5] as const;
const WORK = [48.109, 11.5] as const;
const ABROAD = [40.7, -74] as const;
const ADDRESS = { server: SERVER, campaign: CAMPAIGN, link: null } as const;
const RETRY_POLICY = { attempts: 2, firstWaitS: 0, longestWaitS: 0 };

function file(name = "visits.csv", place: readonly [number, number] = HOME): File {
  const rows = Array.from({ length: 100 }, (_, day) => {
    return `${new Date(Date.now() - (day + 1) * 86_400_000).toISOString()},${place[0]},${place[1]}`;
  });
  return new File([["time,latitude,longitude", ...rows].join("\n")], name);
}

async function made(factory = new IDBFactory(), server?: FakeServer, begin = true) {
  const told: WorkerEvent[] = [];
  const transport = server ?? new FakeServer(await makePolicy());
  const worker = new ParticipantWorker({
    tell: (event) => told.push(event),
    localData: new LocalData("own", factory),
    storage: new IndexedDbStorage("ledger", factory),
    transportTo: () => transport,
    retryPolicy: RETRY_POLICY,
  });
  await worker.open(ADDRESS);
  if (begin) await worker.begin(NOTHING_SPENT);
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
  const { policyHash } = await worker.checkCampaign();
  await worker.importFile(visits, "UTC");
  const { picked } = await worker.pickPlace();
  return { policyHash, cell: picked?.cell ?? null, grade: picked?.grade ?? 0 };
}

/** What the owner is shown before the button has to be pressed again, the nth time. */
async function changed(told: readonly WorkerEvent[], nth = 1): Promise<ShownChoice> {
  for (;;) {
    const event = told.filter(({ what }) => what === "changed")[nth - 1];
    if (event?.what === "changed") {
      const { picked } = event.places;
      return { policyHash: event.checked.policyHash, cell: picked?.cell ?? null, grade: picked?.grade ?? 0 };
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const methods = (server: FakeServer): string[] => server.requests.map(({ method }) => method);

describe("the participant's worker", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test("looks, finds places and joins with four requests, what was shown being what is agreed to", async () => {
    const { worker, server } = await made();
    const checked = await worker.checkCampaign();
    expect(checked.explanation).toContain("Private at ε = 1 per km");
    await worker.importFile(file(), "UTC");
    expect((await worker.places()).picked).toBeNull();
    const places = await worker.pickPlace();
    expect(places).toMatchObject({ frequent: 1, counted: 100, picked: { cell: 12, grade: 0, reply: { none: false, clear: false } } });
    expect(await worker.places()).toEqual(places);
    expect(places.map.regions).toHaveLength(25);
    expect(methods(server)).toEqual(["GET", "GET"]);
    const seen = { policyHash: checked.policyHash, cell: 12, grade: 0 };
    expect((await worker.join(null, seen)).state).toBe("acknowledged");
    expect(methods(server)).toEqual(["GET", "GET", "POST", "PUT"]);
    const local = await worker.open(ADDRESS);
    expect(local).toMatchObject({ hasLedger: true, spent: { epsilonPerKm: 1, reports: 1 }, before: NOTHING_SPENT, name: "Winter air" });
    expect(local.entry).toMatchObject({ state: "acknowledged", server: SERVER, serverKey: SERVER_KEY, charge: { nullEpsilon: 2 } });
    expect(local.entry?.answer).not.toBeNull();
  });

  test("begins a ledger with what its owner says was spent before, and then keeps to the limit", async () => {
    const { worker, server } = await made(new IDBFactory(), undefined, false);
    expect((await worker.checkCampaign()).cells).toBe(25);
    const before = wholeLimit(DEFAULT_LIMITS);
    await worker.begin(before);
    await worker.begin(NOTHING_SPENT); // another tab; the first answer stays
    expect(await worker.open(ADDRESS)).toMatchObject({ spent: before, before });
    expect(await kindOf(worker.checkCampaign())).toBe("lifetime");
    expect(methods(server)).toEqual(["GET", "GET", "GET"]);
  });

  test("two workers on one device draw once, and the second sends nothing of its own", async () => {
    const one = await made();
    const two = await made(one.factory, one.server);
    await two.worker.checkCampaign();
    const seen = await shown(one.worker);
    await two.worker.places();
    await Promise.all([one.worker.join(null, seen), two.worker.join(null, seen)]);
    expect(one.server.uploads.size).toBe(1);
    const bodies = one.server.requests.filter(({ method }) => method === "PUT").map(({ body }) => String(body));
    expect(new Set(bodies).size).toBe(1);
  });

  test("keeps what was drawn while nobody answers, and sends the same afterwards from a new page", async () => {
    const one = await made();
    const seen = await shown(one.worker);
    one.server.faults = (number) => (number > 3 ? "request" : null);
    expect(await kindOf(one.worker.join(null, seen))).toBe("no-answer");
    expect((await one.worker.open(ADDRESS)).entry).toMatchObject({ state: "drawn", drawn: true });
    one.server.faults = () => null;
    const two = await made(one.factory, one.server);
    expect((await two.worker.join(null, null)).state).toBe("acknowledged");
    expect(methods(one.server)).toEqual(["GET", "GET", "POST", "PUT", "PUT", "GET", "PUT"]);
    const bodies = one.server.requests.filter(({ method }) => method === "PUT").map(({ body }) => String(body));
    expect(new Set(bodies).size).toBe(1);
  });

  test("shows without a network what was announced before, checked anew", async () => {
    const one = await made();
    await one.worker.checkCampaign();
    const two = await made(one.factory, one.server);
    one.server.faults = () => "request";
    expect((await two.worker.checkCampaign()).offlineSince).toBeGreaterThan(0);
    const stranger = await made(new IDBFactory(), one.server);
    expect(await kindOf(stranger.worker.checkCampaign())).toBe("no-answer");
  });

  test("shows a round that moved on, and draws nothing without a second yes", async () => {
    const server = new FakeServer(await makePolicy());
    const { worker, told } = await made(new IDBFactory(), server);
    const seen = await shown(worker);
    const next = new FakeServer(await makePolicy({ hit: () => 1030n }));
    next.announced = { notice: { round: 1 } };
    server.send = (request) => next.send(request);
    const joining = kindOf(worker.join(null, seen));
    await changed(told);
    expect(next.uploads.size).toBe(0);
    await worker.agree(null);
    expect(await joining).toBe("declined");
    expect(next.uploads.size).toBe(0);
    expect((await worker.open(ADDRESS)).spent).toEqual(NOTHING_SPENT);
  });

  test("refuses a server that signs two policies for one round, and draws nothing", async () => {
    const server = new FakeServer(await makePolicy());
    const { worker } = await made(new IDBFactory(), server);
    const seen = await shown(worker);
    const other = new FakeServer(await makePolicy({ hit: () => 1030n }));
    server.send = (request) => other.send(request);
    expect(await kindOf(worker.join(null, seen))).toBe("refused");
    expect(other.uploads.size).toBe(0);
  });

  test("keeps to the place that was picked, whatever visits come or go, on every page", async () => {
    const one = await made();
    const seen = await shown(one.worker);
    for (const { id } of (await one.worker.open(ADDRESS)).sources) await one.worker.removeSource(id);
    await one.worker.importFile(file("abroad.csv", ABROAD), "UTC");
    const two = await made(one.factory, one.server);
    await two.worker.checkCampaign();
    expect((await two.worker.pickPlace()).picked).toMatchObject({ cell: seen.cell, grade: seen.grade });
    expect((await one.worker.join(null, seen)).state).toBe("acknowledged");
    expect(one.told.some(({ what }) => what === "changed")).toBe(false);
  });

  test("never reports a place that was excluded, and asks again if it had been picked", async () => {
    const { worker, server, told } = await made();
    const seen = await shown(worker);
    await worker.exclude({ latitude: HOME[0], longitude: HOME[1], radiusKm: 0.25 });
    const joining = worker.join(null, seen);
    const now = await changed(told);
    expect(now.cell).toBeNull();
    expect(server.uploads.size).toBe(0);
    await worker.agree(now);
    expect((await joining).state).toBe("acknowledged");
    const local = await worker.open(ADDRESS);
    expect(local.excluded).toHaveLength(1);
    await worker.includeAgain(0);
    expect((await worker.open(ADDRESS)).excluded).toEqual([]);
  });

  test("reports occasional visitors with their grade, and those outside as outside", async () => {
    const occasional = await made();
    await occasional.worker.checkCampaign();
    await occasional.worker.importFile(new File([`time,latitude,longitude\n${new Date(Date.now() - 86_400_000 * 3).toISOString()},${WORK[0]},${WORK[1]}`], "once.csv"), "UTC");
    expect((await occasional.worker.pickPlace()).picked).toMatchObject({ cell: 17, grade: 1 });
    const outside = await made();
    expect(await shown(outside.worker, file("abroad.csv", ABROAD))).toMatchObject({ cell: null, grade: 0 });
  });

  test("leaves: the server forgets the answer, and it still counts", async () => {
    const { worker, server } = await made();
    const seen = await shown(worker);
    await worker.join(null, seen);
    expect((await worker.leave()).state).toBe("withdrawn");
    expect(server.withdrawn).toBe(1);
    expect(await worker.open(ADDRESS)).toMatchObject({ spent: { reports: 1 }, entry: { state: "withdrawn" } });
  });

  test("of a panel says which selections used the answer, and renews it when a later round is open", async () => {
    const { worker, server } = await made();
    server.announced = { terms: { panel: true, renewal_s: 86_400 } };
    const seen = await shown(worker);
    await worker.join(null, seen);
    server.selections = [3, [0, 2]];
    expect(await worker.status()).toMatchObject({ state: "selected", answers: [{ round: 0, selections: 3, chosen: [0, 2] }], renewal: null });
    expect(await kindOf(worker.renew(null, seen))).toBe("no-open-round");
    server.announced = { ...server.announced, notice: { round: 1 } };
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 });
    expect(await worker.status()).toMatchObject({ renewal: 1 });
    expect((await worker.open(ADDRESS)).panel).toBe(true);
    expect((await worker.checkCampaign()).info).toMatchObject({ panel: true, renewalS: 86_400, round: 1 });
    expect((await worker.places()).picked).toBeNull();
    const { picked } = await worker.pickPlace();
    expect(server.uploads.size).toBe(1);
    const again = { policyHash: seen.policyHash, cell: picked?.cell ?? null, grade: picked?.grade ?? 0 };
    expect(await worker.renew(null, again)).toMatchObject({ state: "acknowledged", report: 1 });
    expect(await worker.open(ADDRESS)).toMatchObject({ spent: { reports: 2 }, entry: { report: 1 } });
    expect(await worker.status()).toMatchObject({ renewal: null, answers: [{ round: 0 }, { round: 1 }] });
  });

  test("shows the answer before a renewal that found no seat, and offers the renewal again", async () => {
    const { worker, server } = await made();
    server.announced = { terms: { panel: true, renewal_s: 86_400 } };
    const seen = await shown(worker);
    await worker.join(null, seen);
    server.announced = { ...server.announced, notice: { round: 1 } };
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 86_400_000 });
    await worker.checkCampaign();
    const { picked } = await worker.pickPlace();
    server.problem = { path: "/seats", reply: problem(403, "bad-invite", "The invite is unknown or was already used") };
    const again = { policyHash: seen.policyHash, cell: picked?.cell ?? null, grade: picked?.grade ?? 0 };
    expect(await kindOf(worker.renew(null, again))).toBe("bad-invite");
    expect((await worker.open(ADDRESS)).entry).toMatchObject({ report: 0, state: "acknowledged" });
    expect((await worker.status()).renewal).toBe(1);
  });

  test("asks for nothing but the status of a campaign that is asked once", async () => {
    const { worker, server } = await made();
    await worker.join(null, await shown(worker));
    const before = server.requests.length;
    expect((await worker.status()).renewal).toBeNull();
    expect(server.requests.slice(before).map(({ path }) => path)).toEqual([`/v1/campaigns/${CAMPAIGN}/status`]);
  });

  test("moves the record of answers to another phone, which then answers instead", async () => {
    const old = await made();
    const seen = await shown(old.worker);
    await old.worker.join(null, seen);
    const text = await old.worker.exportLedger();
    expect(await old.worker.open(ADDRESS)).toMatchObject({ retired: true });
    expect(await kindOf(old.worker.checkCampaign())).toBe("ledger-moved");
    const phone = await made(new IDBFactory(), old.server, false);
    await phone.worker.importLedger(text);
    expect(await phone.worker.open(ADDRESS)).toMatchObject({ retired: false, spent: { reports: 1 }, entry: { state: "acknowledged" } });
    const third = await made(new IDBFactory(), old.server, false);
    expect(await kindOf(third.worker.importLedger(text.replace('"symbol', '"Symbol')))).toBe("broken-file");
  });

  test("stops at a pause at once, and keeps what was drawn", async () => {
    const { worker, server } = await made();
    const seen = await shown(worker);
    server.problem = { path: "/report", reply: problem(503, "paused", "The campaign is paused; send the same request again later") };
    expect(await kindOf(worker.join(null, seen))).toBe("paused");
    expect((await worker.open(ADDRESS)).entry?.state).toBe("drawn");
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
    expect((await worker.open(ADDRESS)).sources.map(({ visits, recorded }) => [visits, recorded])).toEqual([
      [100, false],
      [2, true],
    ]);
    await worker.removeSource(id);
    await worker.removeSource(source.id);
    expect((await worker.open(ADDRESS)).sources).toEqual([]);
  });

  test("deletes everything", async () => {
    const { worker, factory } = await made();
    const seen = await shown(worker);
    await worker.join(null, seen);
    await worker.deleteEverything();
    expect(await factory.databases()).toEqual([]);
    expect(await worker.open(ADDRESS)).toMatchObject({ hasLedger: false, entries: [], sources: [], known: [] });
  });

  test("limits hold from the next look on", async () => {
    const { worker } = await made();
    await worker.setLimits({ ...DEFAULT_LIMITS, epsilonPerKm: 0.5 });
    expect(await kindOf(worker.checkCampaign())).toBe("limits");
    await worker.setLimits(DEFAULT_LIMITS);
    expect((await worker.checkCampaign()).cells).toBe(25);
  });
});

test("no answer at all is not taken for a refusal", async () => {
  const server = new FakeServer(await makePolicy());
  server.send = () => Promise.reject(new ServerUnreachable("no network"));
  const { worker } = await made(new IDBFactory(), server);
  expect(await kindOf(worker.checkCampaign())).toBe("no-answer");
});

test("whoever else answers is not taken for a campaign whose policy fails the check", async () => {
  const portal = { status: 200, retryAfter: "", body: utf8("<!doctype html><title>Welcome</title>") };
  const { worker, server } = await made();
  server.problem = { path: "", reply: portal };
  expect(await kindOf(worker.checkCampaign())).toBe("unexpected-answer");
  server.problem = null;
  const seen = await shown(worker);
  server.problem = { path: "/seats", reply: portal };
  expect(await kindOf(worker.join(null, seen))).toBe("unexpected-answer");
  expect((await worker.open(ADDRESS)).spent).toEqual(NOTHING_SPENT);
  server.problem = { path: "/report", reply: portal };
  expect(await kindOf(worker.join(null, seen))).toBe("unexpected-answer");
  expect((await worker.open(ADDRESS)).entry?.state).toBe("drawn");
  server.problem = null;
  expect((await worker.join(null, null)).state).toBe("acknowledged");
});

test("a full disk keeps nobody from looking, and is called one where something has to be stored", async () => {
  const factory = new IDBFactory();
  const server = new FakeServer(await makePolicy());
  const { worker } = await made(factory, server);
  const { id } = await worker.importFile(file(), "UTC");
  const full = vi.spyOn(IDBObjectStore.prototype, "put").mockImplementation(noRoom);
  vi.spyOn(IDBObjectStore.prototype, "delete").mockImplementation(noRoom);
  expect((await worker.checkCampaign()).cells).toBe(25);
  expect(full).toHaveBeenCalledOnce();
  expect(await kindOf(worker.pickPlace())).toBe("storage-full");
  expect(await kindOf(worker.join(null, null))).toBe("storage-full");
  expect(server.uploads.size).toBe(0);
  for (const work of [() => worker.setLimits(DEFAULT_LIMITS), () => worker.removeSource(id)]) {
    expect(failureOf(await work().catch((error: unknown) => error)).kind).toBe("storage-full");
  }
  vi.restoreAllMocks();
});

function noRoom(): never {
  throw new DOMException("no space", "QuotaExceededError");
}

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DEFAULT_ENVIRONMENT, DEFAULT_SETTINGS, Device, type DeviceEnvironment } from "../../src/core/client/device";
import type { Explanation } from "../../src/core/client/explain";
import type { LedgerEntry } from "../../src/core/client/events";
import { Ledger } from "../../src/core/client/ledger";
import { MemoryStorage } from "../../src/core/client/ledger_storage";
import { ParticipantClient } from "../../src/core/client/participant_client";
import { DEFAULT_RETRY_POLICY, waitS } from "../../src/core/client/retry";
import { checkLimits, DEFAULT_LIMITS, type PrivacyLimits } from "../../src/core/limits/privacy_limits";
import type { Policy } from "../../src/core/policy/policy";
import type { Place } from "../../src/core/profile/place";
import { Visits } from "../../src/core/traces/visits";
import { NULL } from "../../src/core/vocabulary";
import { CAMPAIGN, FakeServer, KEY, makePolicy, makeStack, problem, SERVER, SERVER_KEY } from "./helpers";

const SOMEWHERE: Place = { cell: 7, grade: 0 };
const SOMETIMES: Place = { cell: 7, grade: 1 };
const NOWHERE: Place = { cell: NULL, grade: 0 };
const agreed = { agree: (): boolean => true };
const CLEAR: PrivacyLimits = { ...DEFAULT_LIMITS, clearReports: 3 };

interface Made {
  readonly device: Device;
  readonly server: FakeServer;
  readonly ledger: Ledger;
  readonly waits: number[];
}

async function made(
  policy: Policy,
  around: Partial<DeviceEnvironment> = {},
  storage = new MemoryStorage(),
  limits = DEFAULT_LIMITS,
): Promise<Made> {
  const server = new FakeServer(policy);
  const ledger = new Ledger(storage);
  if (!(await ledger.exists())) await ledger.create(limits);
  const waits: number[] = [];
  const sleep = (seconds: number): Promise<void> => {
    waits.push(seconds);
    return Promise.resolve();
  };
  const line = new ParticipantClient(server, DEFAULT_RETRY_POLICY, sleep);
  const device = new Device(DEFAULT_SETTINGS, ledger, line, SERVER, { ...DEFAULT_ENVIRONMENT, sleep, ...around });
  return { device, server, ledger, waits };
}

describe("a device", () => {
  test("joins once: announcement, policy, seat, report, and an acknowledged entry", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    const shown: Explanation[] = [];
    const entry = await device.join(CAMPAIGN, () => SOMEWHERE, { agree: (explanation) => shown.push(explanation) > 0 });
    expect(entry.state).toBe("acknowledged");
    expect(server.requests.map(({ method, path }) => `${method} ${path.slice("/v1/campaigns/winter-air".length)}`)).toEqual([
      "GET ",
      "GET /rounds/0/policy",
      "POST /seats",
      "PUT /report",
    ]);
    const said = shown[0]?.text.split("\n") ?? [];
    expect(said[0]).toBe("Campaign 'Winter air', round 1 of 3, asks for one answer.");
    expect(said[1]).toBe("The answer is about the part of the map around 48.0910, 11.5000, which you visit regularly. The place itself stays on your phone.");
    expect(said).toContain("The organiser can see that you take part, when, and from which network address.");
    expect(said.at(-1)).toBe("After this answer your limit allows 3 more campaigns like this one.");
    expect(shown[0]?.figures).toContain("Symbols to draw from: 'hit' 25.00%, 'outside' 25.00%");
    expect(shown[0]?.figures).toContain("Checked on this device: Private at ε = 1 per km");
    const summary = await device.summary();
    expect(summary.text).toContain("You have answered 1 campaign and used 25 % of your limit.");
    expect(summary.text).toContain(`winter-air at ${SERVER}: answered`);
    expect(summary.figures).toContain(`winter-air (server ${SERVER_KEY.slice(0, 12)}): ε = 1 per km, ε₀ = 2`);
    expect(await ledger.spent()).toEqual({ epsilonPerKm: 1, nullEpsilon: 2, clearReports: 0, reports: 1 });
    await device.join(CAMPAIGN, () => NOWHERE, agreed);
    expect(server.requests).toHaveLength(4);
  });

  test("sends the same bytes until an answer comes, whatever is lost on the way", async () => {
    for (let seed = 0; seed < 50; seed++) {
      let draws = 0;
      const { device, server } = await made(await makePolicy(), { randomBits: () => BigInt((draws += 1000)) });
      const faults = ["request", "reply", "busy", null] as const;
      server.faults = (number) => faults[(seed * 31 + number * 17 + ((seed * number) % 5)) % 4] ?? null;
      let entry = null;
      for (let attempt = 0; entry === null && attempt < 20; attempt++) {
        entry = await device.join(CAMPAIGN, () => SOMEWHERE, agreed).catch(() => null);
      }
      const sent = server.requests.filter(({ method }) => method === "PUT");
      expect(entry?.state).toBe("acknowledged");
      expect(draws).toBe(1000);
      expect(new Set(sent.map(({ body }) => new TextDecoder().decode(body ?? new Uint8Array()))).size).toBe(1);
      expect(new Set(sent.map(({ headers }) => headers["authorization"])).size).toBe(1);
      expect(server.uploads.size).toBe(1);
    }
  });

  test("tells nothing by what it sends: the same requests and sizes for every place and for none", async () => {
    const shapes = new Set<string>();
    for (const place of [SOMEWHERE, SOMETIMES, { cell: 24, grade: 0 }, NOWHERE]) {
      const { device, server } = await made(await makePolicy());
      await device.join(CAMPAIGN, () => place, agreed);
      shapes.add(server.requests.map(({ method, path, body }) => `${method} ${path} ${body?.length ?? 0}`).join("\n"));
    }
    expect(shapes.size).toBe(1);
  });

  test("takes part under a policy with a symbol for each target, in the order in which they were announced", async () => {
    const policy = await makeStack();
    const { device, server } = await made(policy);
    const shown: Explanation[] = [];
    const entry = await device.join(CAMPAIGN, () => SOMEWHERE, { agree: (explanation) => shown.push(explanation) > 0 });
    expect(entry.state).toBe("acknowledged");
    expect(policy.fields.symbols).toContain(entry.symbolName);
    expect(shown[0]?.text).toContain("Your phone will answer at random. In about 2 % of cases it names a place other than yours.");
    const other = await made(policy);
    other.server.announced = { terms: { targets: [7, 12] } };
    const refused = other.device.join(CAMPAIGN, () => SOMEWHERE, agreed);
    await expect(refused).rejects.toThrow("something other than what it announced");
    expect(other.server.uploads.size).toBe(0);
    expect(server.uploads.size).toBe(1);
  });

  test("outside draws like anyone; in the clear form it says so, and only if the owner's limits allow that", async () => {
    const refused = await made(await makePolicy({ clear: true }));
    await expect(refused.device.join(CAMPAIGN, () => NOWHERE, agreed)).rejects.toThrow(/asks openly whether you regularly visit/);
    const clear = await made(await makePolicy({ clear: true }), {}, new MemoryStorage(), CLEAR);
    expect((await clear.device.join(CAMPAIGN, () => NOWHERE, agreed)).symbol).toBe(-1);
    expect([...clear.server.uploads.values()][0]).toContain("nullnull");
    expect(await clear.ledger.spent()).toMatchObject({ nullEpsilon: 0, clearReports: 1 });
    const safe = await made(await makePolicy(), { randomBits: () => 5n });
    expect((await safe.device.join(CAMPAIGN, () => NOWHERE, agreed)).symbol).toBe(0);
    expect([...safe.server.uploads.values()][0]).toContain("00000000");
  });

  test("picks its place once: declining, asking again and new visits give the same one, unless it is excluded", async () => {
    const numbers = [1, 0];
    const { device, ledger } = await made(await makePolicy(), { randomBelow: () => numbers.shift() ?? 0, today: () => 20_000 });
    const checked = await device.checkCampaign(CAMPAIGN);
    const [home, work] = [checked.area.centre(3), checked.area.centre(8)];
    const visits = new Visits();
    for (let week = 1; week < 26; week++) {
      for (const { latitude, longitude } of [home, work]) {
        for (let day = 0; day < 3; day++) visits.push((20_000 - 7 * week + day) * 86_400, 0, latitude, longitude);
      }
    }
    expect(await device.place(checked, visits)).toEqual({ cell: 8, grade: 0 });
    expect(await device.place(checked, visits)).toEqual({ cell: 8, grade: 0 });
    expect(await device.place(checked, new Visits())).toEqual({ cell: 8, grade: 0 });
    await ledger.exclude({ ...work, radiusKm: 0.25 });
    expect(await device.place(checked, visits)).toEqual({ cell: 3, grade: 0 });
    await ledger.exclude({ ...home, radiusKm: 0.25 });
    expect(await device.place(checked, visits)).toEqual({ cell: NULL, grade: 0 });
  });

  test("leaves: the server forgets, the charge stays, and the campaign is not answered again", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    await device.join(CAMPAIGN, () => SOMEWHERE, agreed);
    expect((await device.leave(CAMPAIGN)).state).toBe("withdrawn");
    expect((await device.leave(CAMPAIGN)).state).toBe("withdrawn");
    expect(server.withdrawn).toBe(1);
    expect((await ledger.spent()).epsilonPerKm).toBe(1);
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/You left campaign winter-air/);
  });

  test("shows the selected no other offer than everyone was shown", async () => {
    const { device, server } = await made(await makePolicy());
    await device.join(CAMPAIGN, () => SOMEWHERE, agreed);
    expect((await device.status(CAMPAIGN)).offer).toBe("A sensor");
    server.offer = "For you: https://evil.example.org/?you";
    await expect(device.status(CAMPAIGN)).rejects.toThrow(/another offer than it announced to everyone/);
  });

  test("is told what stays, and why, if it leaves too late", async () => {
    const { device, server } = await made(await makePolicy());
    await device.join(CAMPAIGN, () => SOMEWHERE, agreed);
    server.problem = { path: "/report", reply: problem(409, "round-closed", "The round is closed; nothing was changed") };
    await expect(device.leave(CAMPAIGN)).rejects.toThrow(/too late to leave: the round is closed.*stays in the organiser's record/);
  });

  test("is silent when its owner declines: the server hears of no seat and no report", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, { agree: () => false })).rejects.toThrow(/You declined to answer campaign winter-air/);
    expect(server.requests.map(({ method }) => method)).toEqual(["GET", "GET"]);
    expect((await ledger.spent()).reports).toBe(0);
  });

  test("requests its seat at a whole number of seconds, however long the owner took", async () => {
    let now = 100;
    const { device, waits } = await made(await makePolicy(), { monotonicS: () => now });
    await device.join(CAMPAIGN, () => SOMEWHERE, { agree: () => ((now += 2.25), true) });
    expect(waits).toEqual([0.75]);
  });

  test("goes on after a crash between draw and report with the value that it drew", async () => {
    const storage = new MemoryStorage();
    const policy = await makePolicy();
    const first = await made(policy, { randomBits: () => 0n }, storage);
    first.server.problem = { path: "/report", reply: problem(503, "unavailable", "The server cannot store anything at the moment; send the same request again") };
    await expect(first.device.join(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/after 8 attempts/);
    const second = await made(policy, { randomBits: () => 4095n }, storage);
    expect((await second.device.join(CAMPAIGN, () => NOWHERE, agreed)).symbol).toBe(0);
    expect([...second.server.uploads.values()][0]).toContain("00000000");
  });

  test("keeps a refusal of the server, and counts the loss all the same", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    server.problem = { path: "/report", reply: problem(409, "round-closed", "The round is closed; nothing was changed") };
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/the server refused \(round-closed\)/);
    expect((await ledger.entry(KEY))?.state).toBe("refused");
    expect((await ledger.spent()).epsilonPerKm).toBe(1);
    const sent = server.requests.length;
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/round-closed/);
    expect(server.requests).toHaveLength(sent);
  });

  test("does not believe a receipt for another report", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    server.uploads.set(`Bearer ${(await begun(ledger, server)).secret}`, "another report");
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/receipt in campaign winter-air is for another report than yours/);
    expect((await ledger.entry(KEY))?.state).toBe("drawn");
  });
});

describe("hostile campaigns", () => {
  const PAST_THE_BOUND = (cell: number): bigint => (cell === 3 ? 200n : 1000n);

  const LINK = { server: SERVER, campaign: CAMPAIGN, invite: null, key: SERVER_KEY, termsHash: "ab".repeat(32), policyHash: null };

  test.each([
    ["a policy past its bound", { hit: PAST_THE_BOUND }, {}, /does not protect your place as well as/, /NOT private at ε = 1 per km/],
    ["other targets than announced", {}, { terms: { targets: [3] } }, /something other than what it announced/, /The policy is for targets/],
    ["too large an ε", { epsilonPerKm: 1.5 }, {}, /more about your place than your limit/, /this device accepts at most 1.38629/],
    ["too large an ε₀", { nullEpsilon: 5 }, {}, /whether you are ever in this area/, /this device accepts at most 4.15888/],
    ["too large an ε₁", { gradeEpsilon: 5 }, {}, /how regularly you visit a place/, /this device accepts at most 4.15888/],
    ["another campaign", {}, { terms: { campaign: "summer" } }, /the server answered with 'summer'/, /^$/],
    ["another policy than announced", {}, { notice: { policy_hash: "ab".repeat(32) } }, /you could be singled out/, /but (ab){32} was announced/],
    ["a notice that the server did not sign", {}, { notice: { signature: "0".repeat(128) } }, /did not sign what it announces/, /server's key/],
    ["no open round", {}, { notice: null, state: "closed" }, /is closed and has no open round/, /^$/],
    ["bare points", {}, { terms: { area: { kind: "points", centres_m: [[0, 0], [9, 9]] }, targets: [0] } }, /no latitudes and longitudes/, /kind 'points'/],
    ["an ε₀ that the policy does not keep", {}, { terms: { null_epsilon: 1 } }, /something other than/, /The policy is for null_epsilon/],
    ["a threshold that profiles cannot tell from chance", {}, { terms: { delta: 0.1 } }, /cannot tell from chance/, /no less than 0.2/],
  ] as const)("%s is refused before the server hears of the device", async (_, policy, announced, said, figures) => {
    const { device, server, ledger } = await made(await makePolicy(policy));
    server.announced = announced;
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toMatchObject({
      message: expect.stringMatching(said) as string,
      figures: expect.stringMatching(figures) as string,
    });
    expect(server.requests.every(({ method }) => method === "GET")).toBe(true);
    expect((await ledger.spent()).reports).toBe(0);
  });

  test("other terms, another key or another policy than the invite link names are refused", async () => {
    const { device, server } = await made(await makePolicy());
    const { announcement } = await device.checkCampaign(CAMPAIGN);
    const link = { ...LINK, termsHash: announcement.terms.hash };
    expect(await device.checkCampaign(CAMPAIGN, link)).toBeDefined();
    for (const [wrong, said] of [
      [LINK, /the hash of the terms differs/],
      [{ ...link, key: "cd".repeat(32) }, /the server's key differs/],
      [{ ...link, policyHash: "ef".repeat(32) }, /the policy differs/],
    ] as const) {
      await expect(device.join(CAMPAIGN, () => SOMEWHERE, { ...agreed, link: wrong })).rejects.toThrow(said);
    }
    expect(server.requests.every(({ method }) => method === "GET")).toBe(true);
  });

  test("terms that change between look and seat are refused, and nothing is drawn", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    server.seat = () => ({ terms_hash: "ab".repeat(32) });
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/other conditions than it announced to everyone/);
    expect((await ledger.spent()).reports).toBe(0);
    expect(server.uploads.size).toBe(0);
  });

  test("a report drawn for one server is not sent to another server's campaign of the same id", async () => {
    const storage = new MemoryStorage();
    const { device, server } = await made(await makePolicy(), {}, storage);
    server.problem = { path: "/report", reply: problem(503, "unavailable", "The server cannot store anything at the moment; send the same request again") };
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/after 8 attempts/);
    server.problem = null;
    server.announced = { terms: { server_key: "ab".repeat(32) }, notice: null };
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/the server's key differs/);
    expect(server.uploads.size).toBe(0);
  });
});

describe("a device in a panel", () => {
  const PANEL = { panel: true, renewal_s: 30 * 86_400 };
  const START_MS = Date.UTC(2030, 0, 1);
  /** A round of the panel, at its time. */
  const round = (number: number) => {
    vi.setSystemTime(START_MS + number * PANEL.renewal_s * 1000);
    return { terms: PANEL, notice: { round: number } };
  };
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: START_MS });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("says that one answer serves any number of selections, and that each renewal costs as much", async () => {
    const { device, server } = await made(await makePolicy());
    server.announced = round(0);
    const shown: Explanation[] = [];
    await device.join(CAMPAIGN, () => SOMEWHERE, { agree: (explanation) => shown.push(explanation) > 0 });
    const said = shown[0]?.text.split("\n") ?? [];
    expect(said[0]).toBe(
      "Panel 'Winter air' asks for one answer, which the organiser uses for any number of selections. You will be asked 2 more " +
        "times, every 30 days; each time is a new answer, costs as much as this one, and is yours to give or not.",
    );
    expect(said.at(-1)).toBe("You answer once. Being chosen later tells nobody more.");
  });

  test("is charged once, however many selections use the answer, and says which chose it", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    server.announced = round(0);
    await device.join(CAMPAIGN, () => SOMEWHERE, agreed);
    server.selections = [52, []];
    expect(await device.status(CAMPAIGN)).toMatchObject({ state: "reported", offer: null, answers: [{ round: 0, status: { selections: 52, chosen: [] } }] });
    server.selections = [53, [52]];
    expect(await device.status(CAMPAIGN)).toMatchObject({
      ...{ state: "selected", offer: "A sensor", answers: [{ round: 0, status: { selections: 53, chosen: [52] } }] },
    });
    await device.join(CAMPAIGN, () => SOMEWHERE, agreed);
    expect((await ledger.spent()).reports).toBe(1);
  });

  test("renews in a later round only, with its owner's yes, another place and another secret, charged in full", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    server.announced = round(0);
    await device.join(CAMPAIGN, () => SOMEWHERE, agreed);
    await expect(device.renew(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/nothing to renew now: your answer is still in use/);
    server.announced = round(1);
    await expect(device.renew(CAMPAIGN, () => SOMEWHERE, { agree: () => false })).rejects.toThrow(/You declined/);
    expect(server.uploads.size).toBe(1);
    const renewed = await device.renew(CAMPAIGN, () => NOWHERE, agreed);
    expect(renewed).toMatchObject({ state: "acknowledged", round: 1, key: { ...KEY, report: 1 } });
    expect(server.uploads.size).toBe(2);
    expect(await ledger.spent()).toMatchObject({ epsilonPerKm: 2, nullEpsilon: 4, reports: 2 });
    await expect(device.renew(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/nothing to renew now/);
    const asked = server.requests.length;
    expect((await device.status(CAMPAIGN)).answers.map((one) => one.round)).toEqual([0, 1]);
    const secrets = server.requests.slice(asked).map(({ headers }) => headers["authorization"]);
    expect(new Set(secrets).size).toBe(2);
  });

  test("shows the invite of its first answer again, and begins nothing without one", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    const invited = (number: number) => ({ ...round(number), terms: { ...PANEL, enrolment: "invite" } });
    server.announced = invited(0);
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/This campaign needs an invite link/);
    expect(await ledger.entries()).toEqual([]);
    await device.join(CAMPAIGN, () => SOMEWHERE, { ...agreed, invite: "mine" });
    server.announced = invited(1);
    await device.renew(CAMPAIGN, () => SOMEWHERE, agreed);
    const shown = server.requests.filter(({ path }) => path.endsWith("/seats")).map(({ body }) => new TextDecoder().decode(body ?? undefined));
    expect(shown.map((body) => (JSON.parse(body) as { invite: string }).invite)).toEqual(["mine", "mine"]);
  });

  test("goes on with a renewal that was interrupted, and draws nothing twice", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    server.announced = round(0);
    await device.join(CAMPAIGN, () => SOMEWHERE, agreed);
    server.announced = round(1);
    for (const path of ["/seats", "/report"]) {
      server.problem = { path, reply: problem(503, "unavailable", "The server cannot store anything at the moment; send the same request again") };
      await expect(device.renew(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/after 8 attempts/);
    }
    server.problem = null;
    expect((await device.renew(CAMPAIGN, () => NOWHERE, agreed)).state).toBe("acknowledged");
    expect((await ledger.spent()).reports).toBe(2);
  });

  test("refuses a panel that renews sooner than it announced, and draws nothing", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    server.announced = round(0);
    await device.join(CAMPAIGN, () => SOMEWHERE, agreed);
    for (const [number, days] of [[1, 0], [1, 26.99], [2, 56.99]] as const) {
      server.announced = round(number);
      vi.setSystemTime(START_MS + days * 86_400_000);
      await expect(device.renew(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/sooner than it announced .* can from 2030-0[12]-2[78] on/);
    }
    expect((await ledger.spent()).reports).toBe(1);
    server.announced = round(1);
    vi.setSystemTime(START_MS + 27 * 86_400_000);
    expect((await device.renew(CAMPAIGN, () => SOMEWHERE, agreed)).key.report).toBe(1);
    server.announced = round(2);
    vi.setSystemTime(START_MS + 54 * 86_400_000);
    await expect(device.renew(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/can from 2030-02-27 on/);
    expect(server.uploads.size).toBe(2);
  });

  test("refuses a panel that goes back a round, and sends nothing", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    server.announced = round(1);
    server.problem = { path: "/seats", reply: problem(503, "unavailable", "The server cannot store anything at the moment; send the same request again") };
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/after 8 attempts/);
    server.problem = null;
    server.announced = round(0);
    for (const how of ["join", "renew"] as const) {
      await expect(device[how](CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/went back to a round before the one/);
    }
    expect(server.uploads.size).toBe(0);
    expect((await ledger.spent()).reports).toBe(0);
    await ledger.begin({ ...KEY, report: 0 }, () => "earlier", { name: "", offer: "", server: device.server, termsHash: "" });
    expect((await ledger.find(CAMPAIGN, device.server))?.key.report).toBe(1);
  });

  test("does not renew what it left, nor a campaign that asks once, nor beyond its owner's limit", async () => {
    const once = await made(await makePolicy());
    await once.device.join(CAMPAIGN, () => SOMEWHERE, agreed);
    once.server.announced = { notice: { round: 1 } };
    await expect(once.device.renew(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/asks once, and you have answered it/);
    const { device, server } = await made(await makePolicy(), {}, new MemoryStorage(), { ...DEFAULT_LIMITS, totalEpsilonPerKm: 1.5 });
    server.announced = round(0);
    await device.join(CAMPAIGN, () => SOMEWHERE, agreed);
    server.announced = round(1);
    await expect(device.renew(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/limit/);
    await device.leave(CAMPAIGN);
    await expect(device.renew(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/You left campaign/);
  });

  test("that joined late answers at the address where it joined, and nowhere else", async () => {
    const storage = new MemoryStorage();
    const policy = await makePolicy();
    const first = await made(policy, {}, storage);
    first.server.announced = round(1);
    await first.device.join(CAMPAIGN, () => SOMEWHERE, agreed);
    const elsewhere = new FakeServer(policy);
    elsewhere.announced = round(2);
    const client = new ParticipantClient(elsewhere, DEFAULT_RETRY_POLICY);
    const other = new Device(DEFAULT_SETTINGS, first.ledger, client, "https://other.example.org");
    await expect(other.join(CAMPAIGN, () => SOMEWHERE, agreed)).rejects.toThrow(/joined campaign winter-air on a server at another address/);
    expect(elsewhere.uploads.size).toBe(0);
  });
});

async function begun(ledger: Ledger, server: FakeServer): Promise<LedgerEntry> {
  const termsHash = server.seat()["terms_hash"] as string;
  return ledger.begin(KEY, () => "mine", { name: "Winter air", offer: "A coffee", server: SERVER, termsHash });
}

test("limits are finite numbers above 0; where none is allowed, 0 means none", () => {
  for (const wrong of [0, -1, NaN, Infinity]) {
    expect(() => checkLimits({ ...DEFAULT_LIMITS, epsilonPerKm: wrong })).toThrow(/epsilon_per_km = .*finite number above 0/);
  }
  expect(checkLimits({ ...DEFAULT_LIMITS, clearReports: 0 })).toBeDefined();
  expect(() => checkLimits({ ...DEFAULT_LIMITS, clearReports: 0.5 })).toThrow(/clear_reports/);
});

test("waits double, are never longer than the longest, and heed what the server asked", () => {
  expect([0, 1, 2, 20].map((attempt) => waitS(DEFAULT_RETRY_POLICY, attempt, 0, 1))).toEqual([0.5, 1, 2, 60]);
  expect(waitS(DEFAULT_RETRY_POLICY, 0, 10, 0)).toBe(10);
  expect(waitS(DEFAULT_RETRY_POLICY, 0, 1000, 0)).toBe(60);
});

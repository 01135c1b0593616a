import { describe, expect, test } from "vitest";
import { DEFAULT_ENVIRONMENT, DEFAULT_SETTINGS, Device, type DeviceEnvironment } from "../../src/core/client/device";
import type { Explanation } from "../../src/core/client/explain";
import { Ledger } from "../../src/core/client/ledger";
import { MemoryStorage } from "../../src/core/client/ledger_storage";
import { ParticipantClient } from "../../src/core/client/participant_client";
import { checkLimits, DEFAULT_LIMITS } from "../../src/core/client/privacy_limits";
import { DEFAULT_RETRY_POLICY, waitS } from "../../src/core/client/retry";
import type { Policy } from "../../src/core/policy/policy";
import type { Profile } from "../../src/core/profile/profile";
import { CAMPAIGN, FakeServer, makePolicy, problem } from "./helpers";

const SOMEWHERE: Profile = new Map([[7, 0.9]]);
const NOWHERE: Profile = new Map();
const agree = (): boolean => true;

interface Made {
  readonly device: Device;
  readonly server: FakeServer;
  readonly ledger: Ledger;
  readonly waits: number[];
}

async function made(policy: Policy, around: Partial<DeviceEnvironment> = {}, storage = new MemoryStorage()): Promise<Made> {
  const server = new FakeServer(policy);
  const ledger = new Ledger(storage);
  if (!(await ledger.exists())) await ledger.create(0);
  const waits: number[] = [];
  const sleep = (seconds: number): Promise<void> => {
    waits.push(seconds);
    return Promise.resolve();
  };
  const line = new ParticipantClient(server, DEFAULT_RETRY_POLICY, sleep);
  return { device: new Device(DEFAULT_SETTINGS, ledger, line, { ...DEFAULT_ENVIRONMENT, sleep, ...around }), server, ledger, waits };
}

describe("a device", () => {
  test("joins once: announcement, policy, seat, report, and an acknowledged entry", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    const shown: Explanation[] = [];
    const entry = await device.join(CAMPAIGN, () => SOMEWHERE, (explanation) => shown.push(explanation) > 0);
    expect(entry.state).toBe("acknowledged");
    expect(server.requests.map(({ method, path }) => `${method} ${path.slice("/v1/campaigns/winter-air".length)}`)).toEqual([
      "GET ",
      "GET /rounds/0/policy",
      "POST /seats",
      "PUT /report",
    ]);
    expect(shown[0]?.text.split("\n")).toEqual([
      "Campaign 'Winter air', round 1 of 3, asks for one answer.",
      'Your phone will answer at random. From your place the most likely answer is "not near a target" (75 %).',
      "The organiser will learn whether you regularly visit anywhere in this area.",
      "Someone who thinks there is a 10 % chance that this is your place, compared with places within 500 m, can be at most 16 % sure after your answer.",
      "The organiser can see that you take part, when, and from which network address.",
      "After this answer your limit allows 3 more campaigns like this one.",
    ]);
    expect(shown[0]?.figures).toContain("Symbols to draw from: 'other' 75.00%, 'hit' 25.00%.");
    expect(shown[0]?.figures).toContain("Checked on this device: Private at ε = 1 per km");
    const summary = await device.summary();
    expect(summary.text).toContain("You have answered 1 campaign and used 25 % of your limit.");
    expect(summary.figures).toContain("winter-air: ε = 1 per km");
    expect(await ledger.spentEpsilonPerKm()).toBe(1);
    await device.join(CAMPAIGN, () => NOWHERE, agree);
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
        entry = await device.join(CAMPAIGN, () => SOMEWHERE, agree).catch(() => null);
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
    for (const profile of [SOMEWHERE, new Map([[24, 1]]), NOWHERE]) {
      const { device, server } = await made(await makePolicy());
      await device.join(CAMPAIGN, () => profile, agree);
      shapes.add(server.requests.map(({ method, path, body }) => `${method} ${path} ${body?.length ?? 0}`).join("\n"));
    }
    expect(shapes.size).toBe(1);
  });

  test("without a place says NULL in the clear, or draws like anyone where NULL is protected", async () => {
    const clear = await made(await makePolicy());
    expect((await clear.device.join(CAMPAIGN, () => NOWHERE, agree)).symbol).toBe(-1);
    expect([...clear.server.uploads.values()][0]).toContain("nullnull");
    const safe = await made(await makePolicy({ nullEpsilon: 2 }), { randomBits: () => 5n });
    expect((await safe.device.join(CAMPAIGN, () => NOWHERE, agree)).symbol).toBe(0);
    expect([...safe.server.uploads.values()][0]).toContain("00000000");
  });

  test("is silent when its owner declines: the server hears of no seat and no report", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, () => false)).rejects.toThrow(/You declined to answer campaign winter-air/);
    expect(server.requests.map(({ method }) => method)).toEqual(["GET", "GET"]);
    expect(await ledger.spentEpsilonPerKm()).toBe(0);
  });

  test("requests its seat at a whole number of seconds, however long the owner took", async () => {
    let now = 100;
    const { device, waits } = await made(await makePolicy(), { monotonicS: () => now });
    await device.join(CAMPAIGN, () => SOMEWHERE, () => ((now += 2.25), true));
    expect(waits).toEqual([0.75]);
  });

  test("goes on after a crash between draw and report with the value that it drew", async () => {
    const storage = new MemoryStorage();
    const policy = await makePolicy();
    const first = await made(policy, { randomBits: () => 0n }, storage);
    first.server.problem = { path: "/report", reply: problem(503, "unavailable", "The server cannot store anything at the moment; send the same request again") };
    await expect(first.device.join(CAMPAIGN, () => SOMEWHERE, agree)).rejects.toThrow(/after 8 attempts/);
    const second = await made(policy, { randomBits: () => 4095n }, storage);
    expect((await second.device.join(CAMPAIGN, () => NOWHERE, agree)).symbol).toBe(0);
    expect([...second.server.uploads.values()][0]).toContain("00000000");
  });

  test("keeps a refusal of the server, and counts the loss all the same", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    server.problem = { path: "/report", reply: problem(409, "round-closed", "The round is closed; the report was not counted") };
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, agree)).rejects.toThrow(/the server refused \(round-closed\)/);
    expect((await ledger.entry(CAMPAIGN))?.state).toBe("refused");
    expect(await ledger.spentEpsilonPerKm()).toBe(1);
    const sent = server.requests.length;
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, agree)).rejects.toThrow(/round-closed/);
    expect(server.requests).toHaveLength(sent);
  });

  test("does not believe a receipt for another report", async () => {
    const { device, server, ledger } = await made(await makePolicy());
    server.uploads.set(`Bearer ${(await ledger.begin(CAMPAIGN, () => "mine")).secret}`, "another report");
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, agree)).rejects.toThrow(/receipt in campaign winter-air is for another report than yours/);
    expect((await ledger.entry(CAMPAIGN))?.state).toBe("drawn");
  });
});

describe("hostile campaigns", () => {
  const PAST_THE_BOUND = (cell: number): bigint => (cell === 3 ? 200n : 1000n);

  test.each([
    ["a policy past its bound", { hit: PAST_THE_BOUND }, {}, /does not protect your place as well as/, /NOT private at ε = 1 per km/],
    ["other targets than announced", {}, { targets: [3] }, /something other than what it announced/, /The policy is for targets/],
    ["too large an ε", { epsilonPerKm: 1.5 }, {}, /more about your place than your limit/, /this device accepts at most 1.38629/],
    ["another campaign", {}, { campaign: "summer" }, /the server answered with 'summer'/, /^$/],
    ["another policy than announced", {}, { policy_hash: "ab".repeat(32) }, /you could be singled out/, /but (ab){32} was announced/],
    ["no open round", {}, { round: null, policy_hash: null, state: "closed" }, /is closed and has no open round/, /^$/],
    ["bare points", {}, { area: { kind: "points", centres_m: [[0, 0], [9, 9]] }, targets: [0] }, /no latitudes and longitudes/, /kind 'points'/],
    ["an ε₀ that the policy does not keep", {}, { null_epsilon: 2 }, /something other than/, /The policy is for null_epsilon/],
  ] as const)("%s is refused before the server hears of the device", async (_, policy, announced, said, figures) => {
    const { device, server, ledger } = await made(await makePolicy(policy));
    server.announced = announced;
    await expect(device.join(CAMPAIGN, () => SOMEWHERE, agree)).rejects.toMatchObject({
      message: expect.stringMatching(said) as string,
      figures: expect.stringMatching(figures) as string,
    });
    expect(server.requests.every(({ method }) => method === "GET")).toBe(true);
    expect(await ledger.spentEpsilonPerKm()).toBe(0);
  });
});

test("limits are finite numbers above 0; only that of NULL may be infinite", () => {
  for (const wrong of [0, -1, NaN, Infinity]) {
    expect(() => checkLimits({ ...DEFAULT_LIMITS, epsilonPerKm: wrong })).toThrow(/epsilonPerKm = .*finite number above 0/);
  }
  expect(checkLimits({ ...DEFAULT_LIMITS, nullEpsilon: Infinity })).toBeDefined();
  expect(() => checkLimits({ ...DEFAULT_LIMITS, nullEpsilon: NaN })).toThrow(/nullEpsilon/);
});

test("waits double, are never longer than the longest, and heed what the server asked", () => {
  expect([0, 1, 2, 20].map((attempt) => waitS(DEFAULT_RETRY_POLICY, attempt, 0, 1))).toEqual([0.5, 1, 2, 60]);
  expect(waitS(DEFAULT_RETRY_POLICY, 0, 10, 0)).toBe(10);
  expect(waitS(DEFAULT_RETRY_POLICY, 0, 1000, 0)).toBe(60);
});

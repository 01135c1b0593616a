import { describe, expect, test } from "vitest";
import { DEFAULT_CAPS } from "../../src/core/caps";
import { FileFormatError, NoAnswerError, NotPrivateError, Refusal } from "../../src/core/errors";
import { StrangeAnswer } from "../../src/core/line";
import { NULL, Policy } from "../../src/core/policy/policy";
import { readWeights } from "../../src/core/policy/weights";
import { campaignIn, inviteIn, typedInvite } from "../../src/join/address";
import { capsOf, comparedWithDefault, epsilonOf, faultsOf, formOf, spentBefore, timesOf } from "../../src/join/limits";
import { AGAIN_MS, isVisit, LEAST_GAP_MS, type Fix } from "../../src/join/recording";
import { leavesFrom } from "../../src/join/worker/places";
import { towerRegion } from "../../src/join/worker/shape";
import { fileTrouble, troubleOf } from "../../src/join/worker/trouble";
import { makePolicy } from "../core/helpers";

test("an address names a campaign, and an invite behind the #", () => {
  expect(campaignIn("/join/coffee-2")).toBe("coffee-2");
  expect(campaignIn("/join/coffee/")).toBe("coffee");
  for (const none of ["/join/_", "/join/", "/join/Coffee", "/join/a/b", "/console"]) expect(campaignIn(none)).toBeUndefined();
  expect(inviteIn("#invite=abc-1")).toBe("abc-1");
  expect(inviteIn("#device")).toBeUndefined();
  for (const typed of ["abc-1", " abc-1\n", "https://example.org/join/coffee#invite=abc-1 "]) expect(typedInvite(typed)).toBe("abc-1");
});

describe("recording", () => {
  const here: Fix = { latitude: 40.7, longitude: -74, accuracyM: 20, atMs: 1e12 };
  const later = (ms: number, change: Partial<Fix> = {}): Fix => ({ ...here, atMs: here.atMs + ms, ...change });

  test("a stay counts again after a while, a move sooner, a vague fix never", () => {
    expect(isVisit(here, undefined)).toBe(true);
    expect(isVisit(later(AGAIN_MS - 1), here)).toBe(false);
    expect(isVisit(later(AGAIN_MS), here)).toBe(true);
    expect(isVisit(later(LEAST_GAP_MS, { latitude: 40.702 }), here)).toBe(true);
    expect(isVisit(later(LEAST_GAP_MS, { latitude: 40.7005 }), here)).toBe(false);
    expect(isVisit(later(LEAST_GAP_MS - 1, { latitude: 40.8 }), here)).toBe(false);
    expect(isVisit(later(AGAIN_MS, { accuracyM: 5000 }), here)).toBe(false);
  });
});

describe("limits", () => {
  test("are said as factors, and the defaults come back to the last bit", () => {
    expect(formOf(DEFAULT_CAPS)).toMatchObject({ times: 4, lifetimeTimes: 64, nullTimes: null });
    expect(capsOf(formOf(DEFAULT_CAPS), DEFAULT_CAPS, DEFAULT_CAPS)).toEqual(DEFAULT_CAPS);
    expect(timesOf(Math.log(8))).toBe(8);
    expect(epsilonOf(8, DEFAULT_CAPS.epsilonPerKm)).toBe(Math.log(8));
  });

  test("stricter and looser are told apart, whichever way a limit points", () => {
    expect(comparedWithDefault("epsilonPerKm", 1, DEFAULT_CAPS)).toBe("stricter");
    expect(comparedWithDefault("lifetimeEpsilonPerKm", 9, DEFAULT_CAPS)).toBe("looser");
    expect(comparedWithDefault("cellKm", 1, DEFAULT_CAPS)).toBe("stricter");
    expect(comparedWithDefault("leastCells", 4, DEFAULT_CAPS)).toBe("looser");
    expect(comparedWithDefault("nullEpsilon", 2, DEFAULT_CAPS)).toBe("stricter");
    expect(comparedWithDefault("gapKm", 5, DEFAULT_CAPS)).toBe("default");
  });

  test("what makes no sense is named by field", () => {
    const form = { times: 1, lifetimeTimes: null, cellKm: 0, gapKm: -1, leastCells: 1.5, nullTimes: 0 };
    expect(Object.keys(faultsOf(form)).sort()).toEqual(Object.keys(form).sort());
    expect(faultsOf(formOf(DEFAULT_CAPS))).toEqual({});
  });
});

test("campaigns before this ledger are counted in whole numbers from 1", () => {
  const { epsilonPerKm, lifetimeEpsilonPerKm } = DEFAULT_CAPS;
  expect(spentBefore("new", null, DEFAULT_CAPS)).toBe(0);
  expect(spentBefore("unknown", null, DEFAULT_CAPS)).toBe(lifetimeEpsilonPerKm);
  expect(spentBefore("some", 2, DEFAULT_CAPS)).toBe(2 * epsilonPerKm);
  for (const campaigns of [-5, 0, 0.5, null, Infinity]) expect(spentBefore("some", campaigns, DEFAULT_CAPS)).toBeNull();
});

test("errors are sorted by what a person can do about them", () => {
  const kinds: [Error, string][] = [
    [new NotPrivateError("NOT private at ε = 1 per km"), "refused"],
    [new Refusal("the seat is in round 2 under another policy"), "refused"],
    [new StrangeAnswer("GET /x: the answer makes no sense: cut"), "strange-answer"],
    [new Refusal("the campaign announces ε = 2 per km; this device accepts at most 1.4"), "limits"],
    [new Refusal("the area has 4 cells; this device hides among no fewer than 16"), "limits"],
    [new Refusal("the lifetime cap is ε = 4 per km; 4 are spent"), "lifetime"],
    [new NoAnswerError("no answer"), "no-answer"],
    [new FileFormatError("the ledger was altered at event 2; nothing is said on its word"), "ledger-altered"],
    [new FileFormatError("the ledger cannot be stored: Quota exceeded"), "storage-full"],
    [new DOMException("denied", "SecurityError"), "storage-blocked"],
    [new DOMException("", "QuotaExceededError"), "storage-full"],
    [new TypeError("x is undefined"), "failed"],
  ];
  for (const [error, kind] of kinds) expect(troubleOf(error).kind).toBe(kind);
  expect(fileTrouble(new FileFormatError("a.csv: is empty; expected")).kind).toBe("empty-file");
  expect(fileTrouble(new FileFormatError("a.csv: holds no rows; expected")).kind).toBe("empty-file");
  expect(fileTrouble(new FileFormatError("a.gpx: is not well-formed XML")).kind).toBe("broken-file");
});

test("what leaves is the odds of the place; NULL in the clear has none, a protected one has", async () => {
  const clear = await makePolicy();
  expect(leavesFrom(clear, 7)).toEqual({
    none: false,
    clear: false,
    odds: [
      { name: "hit", share: 0.25, selecting: true },
      { name: "other", share: 0.75, selecting: false },
    ],
    others: [],
  });
  expect(leavesFrom(clear, NULL)).toMatchObject({ none: true, clear: true, odds: [] });
  expect(leavesFrom(await makePolicy({ nullEpsilon: 2 }), NULL)).toMatchObject({ none: true, clear: false, odds: [{}, {}] });
});

test("the odds of being selected are always listed, however many symbols there are", async () => {
  const { fields } = await makePolicy();
  const symbols = ["a", "b", "c", "d", "e", "f", "hit", "g"];
  const row = [512n, 512n, 512n, 512n, 512n, 512n, 256n]; // and 768n of "g"
  const wide = { ...fields, symbols, weights: readWeights(Array.from({ length: 25 }, () => row), 8, 12) };
  const { odds, others } = leavesFrom(new Policy({ ...wide, selecting: [6] }), 7);
  expect(odds.map(({ name }) => name)).toEqual(["hit", "g", "a", "b", "c"]);
  expect(others).toEqual([{ symbols: 3, share: 0.375, selecting: false }]);
  expect(leavesFrom(new Policy({ ...wide, selecting: [0, 1, 2, 3, 4, 5] }), 7).others).toEqual([
    { symbols: 1, share: 0.125, selecting: true },
    { symbols: 2, share: 0.25, selecting: false },
  ]);
});

test("a tower's region ends halfway to its neighbours and at its reach", () => {
  const area = { xM: Float64Array.of(0, 1000), yM: Float64Array.of(0, 0), cells: 2 };
  const region = towerRegion(area, 0, 2000);
  expect(Math.max(...region.map(([x]) => x))).toBeCloseTo(500, 6);
  expect(Math.min(...region.map(([x]) => x))).toBeCloseTo(-2000, 6);
});

import { describe, expect, test } from "vitest";
import { towerRegion } from "../../src/core/area/regions";
import {
  CampaignRefused,
  EmptyFile,
  FileFormatError,
  LedgerAltered,
  LedgerRetired,
  LimitReached,
  NotPrivateError,
  OutsideLimits,
  OwnerDeclined,
  ServerUnreachable,
  UnexpectedAnswer,
} from "../../src/core/errors";
import { NOTHING_SPENT, wholeLimit } from "../../src/core/limits/charge";
import { DEFAULT_LIMITS } from "../../src/core/limits/privacy_limits";
import { readColumns, withLast } from "../../src/core/policy/encoding";
import { Policy } from "../../src/core/policy/policy";
import { NULL } from "../../src/core/vocabulary";
import { campaignIn, inviteIn, linkedAddress, ownAddress, typedInvite, typedLink } from "../../src/join/address";
import { comparedWithDefault, epsilonOf, faultsOf, formOf, limitsOf, spentEarlier, timesOf } from "../../src/join/limits";
import { AGAIN_MS, isVisit, MIN_GAP_MS, type Fix } from "../../src/join/recording";
import { failureOf, fileFailure } from "../../src/join/worker/failure";
import { replyPreview } from "../../src/join/worker/frequent_places";
import { makePolicy } from "../core/helpers";

test("an address names a campaign, and an invite behind the #", () => {
  expect(campaignIn("/join/coffee-2")).toBe("coffee-2");
  expect(campaignIn("/join/coffee/")).toBe("coffee");
  for (const none of ["/join/_", "/join/", "/join/Coffee", "/join/a/b", "/console"]) expect(campaignIn(none)).toBeUndefined();
  expect(inviteIn("#invite=abc-1")).toBe("abc-1");
  expect(inviteIn("#device")).toBeUndefined();
  for (const typed of ["abc-1", " abc-1\n", "https://example.org/join/coffee#invite=abc-1 "]) expect(typedInvite(typed)).toBe("abc-1");
});

describe("links", () => {
  const [KEY, TERMS] = ["ab".repeat(32), "cd".repeat(32)];
  const SAID = `invite=abc-1&key=${KEY}&terms=${TERMS}`;

  test("on a server's own page name key and terms, or nothing; half a link is refused", () => {
    expect(ownAddress("https://a.example", "/join/coffee", "")).toMatchObject({ campaign: "coffee", link: null, wrong: "" });
    expect(ownAddress("https://a.example", "/join/coffee", "#invite=abc-1")).toMatchObject({ link: null, wrong: "" });
    const { link } = ownAddress("https://a.example", "/join/coffee", `#${SAID}`);
    expect(link).toMatchObject({ server: "https://a.example", campaign: "coffee", key: KEY, termsHash: TERMS, policyHash: null });
    expect(ownAddress("https://a.example", "/join/coffee", `#key=${KEY}`).wrong).toContain("link terms");
    expect(ownAddress("https://a.example", "/join/coffee", `#invite=1&key=${KEY}&terms=12`).wrong).not.toBe("");
  });

  test("on an exported page name the server, which has to be one of those the page connects to", () => {
    const href = `https://page.example/#server=https://a.example&campaign=coffee&${SAID}`;
    expect(linkedAddress(href, [])).toMatchObject({ server: "https://a.example", campaign: "coffee", wrong: "" });
    expect(linkedAddress(href, ["https://a.example"]).wrong).toBe("");
    expect(linkedAddress(href, ["https://b.example"]).wrong).toContain("connects to https://b.example only");
    expect(linkedAddress(href.replace("https://a.example", "http://a.example"), []).wrong).toContain("https://");
    expect(typedLink(href)?.campaign).toBe("coffee");
    expect(typedLink("abc-1")).toBeNull();
  });
});

describe("recording", () => {
  const here: Fix = { latitude: 40.7, longitude: -74, accuracyM: 20, atMs: 1e12 };
  const later = (ms: number, change: Partial<Fix> = {}): Fix => ({ ...here, atMs: here.atMs + ms, ...change });

  test("a stay counts again after a while, a move sooner, a vague fix never", () => {
    expect(isVisit(here, undefined)).toBe(true);
    expect(isVisit(later(AGAIN_MS - 1), here)).toBe(false);
    expect(isVisit(later(AGAIN_MS), here)).toBe(true);
    expect(isVisit(later(MIN_GAP_MS, { latitude: 40.702 }), here)).toBe(true);
    expect(isVisit(later(MIN_GAP_MS, { latitude: 40.7005 }), here)).toBe(false);
    expect(isVisit(later(MIN_GAP_MS - 1, { latitude: 40.8 }), here)).toBe(false);
    expect(isVisit(later(AGAIN_MS, { accuracyM: 5000 }), here)).toBe(false);
  });
});

describe("limits", () => {
  test("are said as factors, and the defaults come back to the last bit", () => {
    expect(formOf(DEFAULT_LIMITS)).toMatchObject({ times: 4, totalTimes: 64, nullTimes: 64, gradeTimes: 64, totalNullTimes: 262144 });
    expect(limitsOf(formOf(DEFAULT_LIMITS), DEFAULT_LIMITS, DEFAULT_LIMITS)).toEqual(DEFAULT_LIMITS);
    expect(timesOf(Math.log(8))).toBe(8);
    expect(epsilonOf(8, DEFAULT_LIMITS.epsilonPerKm)).toBe(Math.log(8));
  });

  test("stricter and looser are told apart, whichever way a limit points", () => {
    expect(comparedWithDefault("epsilonPerKm", 1, DEFAULT_LIMITS)).toBe("stricter");
    expect(comparedWithDefault("totalEpsilonPerKm", 9, DEFAULT_LIMITS)).toBe("looser");
    expect(comparedWithDefault("span", "twelve-months", DEFAULT_LIMITS)).toBe("looser");
    expect(comparedWithDefault("delta", 0.5, DEFAULT_LIMITS)).toBe("stricter");
    expect(comparedWithDefault("cellKm", 1, DEFAULT_LIMITS)).toBe("stricter");
    expect(comparedWithDefault("minCells", 4, DEFAULT_LIMITS)).toBe("looser");
    expect(comparedWithDefault("nullEpsilon", 2, DEFAULT_LIMITS)).toBe("stricter");
    expect(comparedWithDefault("gapKm", 5, DEFAULT_LIMITS)).toBe("default");
  });

  test("what makes no sense is named by field", () => {
    const losses = { times: 1, totalTimes: null, nullTimes: 0, gradeTimes: -1, totalNullTimes: NaN };
    const form = { ...losses, cellKm: 0, gapKm: -1, minCells: 1.5, cellsWithin2Km: 0, clearReports: -1, delta: 1 };
    expect(Object.keys(faultsOf({ ...form, span: "lifetime" })).sort()).toEqual(Object.keys(form).sort());
    expect(faultsOf(formOf(DEFAULT_LIMITS))).toEqual({});
  });
});

test("campaigns before this ledger are counted in whole numbers from 1", () => {
  const { epsilonPerKm, nullEpsilon } = DEFAULT_LIMITS;
  expect(spentEarlier("new", null, DEFAULT_LIMITS)).toEqual(NOTHING_SPENT);
  expect(spentEarlier("unknown", null, DEFAULT_LIMITS)).toEqual(wholeLimit(DEFAULT_LIMITS));
  const twice = { epsilonPerKm: 2 * epsilonPerKm, nullEpsilon: 2 * nullEpsilon, clearReports: 0, reports: 2 };
  expect(spentEarlier("some", 2, DEFAULT_LIMITS)).toEqual(twice);
  for (const campaigns of [-5, 0, 0.5, null, Infinity]) expect(spentEarlier("some", campaigns, DEFAULT_LIMITS)).toBeNull();
});

test("errors are sorted by what a person can do about them", () => {
  const kinds: [Error, string][] = [
    [new NotPrivateError("NOT private at ε = 1 per km"), "refused"],
    [new CampaignRefused("the seat is in round 2 under another policy"), "refused"],
    [new UnexpectedAnswer("GET /x: the server's answer is not valid: cut"), "unexpected-answer"],
    [new OutsideLimits("the campaign announces ε = 2 per km"), "limits"],
    [new LimitReached("4 are spent"), "lifetime"],
    [new OwnerDeclined("nothing was drawn or sent"), "declined"],
    [new ServerUnreachable("no answer"), "no-answer"],
    [new LedgerAltered("at event 2"), "ledger-altered"],
    [new LedgerRetired("moved"), "ledger-moved"],
    [new FileFormatError("the ledger cannot be stored: Quota exceeded"), "storage-full"],
    [new DOMException("denied", "SecurityError"), "storage-blocked"],
    [new DOMException("", "QuotaExceededError"), "storage-full"],
    [new TypeError("x is undefined"), "failed"],
  ];
  for (const [error, kind] of kinds) expect(failureOf(error).kind).toBe(kind);
  expect(failureOf(new LimitReached("No.", "ε = 4"))).toMatchObject({ message: "No.", figures: "ε = 4" });
  expect(fileFailure(new EmptyFile("a.csv: is empty")).kind).toBe("empty-file");
  expect(fileFailure(new FileFormatError("a.gpx: is not well-formed XML")).kind).toBe("broken-file");
});

test("what leaves is drawn by the chances of the place; NULL in the clear is not drawn, a protected one is", async () => {
  const clear = await makePolicy({ clear: true });
  const preview = (policy: Policy, cell: number) => replyPreview(policy, policy.area, { cell, grade: 0 }, policy);
  expect(preview(clear, 7)).toMatchObject({
    text: 'Your phone will answer at random. From your place the most likely answer is "not near a target" (75 %).',
    figures: expect.stringContaining("Symbols to draw from: 'other' 75.00%, 'hit' 25.00%.") as string,
    none: false,
    clear: false,
    chances: [
      { answer: "near a target", share: 0.25, selecting: true },
      { answer: "not near a target", share: 0.75, selecting: false },
    ],
    others: [],
  });
  expect(preview(clear, NULL)).toMatchObject({ none: true, clear: true, chances: [] });
  expect(preview(await makePolicy(), NULL)).toMatchObject({ none: true, clear: false, chances: [{}, {}, {}, {}] });
});

test("the likeliest answers that count towards being selected, and of the others, are always listed", async () => {
  const { fields } = await makePolicy({ clear: true });
  const preview = (policy: Policy) => replyPreview(policy, policy.area, { cell: 7, grade: 0 }, policy);
  const symbols = ["a", "b", "c", "d", "e", "f", "hit", "g"];
  const row = [512n, 512n, 512n, 512n, 512n, 512n, 256n]; // and 768n of "g"
  const wide = { ...fields, symbols, weights: withLast([readColumns(Array.from({ length: 25 }, () => row), 7)], 12) };
  const { chances, others } = preview(new Policy({ ...wide, selecting: [6] }));
  expect(chances.map(({ answer }) => answer)).toEqual(["near a target", "g", "a", "b", "c"]);
  expect(others).toEqual([{ symbols: 3, share: 0.375, selecting: false }]);
  const many = preview(new Policy({ ...wide, selecting: [0, 1, 2, 3, 4, 5] }));
  expect(many.chances.map(({ answer }) => answer)).toEqual(["a", "b", "c", "g", "near a target"]);
  expect(many.others).toEqual([{ symbols: 3, share: 0.375, selecting: true }]);
});

test("a tower's region ends halfway to its neighbours and at its reach", () => {
  const area = { xM: Float64Array.of(0, 1000), yM: Float64Array.of(0, 0), cells: 2 };
  const region = towerRegion(area, 0, 2000);
  expect(Math.max(...region.map(([x]) => x))).toBeCloseTo(500, 6);
  expect(Math.min(...region.map(([x]) => x))).toBeCloseTo(-2000, 6);
});

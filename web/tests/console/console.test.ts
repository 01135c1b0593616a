import { describe, expect, test } from "vitest";
import { describeUnused } from "../../src/console/campaign/answers_in_use";
import { checkRequest, requestOf, wantedIn, type RequestFields } from "../../src/console/campaign/panel_request";
import { pauseBefore } from "../../src/console/campaign/pauses";
import { readSelection } from "../../src/console/campaign/table";
import { campaignPath, readRoute } from "../../src/console/route";
import { checkArea, checkOffer, checkPrivacyAndSize, checkRules, Form } from "../../src/console/wizard/form.svelte";
import type { AreaShape } from "../../src/core/wire/area";
import { peopleWanted, placeName, type RoundView } from "../../src/core/wire/operator";

const shape: AreaShape = {
  area: { kind: "grid" },
  centres: [
    [0.5, 0.5],
    [0.5, 1.5],
  ],
  regions: [0, 1].map((west) => [
    [0, west],
    [0, west + 1],
    [1, west + 1],
    [1, west],
  ]),
  nearest_neighbour_km: 111,
};

test("addresses lead to the list, the wizard or one campaign, and nowhere else", () => {
  expect(readRoute("")).toEqual({ at: "list" });
  expect(readRoute("#/new")).toEqual({ at: "new" });
  expect(readRoute(campaignPath("coffee-2"))).toEqual({ at: "campaign", id: "coffee-2" });
  expect(readRoute("#/campaigns/../secrets")).toEqual({ at: "nowhere" });
});

test("a campaign is asked after often while it moves, seldom while it rests, and never once finished", () => {
  expect(pauseBefore("open", 0)).toBeLessThan(pauseBefore("paused", 0) ?? 0);
  expect(pauseBefore("finished", 0)).toBeUndefined();
  expect(pauseBefore("finished", 1)).toBeGreaterThan(0);
  expect(pauseBefore("open", 20)).toBe(30_000);
});

test("the exported selection is read back, and another table is refused", () => {
  expect(readSelection('place,name,latitude,longitude,participant,chance,chosen\n2,"Zoo, north",40.7,-74,12,0.25,filled\n')).toEqual([
    { place: 2, name: "Zoo, north", participant: 12, chance: 0.25, chosen: "filled" },
  ]);
  expect(() => readSelection("a,b\n1,2\n")).toThrow("other columns");
});

test("α is counted as the server counts it: halves to the even number, at least one", () => {
  expect(peopleWanted({ panel: false, wanted: null, share: 0.05, users: 50, numbers: null })).toBe(2);
  expect(peopleWanted({ panel: false, wanted: null, share: 0.05, users: 70, numbers: null })).toBe(4);
  expect(peopleWanted({ panel: false, wanted: null, share: 0.001, users: 10, numbers: null })).toBe(1);
  expect(peopleWanted({ panel: false, wanted: 7, share: null, users: 10, numbers: null })).toBe(7);
  expect(peopleWanted({ panel: false, wanted: null, share: null, users: 10, numbers: [3, 2] })).toBe(5);
});

test("places count from 1, and have names where there are some", () => {
  expect(placeName({ target_names: null }, 0)).toBe("1");
  expect(placeName({ target_names: ["Library", "Zoo"] }, 1)).toBe("2 (Zoo)");
});

test("a panel whose answers were renewed says whose it no longer uses", () => {
  const round = (number: number, accepted: number, state: RoundView["state"] = "closed"): RoundView => ({
    ...{ number, accepted, state, policy_hash: null, size: null, deadline: null, seated: accepted, refused: {} },
  });
  expect(describeUnused([round(0, 40)])).toBe("");
  expect(describeUnused([round(0, 40), round(1, 0)])).toBe("");
  expect(describeUnused([round(0, 40), round(1, 2)])).toMatch(/answers of round 2 only.*no longer use the 40 of round 1/);
  expect(describeUnused([round(0, 40), round(1, 2, "open")])).toBe("Once round 2 is closed, selections use only its answers.");
});

describe("what is asked of a panel", () => {
  const FIELDS: RequestFields = { howMany: "any", wanted: 4, each: 3, own: { 7: 1 }, atMost: null, withinDays: null, otherCells: false };
  const PLACES = new Set([5, 7]);

  test("is so many people in all, at each place, or a number for each", () => {
    expect(requestOf(FIELDS, [5, 7], PLACES)).toMatchObject({ targets: [5, 7], wanted: 4, numbers: null, at_most: null, other_cells: false });
    expect(requestOf({ ...FIELDS, howMany: "each" }, [5, 7], PLACES)).toMatchObject({ wanted: null, numbers: [3, 3] });
    const own = requestOf({ ...FIELDS, howMany: "own" }, [5, 7], PLACES);
    expect(own).toMatchObject({ wanted: null, numbers: [3, 1] });
    expect(own && wantedIn(own)).toBe(4);
    expect(requestOf({ ...FIELDS, atMost: 2, withinDays: 30 }, [5], PLACES)).toMatchObject({ at_most: 2, within_s: 2_592_000 });
    expect(requestOf({ ...FIELDS, withinDays: 30 }, [5], PLACES)).toMatchObject({ at_most: null, within_s: null });
  });

  test("waits for places, for right numbers, and for a yes to places that are not the panel's", () => {
    expect(requestOf(FIELDS, [], PLACES)).toBeUndefined();
    expect(requestOf({ ...FIELDS, wanted: null }, [5], PLACES)).toBeUndefined();
    expect(requestOf(FIELDS, [5, 6], PLACES)).toBeUndefined();
    expect(requestOf({ ...FIELDS, otherCells: true }, [5, 6], PLACES)).toMatchObject({ other_cells: true });
    expect(checkRequest({ ...FIELDS, howMany: "own", own: { 7: null } }, [5, 7])).toHaveProperty("own 7");
    expect(checkRequest({ ...FIELDS, howMany: "each", each: 1.5, atMost: 0, withinDays: 0 }, [5])).toEqual({
      each: expect.stringContaining("whole number") as string,
      atMost: expect.stringContaining("whole number") as string,
      withinDays: expect.stringContaining("above 0") as string,
    });
  });
});

test("the form of a panel asks how often it renews, not how many to select", () => {
  const { fields } = new Form();
  const panel = { ...fields, panel: true, sharePercent: 0, rounds: 0 };
  expect(checkPrivacyAndSize(panel)).toEqual({});
  expect(checkPrivacyAndSize({ ...panel, renewalDays: null })).toEqual({});
  expect(checkPrivacyAndSize({ ...panel, timesAsked: 2, renewalDays: null })).toHaveProperty("renewalDays");
  expect(checkPrivacyAndSize({ ...panel, timesAsked: 0 })).toHaveProperty("timesAsked");
  expect(checkRules({ ...panel, timesAsked: 2, renewalDays: 2, deadlineHours: 48 })).toEqual({});
  expect(checkRules({ ...panel, timesAsked: 2, renewalDays: 2, deadlineHours: 49 })).toHaveProperty("deadlineHours");
  expect(checkRules({ ...panel, renewalDays: 2, deadlineHours: 49 })).toEqual({});
});

test("a form names what is wrong by field", () => {
  const { fields } = new Form();
  expect(checkArea({ ...fields, north: 40, south: 41 })).toHaveProperty("north");
  expect(checkArea({ ...fields, cellKm: 0.02 })["cellKm"]).toContain("cells");
  expect(checkArea({ ...fields, kind: "towers" })).toHaveProperty("towers");
  expect(checkArea({ ...fields, east: 190 })["east"]).toContain("-180 to 180");
  expect(checkPrivacyAndSize({ ...fields, users: 2.5 })).toHaveProperty("users");
  expect(checkPrivacyAndSize({ ...fields, users: 3, rounds: 6 })["rounds"]).toContain("no more rounds");
  expect(Object.keys(checkOffer(fields, ""))).toEqual(["name", "id", "offer"]);
  expect(Object.keys(checkRules({ ...fields, deadlineHours: -1, delta: 2 }))).toEqual(["deadlineHours", "delta"]);
  expect(checkRules({ ...fields, protection: "protected", nullFactor: 1 })).toHaveProperty("nullFactor");
  expect(checkOffer({ ...fields, name: "x", offer: "é".repeat(1600) }, "x")["offer"]).toContain("3,000");
});

test("targets stay where they are when the cells change", () => {
  const form = new Form();
  form.shape = shape;
  form.fields.spots = [
    [0.2, 0.2],
    [0.4, 0.4],
    [5, 5],
  ];
  expect(form.targets).toEqual([0]);
  form.toggle(1);
  expect(form.targets).toEqual([0, 1]);
  form.toggle(0);
  expect(form.targets).toEqual([1]);
  expect(form.fields.spots).toHaveLength(2);
  expect(form.plan?.targets).toEqual([1]);
  form.shape = { ...shape, regions: shape.regions.slice(0, 1), centres: shape.centres.slice(0, 1) };
  expect(form.plan).toBeUndefined();
});

test("a plan says α as a number of people, and a missing deadline as none", () => {
  const form = new Form();
  form.shape = shape;
  form.fields.spots = [[0.5, 0.5]];
  form.fields.deadlineHours = null;
  expect(form.plan).toMatchObject({ wanted: 30, share: null, deadline_s: null, null_epsilon: Math.log(64), grade_epsilon: Math.log(8), enrolment: "invite" });
  form.fields.gradeFactor = 16;
  expect(form.plan?.grade_epsilon).toBeCloseTo(Math.log(4));
  form.fields.delta = 0.2; // two grades: the default threshold below it is not below 0.2
  expect(form.plan?.grade_epsilon).toBeCloseTo(Math.log(16));
  form.fields.nullFactor = 16;
  form.fields.deadlineHours = 1.5;
  expect(form.plan?.null_epsilon).toBeCloseTo(Math.log(16));
  expect(form.plan?.deadline_s).toBe(5400);
  form.fields.nullFactor = 1;
  expect(form.plan).toBeUndefined();
  form.fields.protection = "clear";
  expect(form.plan).toMatchObject({ null_epsilon: null, grade_epsilon: null });
  form.fields.epsilon = null;
  expect(form.plan).toBeUndefined();
});

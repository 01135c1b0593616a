import { expect, test } from "vitest";
import { pauseBefore } from "../../src/console/campaign/pauses";
import { readSelection } from "../../src/console/campaign/table";
import { campaignPath, readRoute } from "../../src/console/route";
import { checkArea, checkOffer, checkPrivacyAndSize, checkRules, Form } from "../../src/console/wizard/form.svelte";
import type { AreaShape } from "../../src/core/wire/area";
import { peopleWanted } from "../../src/core/wire/operator";

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
  expect(readSelection("rank,participant,round,symbol,chance\n0,12,3,0,0.25\n")).toEqual([
    { rank: 0, participant: 12, round: 3, symbol: 0, chance: 0.25 },
  ]);
  expect(() => readSelection("a,b\n1,2\n")).toThrow("other columns");
});

test("α is counted as the server counts it: halves to the even number, at least one", () => {
  expect(peopleWanted({ wanted: null, share: 0.05, users: 50 })).toBe(2);
  expect(peopleWanted({ wanted: null, share: 0.05, users: 70 })).toBe(4);
  expect(peopleWanted({ wanted: null, share: 0.001, users: 10 })).toBe(1);
  expect(peopleWanted({ wanted: 7, share: null, users: 10 })).toBe(7);
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
  expect(form.plan).toMatchObject({ wanted: 30, share: null, deadline_s: null, null_epsilon: Math.log(64), grade_epsilon: Math.log(64), enrolment: "invite" });
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

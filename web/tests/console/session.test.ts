import { expect, test, vi } from "vitest";

const kept = new Map([
  ["crowdveil-token", "a-token"],
  ["crowdveil-plan", "{}"],
]);
vi.stubGlobal("sessionStorage", {
  getItem: (key: string) => kept.get(key) ?? null,
  removeItem: (key: string) => kept.delete(key),
  clear: () => kept.clear(),
});
const { RequestRefused } = await import("../../src/console/api");
const { session } = await import("../../src/console/session.svelte");

test("a token that ends takes no plan with it; who signs out leaves nothing behind", () => {
  session.noticed(new RequestRefused({ type: "/problems/invalid", title: "", status: 422, detail: "" }));
  expect(session.api).toBeDefined();
  session.noticed(new RequestRefused({ type: "/problems/unauthorized", title: "", status: 401, detail: "" }));
  expect([session.api, session.ended]).toEqual([undefined, true]);
  expect([...kept.keys()]).toEqual(["crowdveil-plan"]);
  session.signOut();
  expect(session.ended).toBe(false);
  expect(kept.size).toBe(0);
});

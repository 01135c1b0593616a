import { describe, expect, test } from "vitest";
import { certify } from "../../src/core/certify/checker";
import { draw } from "../../src/core/draw";
import { newSecret, secureBelow, secureBits } from "../../src/core/platform/random";
import { NULL } from "../../src/core/vocabulary";
import { makePolicy } from "./helpers";

describe("drawing", () => {
  test("gives each symbol exactly its weight over all 4,096 tapes, for a cell and for NULL", async () => {
    const policy = await makePolicy({ hit: (cell) => BigInt(1000 + cell) });
    const certificate = certify(policy);
    for (const [place, weight] of [
      [3, 1003],
      [NULL, 1024],
    ] as const) {
      let hits = 0;
      for (let tape = 0n; tape < 4096n; tape++) hits += Number(draw(policy, place, certificate, () => tape) === 0);
      expect(hits).toBe(weight);
    }
  });

  test("is refused without a certificate of this very policy, at the ε it states", async () => {
    const policy = await makePolicy();
    const other = await makePolicy({ hit: () => 7n });
    expect(() => draw(policy, 0, certify(other))).toThrow(/certify this policy/);
    expect(() => draw(policy, 0, certify(policy, 2))).toThrow(/certify what it states/);
    const broken = await makePolicy({ hit: (cell) => (cell === 0 ? 1n : 2000n) });
    expect(() => draw(broken, 0, certify(broken))).toThrow(/nothing is drawn from it. NOT private/);
  });

  test("refuses places that do not exist, and generators that are broken", async () => {
    const policy = await makePolicy({ clear: true });
    const certificate = certify(policy);
    for (const place of [NULL, 25, 0.5]) expect(() => draw(policy, place, certificate)).toThrow(/cell = /);
    for (const bad of [-1n, 4096n]) expect(() => draw(policy, 0, certificate, () => bad)).toThrow(/randomBits\(12\)/);
  });

  test("takes its bits from the secure generator: all of them, evenly", () => {
    const ones = Array.from({ length: 62 }, () => 0);
    const rounds = 4000;
    for (let k = 0; k < rounds; k++) {
      const bits = secureBits(62).toString(2).padStart(62, "0");
      ones.forEach((count, i) => (ones[i] = count + Number(bits[i] === "1")));
    }
    // Six standard deviations.
    for (const count of ones) expect(Math.abs(count - rounds / 2)).toBeLessThan(3 * Math.sqrt(rounds));
    const seen = new Set(Array.from({ length: 500 }, () => secureBelow(5)));
    expect([...seen].sort()).toEqual([0, 1, 2, 3, 4]);
    expect(secureBelow(1)).toBe(0);
    expect(newSecret()).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });
});

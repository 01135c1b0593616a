import { expect, test } from "vitest";
import type { LatLon } from "../../src/core/area/plane";
import type { AreaShape } from "../../src/core/wire/area";
import { boundsOf, cellAt, sizeKm } from "../../src/shared/cells";
import { colourAt, luminance, niceAbove, position, shareAt, stops } from "../../src/shared/colours";

const square = (south: number, west: number): LatLon[] => [
  [south, west],
  [south, west + 1],
  [south + 1, west + 1],
  [south + 1, west],
];
const shape: AreaShape = {
  area: {},
  centres: [
    [0.5, 0.5],
    [0.5, 1.5],
  ],
  regions: [square(0, 0), square(0, 1)],
  nearest_neighbour_km: 111,
};

test("a place is in the cell whose corners surround it, or in none", () => {
  expect(cellAt(shape, [0.2, 0.9])).toBe(0);
  expect(cellAt(shape, [0.9, 1.1])).toBe(1);
  expect(cellAt(shape, [1.1, 0.5])).toBeUndefined();
  expect(boundsOf(shape)).toEqual([0, 0, 1, 2]);
});

test("a place is found on either side of the antimeridian, from whichever side it is counted", () => {
  const across: AreaShape = { ...shape, regions: [square(0, 179.5), square(0, 180.5)] };
  expect(cellAt(across, [0.5, 179.6])).toBe(0);
  expect(cellAt(across, [0.5, -179.6])).toBe(0);
  expect(cellAt(across, [0.5, -179.4])).toBe(1);
  expect(cellAt(across, [0.5, 179.4])).toBeUndefined();
});

test("bounds have a size on the ground", () => {
  const [width, height] = sizeKm([59.5, 10, 60.5, 11]);
  expect(height).toBeCloseTo(111.2, 0);
  expect(width).toBeCloseTo(55.6, 0);
});

test("lightness alone tells more from less, in the light and in the dark", () => {
  const light = stops(false).map(luminance);
  const dark = stops(true).map(luminance);
  expect(light).toEqual([...light].sort((one, other) => other - one));
  expect(dark).toEqual([...dark].sort((one, other) => one - other));
  const range = (all: number[]) => (Math.max(...all) + 0.05) / (Math.min(...all) + 0.05);
  expect(range(light)).toBeGreaterThan(7);
  expect(range(dark)).toBeGreaterThan(7);
});

test("the scale ends where it should, and its legend agrees with it", () => {
  expect(colourAt(0, false)).toBe("rgb(233 245 240)");
  expect(colourAt(2, false)).toBe(colourAt(1, false));
  for (const spread of ["even", "root"] as const) {
    for (const place of [0, 0.25, 0.5, 1]) expect(position(0.2 * shareAt(place, spread), 0.2, spread)).toBeCloseTo(place);
  }
  expect([0.013, 0.2, 0.5001, 0.9, 1].map(niceAbove)).toEqual([0.02, 0.2, 1, 1, 1]);
});

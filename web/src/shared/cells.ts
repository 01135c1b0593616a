// Which cell a place is in, by the corners that the map draws.

import type { LatLon } from "../core/area/plane";
import type { AreaShape, Bounds } from "../core/wire/area";

/** The number of the cell that holds a place; undefined outside of the area. */
export function cellAt(shape: AreaShape, spot: LatLon): number | undefined {
  const found = shape.regions.findIndex((region) => holds(region, spot));
  return found < 0 ? undefined : found;
}

function holds(region: readonly LatLon[], [latitude, east]: LatLon): boolean {
  let inside = false;
  let before = region[region.length - 1];
  // Cells across the antimeridian have corners beyond ±180; the place is counted from the same side.
  const longitude = east - 360 * Math.round((east - (before?.[1] ?? east)) / 360);
  for (const corner of region) {
    if (before !== undefined && corner[0] > latitude !== before[0] > latitude) {
      const share = (latitude - corner[0]) / (before[0] - corner[0]);
      if (longitude < corner[1] + share * (before[1] - corner[1])) inside = !inside;
    }
    before = corner;
  }
  return inside;
}

/** The smallest bounds around all cells. */
export function boundsOf(shape: AreaShape): Bounds {
  let [south, west, north, east] = [90, 360, -90, -360];
  for (const region of shape.regions) {
    for (const [latitude, longitude] of region) {
      south = Math.min(south, latitude);
      north = Math.max(north, latitude);
      west = Math.min(west, longitude);
      east = Math.max(east, longitude);
    }
  }
  return [south, west, north, east];
}

const KM_PER_DEGREE = 111.195;

/** Width and height of bounds in km, along their middle. */
export function sizeKm([south, west, north, east]: Bounds): readonly [width: number, height: number] {
  const shrink = Math.cos((((south + north) / 2) * Math.PI) / 180);
  return [(east - west) * KM_PER_DEGREE * shrink, (north - south) * KM_PER_DEGREE];
}

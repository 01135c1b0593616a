// Keep places out of every report for good, such as the owner's home.
//
// An excluded place is a circle. Visits inside it are dropped before the profile is made, and the cells that contain its middle,
// or whose own middle lies in it, are never reported: other visits in the same cell would report it after all.

import { OUTSIDE, type Area } from "../area/area";
import { checkDegrees, Plane } from "../area/plane";
import { InputError } from "../errors";

export const DEFAULT_RADIUS_KM = 0.25;
const MAX_RADIUS_KM = 100;

/** A circle from which nothing is ever reported. */
export interface ExcludedPlace {
  readonly latitude: number;
  readonly longitude: number;
  readonly radiusKm: number;
}

export function checkExcluded(place: ExcludedPlace): ExcludedPlace {
  checkDegrees(place.latitude, place.longitude);
  if (!(place.radiusKm > 0 && place.radiusKm <= MAX_RADIUS_KM)) {
    throw new InputError("radius_km", place.radiusKm, `should be above 0 and at most ${MAX_RADIUS_KM}`);
  }
  return place;
}

/** Whether a point lies inside. */
export function isInside(place: ExcludedPlace, latitude: number, longitude: number): boolean {
  return within(planeOf(place), place.radiusKm, latitude, longitude);
}

/** All cells of a map that are never reported. */
export function excludedCells(area: Area, places: readonly ExcludedPlace[]): Set<number> {
  const cells = new Set<number>();
  for (const place of places) {
    const plane = planeOf(place);
    for (let cell = 0; cell < area.cells; cell++) {
      const { latitude, longitude } = area.centre(cell);
      if (within(plane, place.radiusKm, latitude, longitude)) cells.add(cell);
    }
    const own = area.locate(place.latitude, place.longitude);
    if (own !== OUTSIDE) cells.add(own);
  }
  return cells;
}

function planeOf({ latitude, longitude }: ExcludedPlace): Plane {
  return new Plane(Math.round(latitude * 1e7), Math.round(longitude * 1e7));
}

function within(plane: Plane, radiusKm: number, latitude: number, longitude: number): boolean {
  // A point too far away for the plane is not inside.
  const metres = plane.toMetres(latitude, longitude);
  return metres !== null && Math.hypot(metres.x, metres.y) <= 1000 * radiusKm;
}

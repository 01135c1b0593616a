// The local plane: ground metres east and north of an origin.
//
// A point of the WGS84 ellipsoid is projected orthogonally onto the plane that touches it at the origin (see "The local
// plane" in docs/reference/file-formats.md). Distances in the plane never exceed those on the ground, so a policy that is
// private in the plane is private on the ground.

import { InputError } from "../errors";

const SEMI_MAJOR_M = 6_378_137;
const FLATTENING = 1 / 298.257223563;
const ECCENTRICITY_SQUARED = FLATTENING * (2 - FLATTENING);
const MIN_CURVATURE_RADIUS_M = SEMI_MAJOR_M * (1 - ECCENTRICITY_SQUARED);
/** Areas whose distances would be more than 0.5 % short are refused. */
const MAX_SHORTENING = 0.005;
export const MAX_RADIUS_M = MIN_CURVATURE_RADIUS_M * Math.sqrt(1 - (1 - MAX_SHORTENING) ** 2);
const RADIANS = Math.PI / 180;

type Vector = readonly [number, number, number];

export interface Metres {
  readonly x: number;
  readonly y: number;
}

export type LatLon = readonly [latitude: number, longitude: number];

export interface Degrees {
  readonly latitude: number;
  readonly longitude: number;
}

export class Plane {
  private readonly east: Vector;
  private readonly north: Vector;
  private readonly up: Vector;
  private readonly origin: Vector;

  constructor(
    readonly latitudeE7: number,
    readonly longitudeE7: number,
  ) {
    checkDegrees(latitudeE7 / 1e7, longitudeE7 / 1e7);
    const latitude = (latitudeE7 / 1e7) * RADIANS;
    const longitude = (longitudeE7 / 1e7) * RADIANS;
    this.up = normal(latitude, longitude);
    this.east = [-Math.sin(longitude), Math.cos(longitude), 0];
    this.north = cross(this.up, this.east);
    this.origin = surface(latitude, longitude);
  }

  /** Metres east and north of the origin, or null for a point so far away that the plane says nothing of it. */
  toMetres(latitude: number, longitude: number): Metres | null {
    checkDegrees(latitude, longitude);
    const [lat, lon] = [latitude * RADIANS, longitude * RADIANS];
    if (!(dot(normal(lat, lon), this.up) >= 1 - 2 * MAX_SHORTENING)) return null;
    const point = surface(lat, lon);
    const offset: Vector = [point[0] - this.origin[0], point[1] - this.origin[1], point[2] - this.origin[2]];
    return { x: dot(offset, this.east), y: dot(offset, this.north) };
  }

  /** Where the vertical through a point of the plane meets the ellipsoid. */
  toDegrees(x: number, y: number): Degrees {
    const foot = [0, 1, 2].map(
      (k) => (this.origin[k] as number) + x * (this.east[k] as number) + y * (this.north[k] as number),
    ) as unknown as Vector;
    const scale: Vector = [1 / SEMI_MAJOR_M, 1 / SEMI_MAJOR_M, 1 / (SEMI_MAJOR_M * (1 - FLATTENING))];
    const f: Vector = [foot[0] * scale[0], foot[1] * scale[1], foot[2] * scale[2]];
    const u: Vector = [this.up[0] * scale[0], this.up[1] * scale[1], this.up[2] * scale[2]];
    const [a, b, c] = [dot(u, u), dot(f, u), dot(f, f) - 1];
    const height = -c / (b + Math.sqrt(b * b - a * c));
    const q: Vector = [foot[0] + height * this.up[0], foot[1] + height * this.up[1], foot[2] + height * this.up[2]];
    const latitude = Math.atan2(q[2], (1 - ECCENTRICITY_SQUARED) * Math.hypot(q[0], q[1]));
    return { latitude: latitude / RADIANS, longitude: Math.atan2(q[1], q[0]) / RADIANS };
  }
}

export function checkDegrees(latitude: number, longitude: number): void {
  if (!(Math.abs(latitude) <= 90)) {
    const expected = "should lie between -90 and 90 degrees (are latitude and longitude swapped?)";
    throw new InputError("latitude", latitude, expected);
  }
  if (!(Math.abs(longitude) <= 180)) {
    throw new InputError("longitude", longitude, "should lie between -180 and 180 degrees");
  }
}

function normal(lat: number, lon: number): Vector {
  return [Math.cos(lat) * Math.cos(lon), Math.cos(lat) * Math.sin(lon), Math.sin(lat)];
}

function surface(lat: number, lon: number): Vector {
  const primeVertical = SEMI_MAJOR_M / Math.sqrt(1 - ECCENTRICITY_SQUARED * Math.sin(lat) ** 2);
  const [x, y, z] = normal(lat, lon);
  return [primeVertical * x, primeVertical * y, primeVertical * z * (1 - ECCENTRICITY_SQUARED)];
}

function dot(one: Vector, two: Vector): number {
  return one[0] * two[0] + one[1] * two[1] + one[2] * two[2];
}

function cross(a: Vector, b: Vector): Vector {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

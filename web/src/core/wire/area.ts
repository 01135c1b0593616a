// How the console requests an area, and what it needs to draw one, as crowdveil.wire.area defines them on the server.

import type { LatLon } from "../area/plane";

export type Bounds = readonly [south: number, west: number, north: number, east: number];
export type AreaDescription = Readonly<Record<string, unknown>>;

export interface AreaRequest {
  protocol: number;
  bounds?: Bounds;
  cell_km?: number;
  resolution?: number;
  towers?: readonly LatLon[];
  reach_km?: number;
  area?: AreaDescription;
}

export interface AreaShape {
  area: AreaDescription;
  centres: readonly LatLon[];
  regions: readonly (readonly LatLon[])[];
  nearest_neighbour_km: number;
}

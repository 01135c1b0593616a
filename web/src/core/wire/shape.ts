// Areas as the console draws them, as crowdveil.wire.shape defines them on the server.

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

export interface RoundEstimate {
  round: number;
  prior: readonly number[];
  expected_coverage: number;
}

// Voronoi regions of cell towers: a place belongs to the nearest centre within reach.

import { required, wholeNumber, wholePair, wholePairs, type JsonObject } from "../codec";
import { checkMetres, OUTSIDE, splitPairs, type AreaGeometry } from "./area";
import { Nearest } from "./nearest";
import { Plane } from "./plane";

const MAX_REACH_M = 1_000_000;

export function readTowers(description: JsonObject): AreaGeometry {
  const get = (field: string) => required("area of kind towers", description, field);
  const towersE7 = wholePairs("towers_e7", get("towers_e7"));
  const reachM = wholeNumber("reach_m", get("reach_m"), 1, MAX_REACH_M);
  const plane = new Plane(...wholePair("origin_e7", get("origin_e7")));
  const claimed = wholePairs("centres_m", get("centres_m"));
  checkMetres(
    claimed,
    plane,
    towersE7.map(([latitude, longitude]) => [latitude / 1e7, longitude / 1e7] as const),
  );
  const [xM, yM] = splitPairs(claimed);
  const nearest = new Nearest(xM, yM);
  return {
    xM,
    yM,
    plane,
    locate(latitude, longitude) {
      const place = plane.toMetres(latitude, longitude);
      const near = place === null ? null : nearest.find(place.x, place.y);
      return near !== null && near.distanceM <= reachM ? near.cell : OUTSIDE;
    },
  };
}

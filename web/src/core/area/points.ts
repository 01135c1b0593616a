// Bare points of a plane, for studies and tests; a device refuses them, because nothing ties them to the ground.

import { InputError } from "../errors";
import { required, wholePairs } from "../fields";
import type { JsonObject } from "../json";
import { split, type Kind } from "./area";

export function readPoints(description: JsonObject): Kind {
  const [xM, yM] = split(wholePairs("centres_m", required("area of kind points", description, "centres_m")));
  return {
    xM,
    yM,
    plane: null,
    locate() {
      throw new InputError("area", "points", "has no latitude and longitude; use a grid, hexagons or towers");
    },
  };
}

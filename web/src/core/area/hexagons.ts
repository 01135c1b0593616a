// H3 hexagons of one resolution. The H3 library is large, so it is loaded only when a campaign uses hexagons.

import { asList, required, wholeNumber, wholePair, wholePairs, type JsonObject } from "../codec";
import { FileFormatError, InputError } from "../errors";
import { checkMetres, OUTSIDE, splitPairs, type AreaGeometry } from "./area";
import { checkDegrees, Plane } from "./plane";

const ID = /^[0-9a-f]{15}$/;

export async function readHexagons(description: JsonObject): Promise<AreaGeometry> {
  const h3 = await import("h3-js");
  const get = (field: string) => required("area of kind hexagons", description, field);
  const resolution = wholeNumber("resolution", get("resolution"), 0, 15);
  const cellOf = new Map<string, number>();
  const ids = asList("cells", get("cells")).map((id, cell) => {
    if (typeof id !== "string" || !ID.test(id) || !h3.isValidCell(id)) {
      throw new InputError("cells", id, "should be an H3 cell id: 15 digits and letters a to f");
    }
    const found = h3.getResolution(id);
    if (found !== resolution) {
      throw new FileFormatError(`resolution = ${resolution}: its cell ${id} is of resolution ${found}`);
    }
    cellOf.set(id, cell);
    return id;
  });
  const plane = new Plane(...wholePair("origin_e7", get("origin_e7")));
  const claimed = wholePairs("centres_m", get("centres_m"));
  checkMetres(
    claimed,
    plane,
    ids.map((id) => h3.cellToLatLng(id)),
  );
  const [xM, yM] = splitPairs(claimed);
  return {
    xM,
    yM,
    plane,
    locate(latitude, longitude) {
      checkDegrees(latitude, longitude);
      return cellOf.get(h3.latLngToCell(latitude, longitude, resolution)) ?? OUTSIDE;
    },
  };
}

// Square cells of the local plane, row by row from the south-west; a square owns its southern and western edges.

import { required, wholeNumber, wholeNumbers, wholePair, type JsonObject } from "../codec";
import { FileFormatError, InputError } from "../errors";
import { MAX_CELLS, OUTSIDE, type AreaGeometry } from "./area";
import { MAX_RADIUS_M, Plane } from "./plane";

const MAX_CELL_M = 10_000_000;

export function readGrid(description: JsonObject): AreaGeometry {
  const get = (field: string) => required("area of kind grid", description, field);
  const rows = wholeNumber("rows", get("rows"), 1, MAX_CELLS);
  const columns = wholeNumber("columns", get("columns"), 1, MAX_CELLS);
  const squares = rows * columns;
  if (squares > MAX_CELLS) throw new FileFormatError(`rows x columns = ${squares}: at most ${MAX_CELLS} cells`);
  const plane = new Plane(...wholePair("origin_e7", get("origin_e7")));
  const cellM = wholeNumber("cell_m", get("cell_m"), 1, MAX_CELL_M);
  const [firstX, firstY] = wholePair("first_centre_m", get("first_centre_m"));
  const kept = description.has("kept") ? wholeNumbers("kept", description.get("kept")) : null;
  if (kept?.some((square, i) => square < 0 || square >= squares || (i > 0 && square <= (kept[i - 1] as number)))) {
    throw new FileFormatError("kept: should be increasing numbers of squares of this grid");
  }
  const cells = kept ?? Array.from({ length: squares }, (_, square) => square);
  const xM = Float64Array.from(cells, (square) => firstX + (square % columns) * cellM);
  const yM = Float64Array.from(cells, (square) => firstY + Math.floor(square / columns) * cellM);
  checkReach(xM, yM, Math.max(Math.abs(firstX), Math.abs(firstY)), (rows + columns) * cellM);
  const cellOf = kept === null ? null : new Map(kept.map((square, cell) => [square, cell]));
  return {
    xM,
    yM,
    plane,
    locate(latitude, longitude) {
      const place = plane.toMetres(latitude, longitude);
      if (place === null) return OUTSIDE;
      const column = Math.floor((place.x - firstX) / cellM + 0.5);
      const row = Math.floor((place.y - firstY) / cellM + 0.5);
      if (!(column >= 0 && column < columns && row >= 0 && row < rows)) return OUTSIDE;
      const square = row * columns + column;
      return cellOf === null ? square : (cellOf.get(square) ?? OUTSIDE);
    },
  };
}

function checkReach(xM: Float64Array, yM: Float64Array, firstM: number, extentM: number): void {
  let farX = 0;
  let farY = 0;
  for (const x of xM) farX = Math.max(farX, Math.abs(x));
  for (const y of yM) farY = Math.max(farY, Math.abs(y));
  if (firstM > MAX_RADIUS_M || extentM > 4 * MAX_RADIUS_M || Math.hypot(farX, farY) > MAX_RADIUS_M) {
    const limit = `a grid reaches at most ${Math.round(MAX_RADIUS_M / 1000)} km from its middle`;
    throw new InputError("bounds", [farX, farY], limit);
  }
}

// Refuse maps that, with the maps of earlier reports, would tell more than each of them.
//
// Every report rounds a place to the cells of its own map. On grids shifted against each other, two points 250 m apart can be a
// cell apart in every one of them: three reports at ln 4 on shifted 2 km grids may differ by e^2.8 where the ledger says e^1.0.
// So a device answers only on maps whose cells fit into one another, or that do not overlap:
//
//     the same map                                     the same cells
//     squares of one lattice                           same plane, corners that coincide, sizes that divide one another
//     H3 hexagons                                      one public lattice for each resolution
//     maps that share no place                         nothing to combine

import type { Area } from "../area/area";
import type { Json } from "../codec";
import { FileFormatError, OutsideLimits } from "../errors";
import { NOT_TAKING_PART, regionSizesKm } from "./map_checks";

const E7 = 10_000_000;
/** Never more than a degree of latitude measures, so that boxes are never too small. */
const METRES_PER_DEGREE = 110_000;
/** Beyond this latitude a box goes all the way round. */
const POLAR_DEGREES = 85;

/** What is kept of a map that a report was drawn on: enough to tell whether another one fits; whole numbers only. */
export interface Lattice {
  readonly kind: string;
  /** Hash of the map's description. */
  readonly digest: string;
  /** Origin of the plane. */
  readonly originE7: readonly [number, number];
  /** Side of a square; 0 for other kinds. */
  readonly cellM: number;
  /** A corner of the squares in half metres, less than the side of one; zeros for other kinds. */
  readonly cornerHalfM: readonly [number, number];
  /** South, west, north and east of everything that belongs to the map, in 1e-7 degrees; east may exceed 180. */
  readonly boxE7: readonly [number, number, number, number];
}

/** The lattice of a map with latitudes and longitudes. */
export async function latticeOf(area: Area): Promise<Lattice> {
  if (area.plane === null) throw new FileFormatError("a map without latitudes and longitudes has no lattice");
  const originE7 = [area.plane.latitudeE7, area.plane.longitudeE7] as const;
  let [cellM, cornerHalfM]: [number, readonly [number, number]] = [0, [0, 0]];
  if (area.kind === "grid") {
    cellM = area.wholeIn("cell_m");
    const [x, y] = area.pairIn("first_centre_m");
    cornerHalfM = [remainder(2 * x - cellM, 2 * cellM), remainder(2 * y - cellM, 2 * cellM)];
  }
  return { kind: area.kind, digest: area.digest, originE7, cellM, cornerHalfM, boxE7: await boxE7(area) };
}

/** A lattice as a JSON object. */
export function latticeFields(lattice: Lattice): Record<string, string | number | readonly number[]> {
  const { kind, digest, originE7, cellM, cornerHalfM, boxE7 } = lattice;
  return { kind, digest, origin_e7: originE7, cell_m: cellM, corner_half_m: cornerHalfM, box_e7: boxE7 };
}

/** Read a lattice from a JSON object. */
export function readLattice(value: Json | undefined): Lattice {
  const fields = ["kind", "digest", "origin_e7", "cell_m", "corner_half_m", "box_e7"];
  if (!(value instanceof Map) || value.size !== fields.length) throw unreadable();
  const wholes = (field: string, size: number): number[] => {
    const list = value.get(field);
    if (!Array.isArray(list) || list.length !== size) throw unreadable();
    return list.map(whole);
  };
  const [kind, digest] = [value.get("kind"), value.get("digest")];
  if (typeof kind !== "string" || typeof digest !== "string") throw unreadable();
  return {
    kind,
    digest,
    originE7: wholes("origin_e7", 2) as [number, number],
    cellM: whole(value.get("cell_m")),
    cornerHalfM: wholes("corner_half_m", 2) as [number, number],
    boxE7: wholes("box_e7", 4) as [number, number, number, number],
  };
}

function whole(value: Json | undefined): number {
  if (typeof value !== "bigint") throw unreadable();
  return Number(value);
}

function unreadable(): FileFormatError {
  return new FileFormatError("the lattice of an earlier map cannot be read");
}

/** Whether reports on both maps reveal no more together than their charges say. */
export function compatible(one: Lattice, other: Lattice): boolean {
  if (one.digest === other.digest || disjoint(one, other)) return true;
  if (one.kind === "hexagons" && other.kind === "hexagons") return true;
  if (one.kind !== "grid" || other.kind !== "grid") return false;
  if (one.originE7[0] !== other.originE7[0] || one.originE7[1] !== other.originE7[1]) return false;
  const [fine, coarse] = one.cellM <= other.cellM ? [one, other] : [other, one];
  if (coarse.cellM % fine.cellM !== 0) return false;
  return [0, 1].every((axis) => {
    const apart = (coarse.cornerHalfM[axis] as number) - (fine.cornerHalfM[axis] as number);
    return remainder(apart, 2 * fine.cellM) === 0;
  });
}

/** Refuse a map that does not fit one of those that earlier reports were drawn on. */
export function checkLattice(lattice: Lattice, earlier: readonly Lattice[]): void {
  const odd = earlier.find((one) => !compatible(lattice, one));
  if (odd === undefined) return;
  throw new OutsideLimits(
    "This campaign's map overlaps one that you answered on before, and is divided in another way. Both answers together " +
      `could tell more than your limit allows. ${NOT_TAKING_PART}`,
    `The map ${lattice.digest.slice(0, 12)} does not fit the map ${odd.digest.slice(0, 12)}; this device accepts maps that ` +
      "do not overlap, squares of one lattice whose sizes divide one another, or H3 hexagons.",
  );
}

function disjoint(one: Lattice, other: Lattice): boolean {
  const [south, west, north, east] = one.boxE7;
  const [otherSouth, otherWest, otherNorth, otherEast] = other.boxE7;
  if (north < otherSouth || otherNorth < south) return true;
  // How far the other's west side lies east of this one's, and the other way round, around the globe.
  const turn = 360 * E7;
  return remainder(otherWest - west, turn) > east - west && remainder(west - otherWest, turn) > otherEast - otherWest;
}

/** A box around all places that belong to any cell, never too small. */
async function boxE7(area: Area): Promise<Lattice["boxE7"]> {
  const centres = Array.from({ length: area.cells }, (_, cell) => area.centre(cell));
  // The corners of a square or hexagon lie nearer to its centre than the side of a square as large as itself.
  const marginM = area.kind === "towers" ? area.wholeIn("reach_m") : 1000 * largest(await regionSizesKm(area));
  const margin = marginM / METRES_PER_DEGREE;
  const latitudes = centres.map(({ latitude }) => latitude);
  const [south, north] = [-largest(latitudes.map((one) => -one)), largest(latitudes)];
  const widest = Math.max(Math.abs(south - margin), Math.abs(north + margin));
  let [west, east] = [-180, 180];
  if (widest < POLAR_DEGREES) {
    const anchor = (centres[0] as { longitude: number }).longitude;
    const offsets = centres.map(({ longitude }) => remainder(longitude - anchor + 180, 360) - 180);
    const wider = margin / Math.cos((widest * Math.PI) / 180);
    west = anchor - largest(offsets.map((one) => -one)) - wider;
    east = anchor + largest(offsets) + wider;
  }
  return [Math.floor((south - margin) * E7), Math.floor(west * E7), Math.ceil((north + margin) * E7), Math.ceil(east * E7)];
}

function largest(values: Iterable<number>): number {
  let most = -Infinity;
  for (const value of values) most = Math.max(most, value);
  return most;
}

/** The remainder with the sign of the divisor, as Python's. */
function remainder(value: number, divisor: number): number {
  const left = value % divisor;
  return left < 0 ? left + divisor : left + 0; // never -0, which is written differently
}

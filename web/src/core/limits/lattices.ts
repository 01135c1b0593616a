// Refuse maps that, with the maps of earlier reports, would tell more than each of them.
//
// Every report rounds a place to the cells of its own map. On grids shifted against each other, two points 250 m apart can be a
// cell apart in every one of them: three reports at ln 4 on shifted 2 km grids may differ by e^2.8 where the ledger says e^1.0.
// So a device answers only on maps whose cells fit into one another, or that do not overlap:
//
//     the same map                 the same cells
//     squares of one lattice       same plane, corners that coincide, sizes that divide one another; see below
//     maps that share no place     nothing to combine
//
// H3 hexagons of two resolutions do not nest, so hexagons, like towers, fit only themselves.
//
// Edges combine too: whoever is in one map and outside of another is told apart by ε₀ in each of both reports. So the maps on one
// lattice are laid over each other, and every patch, the ground that lies in the same ones of them, must consist of connected
// pieces as large as the smallest map that the owner's limits allow.

import type { Area } from "../area/area";
import type { Json } from "../codec";
import { FileFormatError, OutsideLimits } from "../errors";
import { general } from "../formatting";
import { NOT_TAKING_PART, regionSizesKm, ROUNDING } from "./map_checks";
import type { PrivacyLimits } from "./privacy_limits";

const E7 = 10_000_000;
/**
 * Never more metres of the plane than a degree of latitude measures, so that boxes are never too small: on the ground it is at
 * least 110,500 m, of which the plane shows at least 99 %.
 */
const METRES_PER_DEGREE = 109_000;
/** Beyond this latitude a box goes all the way round. */
const POLAR_DEGREES = 85;
/** A map of more rectangles than this fits only itself, and maps that share no place with it. */
const MAX_RECTANGLES = 2_000;
/** Maps that divide each other into more rectangles than this are refused. */
const MAX_PATCHES = 1_000_000;

/** West, south, east and north, in half metres of the plane. */
export type Rectangle = readonly [number, number, number, number];

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
  /** The ground that the squares cover, as rectangles that do not overlap; empty for other kinds, and for maps of very many. */
  readonly groundHalfM: readonly Rectangle[];
}

/** The lattice of a map with latitudes and longitudes. */
export async function latticeOf(area: Area): Promise<Lattice> {
  if (area.plane === null) throw new FileFormatError("a map without latitudes and longitudes has no lattice");
  const originE7 = [area.plane.latitudeE7, area.plane.longitudeE7] as const;
  let [cellM, cornerHalfM]: [number, readonly [number, number]] = [0, [0, 0]];
  let groundHalfM: readonly Rectangle[] = [];
  if (area.kind === "grid") {
    cellM = area.wholeIn("cell_m");
    const [x, y] = area.pairIn("first_centre_m");
    cornerHalfM = [remainder(2 * x - cellM, 2 * cellM), remainder(2 * y - cellM, 2 * cellM)];
    groundHalfM = groundOf(area, cellM, [x, y]);
  }
  return { kind: area.kind, digest: area.digest, originE7, cellM, cornerHalfM, boxE7: await boxE7(area), groundHalfM };
}

/** A lattice as a JSON object. */
export function latticeFields(lattice: Lattice): Record<string, string | number | readonly number[] | readonly Rectangle[]> {
  const { kind, digest, originE7, cellM, cornerHalfM, boxE7, groundHalfM } = lattice;
  return {
    kind,
    digest,
    origin_e7: originE7,
    cell_m: cellM,
    corner_half_m: cornerHalfM,
    box_e7: boxE7,
    ground_half_m: groundHalfM,
  };
}

/** Read a lattice from a JSON object. */
export function readLattice(value: Json | undefined): Lattice {
  const fields = ["kind", "digest", "origin_e7", "cell_m", "corner_half_m", "box_e7", "ground_half_m"];
  if (!(value instanceof Map) || value.size !== fields.length) throw unreadable();
  const wholesOf = (list: Json | undefined, size: number): number[] => {
    if (!Array.isArray(list) || list.length !== size) throw unreadable();
    return list.map(whole);
  };
  const wholes = (field: string, size: number): number[] => wholesOf(value.get(field), size);
  const ground = value.get("ground_half_m");
  if (!Array.isArray(ground)) throw unreadable();
  const [kind, digest] = [value.get("kind"), value.get("digest")];
  if (typeof kind !== "string" || typeof digest !== "string") throw unreadable();
  return {
    kind,
    digest,
    originE7: wholes("origin_e7", 2) as [number, number],
    cellM: whole(value.get("cell_m")),
    cornerHalfM: wholes("corner_half_m", 2) as [number, number],
    boxE7: wholes("box_e7", 4) as [number, number, number, number],
    groundHalfM: ground.map((one) => wholesOf(one, 4) as unknown as Rectangle),
  };
}

function whole(value: Json | undefined): number {
  if (typeof value !== "bigint") throw unreadable();
  return Number(value);
}

function unreadable(): FileFormatError {
  return new FileFormatError("the lattice of an earlier map cannot be read");
}

/** Whether the cells of both maps fit into one another, or lie apart. */
export function compatible(one: Lattice, other: Lattice): boolean {
  if (one.digest === other.digest || disjoint(one, other)) return true;
  if (one.groundHalfM.length === 0 || other.groundHalfM.length === 0) return false;
  if (one.originE7[0] !== other.originE7[0] || one.originE7[1] !== other.originE7[1]) return false;
  const [fine, coarse] = one.cellM <= other.cellM ? [one, other] : [other, one];
  if (coarse.cellM % fine.cellM !== 0) return false;
  return [0, 1].every((axis) => {
    const apart = (coarse.cornerHalfM[axis] as number) - (fine.cornerHalfM[axis] as number);
    return remainder(apart, 2 * fine.cellM) === 0;
  });
}

/** Refuse a map that does not fit those that earlier reports were drawn on, one by one or all together. */
export function checkLattice(lattice: Lattice, earlier: readonly Lattice[], limits: PrivacyLimits): void {
  const odd = earlier.find((one) => !compatible(lattice, one));
  if (odd !== undefined) {
    throw new OutsideLimits(
      "This campaign's map overlaps one that you answered on before, and is divided in another way. Both answers together " +
        `could tell more than your limit allows. ${NOT_TAKING_PART}`,
      `The map ${lattice.digest.slice(0, 12)} does not fit the map ${odd.digest.slice(0, 12)}; this device accepts maps that ` +
        "do not overlap, and squares of one lattice whose sizes divide one another.",
    );
  }
  const leastKm2 = limits.minCells * limits.cellKm ** 2;
  const smallestKm2 = smallestPieceKm2(lattice, earlier);
  if (smallestKm2 < leastKm2 * (1 - ROUNDING)) {
    throw new OutsideLimits(
      "This campaign's map and those that you answered on before share only a part so small, or leave out one so small, that " +
        `your answers together could identify you. ${NOT_TAKING_PART}`,
      `The smallest part covers ${general(smallestKm2, 3)} km²; this device accepts no less than ${general(leastKm2, 6)} km².`,
    );
  }
}

/**
 * The size of the smallest connected piece of ground that lies in the same ones of some maps.
 *
 * Only maps of the same lattice count; it is infinite where none of them overlaps the new one, and 0 where there are too many
 * patches to look at.
 */
export function smallestPieceKm2(lattice: Lattice, earlier: readonly Lattice[]): number {
  const maps = new Map<string, Lattice>();
  for (const one of earlier) {
    const sameOrigin = one.originE7[0] === lattice.originE7[0] && one.originE7[1] === lattice.originE7[1];
    if (one.groundHalfM.length > 0 && sameOrigin && one.digest !== lattice.digest) maps.set(one.digest, one);
  }
  if ([...maps.values()].every((one) => disjoint(lattice, one))) return Infinity;
  const grounds = [lattice, ...maps.values()].map(({ groundHalfM }) => groundHalfM);
  const x = sortedEdges(grounds.flatMap((ground) => ground.flatMap(([west, , east]) => [west, east])));
  const y = sortedEdges(grounds.flatMap((ground) => ground.flatMap(([, south, , north]) => [south, north])));
  const [columns, rows] = [x.length - 1, y.length - 1];
  if (columns * rows > MAX_PATCHES) return 0;
  const [columnOf, rowOf] = [x, y].map((edges) => new Map(edges.map((edge, index) => [edge, index]))) as [
    Map<number, number>,
    Map<number, number>,
  ];
  // Which of the maps so far a patch lies in, as a number; none of them is always 0.
  let inside = new Int32Array(columns * rows);
  for (const ground of grounds) {
    const here = new Uint8Array(columns * rows);
    for (const [west, south, east, north] of ground) {
      for (let row = rowOf.get(south) as number; row < (rowOf.get(north) as number); row++) {
        here.fill(1, row * columns + (columnOf.get(west) as number), row * columns + (columnOf.get(east) as number));
      }
    }
    const ranks = new Map<number, number>([[0, 0]]);
    inside = inside.map((before, patch) => {
      const both = 2 * before + (here[patch] as number);
      const rank = ranks.get(both) ?? ranks.size;
      ranks.set(both, rank);
      return rank;
    });
  }
  return smallestOf(inside, x, y) / 1e6;
}

/** The size in m² of the smallest piece of equal patches that touch along an edge; patches in no map do not count. */
function smallestOf(inside: Int32Array, x: readonly number[], y: readonly number[]): number {
  const [columns, rows] = [x.length - 1, y.length - 1];
  const seen = new Uint8Array(inside.length);
  let smallest = Infinity;
  for (let first = 0; first < inside.length; first++) {
    if (inside[first] === 0 || seen[first] === 1) continue;
    seen[first] = 1;
    const piece = [first];
    let halfM2 = 0;
    for (let next = 0; next < piece.length; next++) {
      const here = piece[next] as number;
      const [row, column] = [Math.floor(here / columns), here % columns];
      halfM2 += ((x[column + 1] as number) - (x[column] as number)) * ((y[row + 1] as number) - (y[row] as number));
      const beside = [
        column > 0 ? here - 1 : -1,
        column < columns - 1 ? here + 1 : -1,
        row > 0 ? here - columns : -1,
        row < rows - 1 ? here + columns : -1,
      ];
      for (const other of beside) {
        if (other < 0 || seen[other] === 1 || inside[other] !== inside[first]) continue;
        seen[other] = 1;
        piece.push(other);
      }
    }
    smallest = Math.min(smallest, halfM2 / 4);
  }
  return smallest;
}

function sortedEdges(edges: number[]): number[] {
  return [...new Set(edges)].sort((one, other) => one - other);
}

/** The ground of a grid as rectangles: runs of squares in a row, and equal runs of the rows above joined. */
function groundOf(area: Area, cellM: number, firstCentre: readonly [number, number]): readonly Rectangle[] {
  const [rows, columns] = [area.wholeIn("rows"), area.wholeIn("columns")];
  const kept = area.keptSquares();
  const runsOf = new Map<number, [number, number][]>();
  if (kept === null) for (let row = 0; row < rows; row++) runsOf.set(row, [[0, columns]]);
  for (const square of kept ?? []) {
    const [row, column] = [Math.floor(square / columns), square % columns];
    const runs = runsOf.get(row) ?? [];
    runsOf.set(row, runs);
    const last = runs.at(-1);
    if (last?.[1] === column) last[1] = column + 1;
    else runs.push([column, column + 1]);
  }
  const [left, bottom] = firstCentre.map((first) => 2 * first - cellM) as [number, number];
  const side = 2 * cellM;
  const finished: Rectangle[] = [];
  const growing = new Map<string, { readonly run: readonly [number, number]; readonly from: number }>();
  for (let row = 0; row <= rows; row++) {
    const runs = new Map((runsOf.get(row) ?? []).map((run) => [run.join(), run]));
    for (const [name, { run, from }] of growing) {
      if (runs.has(name)) continue;
      finished.push([left + side * run[0], bottom + side * from, left + side * run[1], bottom + side * row]);
      growing.delete(name);
    }
    for (const [name, run] of runs) if (!growing.has(name)) growing.set(name, { run, from: row });
  }
  if (finished.length > MAX_RECTANGLES) return [];
  return finished.sort((one, other) => {
    const differs = [0, 1, 2, 3].find((edge) => one[edge] !== other[edge]) ?? 0;
    return (one[differs] as number) - (other[differs] as number);
  });
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

// An area: the cells of the map, as whole metres of a local plane.
//
// Everything that privacy rests on is in those integers: the squared distance of two cells is an exact integer below 2^53,
// and IEEE sqrt is correctly rounded, so this derives the very same distances as the Python side from the same
// description. Centres that a description only claims are checked against the latitudes and longitudes they stand for.

import { asObject, canonicalJson, refuseUnknown, required, wholePairs, type Json, type JsonObject } from "../codec";
import { FileFormatError, InputError, show } from "../errors";
import { sha256Hex } from "../platform/sha256";
import { Nearest } from "./nearest";
import { MAX_RADIUS_M, type Degrees, type Plane } from "./plane";

export const MAX_CELLS = 1_000_000;
export const OUTSIDE = -1;
const MAX_COORDINATE_M = 2 ** 24;
const ROUNDING_DOUBT_M = 0.001;

/** What a kind of area adds to its centres. */
export interface AreaGeometry {
  readonly xM: Float64Array;
  readonly yM: Float64Array;
  readonly plane: Plane | null;
  /** Cell that holds a point, or `OUTSIDE`. */
  locate(latitude: number, longitude: number): number;
}

export class Area {
  readonly cells: number;
  readonly digest: string;
  private nearest: Nearest | null = null;

  constructor(
    readonly kind: string,
    readonly description: JsonObject,
    private readonly made: AreaGeometry,
  ) {
    this.cells = made.xM.length;
    checkCentres(made.xM, made.yM);
    this.digest = sha256Hex(canonicalJson(description));
  }

  get plane(): Plane | null {
    return this.made.plane;
  }

  get xM(): Float64Array {
    return this.made.xM;
  }

  get yM(): Float64Array {
    return this.made.yM;
  }

  /** A whole number of the description; all of them were checked when the area was read. */
  wholeIn(field: string): number {
    return Number(this.description.get(field));
  }

  pairIn(field: string): readonly [number, number] {
    const [x, y] = this.description.get(field) as [bigint, bigint];
    return [Number(x), Number(y)];
  }

  /** The squares of a grid that were kept, by number; null where all are. */
  keptSquares(): readonly number[] | null {
    const kept = this.description.get("kept");
    return Array.isArray(kept) ? kept.map(Number) : null;
  }

  squaredM(cell: number, other: number): number {
    const dx = (this.xM[cell] as number) - (this.xM[other] as number);
    const dy = (this.yM[cell] as number) - (this.yM[other] as number);
    return dx * dx + dy * dy;
  }

  distanceKm(cell: number, other: number): number {
    return Math.sqrt(this.squaredM(cell, other)) / 1000;
  }

  locate(latitude: number, longitude: number): number {
    return this.made.locate(latitude, longitude);
  }

  centre(cell: number): Degrees {
    if (this.plane === null) throw new InputError("area", this.kind, "has no latitude and longitude");
    return this.plane.toDegrees(this.xM[cell] as number, this.yM[cell] as number);
  }

  /** Distance of a cell to its nearest neighbour; infinite for a single cell. */
  neighbourKm(cell: number): number {
    this.nearest ??= new Nearest(this.xM, this.yM);
    const near = this.nearest.find(this.xM[cell] as number, this.yM[cell] as number, cell);
    return near === null ? Infinity : near.distanceM / 1000;
  }

  /** The smallest distance of any two cells. */
  get nearestNeighbourKm(): number {
    let nearestKm = Infinity;
    for (let cell = 0; cell < this.cells; cell++) nearestKm = Math.min(nearestKm, this.neighbourKm(cell));
    return nearestKm;
  }
}

/** Rebuild an area from its description, checking the metres against the places they stand for. */
export async function readArea(value: Json | undefined): Promise<Area> {
  const description = asObject("area", value);
  const kind = description.get("kind");
  const reader = typeof kind === "string" ? KINDS[kind] : undefined;
  if (typeof kind !== "string" || reader === undefined) {
    throw new FileFormatError(`area kind = ${show(kind)}: should be one of ${Object.keys(KINDS).join(", ")}`);
  }
  refuseUnknown(`area of kind ${kind}`, description, new Set(["kind", ...reader.fields]));
  return new Area(kind, description, await reader.read(description));
}

interface KindReader {
  readonly fields: readonly string[];
  read(description: JsonObject): Promise<AreaGeometry>;
}

const KINDS: Readonly<Record<string, KindReader>> = {
  grid: {
    fields: ["origin_e7", "cell_m", "rows", "columns", "first_centre_m", "kept"],
    read: async (description) => (await import("./grid")).readGrid(description),
  },
  hexagons: {
    fields: ["origin_e7", "resolution", "cells", "centres_m"],
    read: async (description) => (await import("./hexagons")).readHexagons(description),
  },
  points: {
    fields: ["centres_m"],
    read: (description) => Promise.resolve(readPoints(description)),
  },
  towers: {
    fields: ["origin_e7", "towers_e7", "centres_m", "reach_m"],
    read: async (description) => (await import("./towers")).readTowers(description),
  },
};

/** Bare points of a plane, for studies and tests; a device refuses them, because nothing ties them to the ground. */
function readPoints(description: JsonObject): AreaGeometry {
  const [xM, yM] = splitPairs(wholePairs("centres_m", required("area of kind points", description, "centres_m")));
  return {
    xM,
    yM,
    plane: null,
    locate() {
      throw new InputError("area", "points", "has no latitude and longitude; use a grid, hexagons or towers");
    },
  };
}

function checkCentres(xM: Float64Array, yM: Float64Array): void {
  if (xM.length === 0) throw new InputError("centres", xM.length, "should be one or more [x, y] pairs");
  if (xM.length > MAX_CELLS) throw new InputError("cells", xM.length, `at most ${MAX_CELLS} cells; use larger cells`);
  const seen = new Map<number, number>();
  for (let cell = 0; cell < xM.length; cell++) {
    const [x, y] = [xM[cell] as number, yM[cell] as number];
    if (!(Math.abs(x) <= MAX_COORDINATE_M && Math.abs(y) <= MAX_COORDINATE_M)) {
      const limit = `coordinates should stay within ${MAX_COORDINATE_M / 1000} km of the origin`;
      throw new InputError(`centre of cell ${cell} in metres`, [x, y], limit);
    }
    const key = (x + MAX_COORDINATE_M) * (2 * MAX_COORDINATE_M + 1) + (y + MAX_COORDINATE_M);
    const same = seen.get(key);
    if (same !== undefined) {
      const what = "lie on the same metre (distance 0); merge them, no policy can tell them apart";
      throw new InputError("cells", [same, cell], what);
    }
    seen.set(key, cell);
  }
}

/** Refuse centres that are not the whole metres nearest to their places; a tie may be rounded either way. */
export function checkMetres(
  claimed: readonly (readonly [number, number])[],
  plane: Plane,
  places: readonly (readonly [number, number])[],
): void {
  if (claimed.length !== places.length) {
    throw new FileFormatError(`centres_m: ${claimed.length} centres for ${places.length} places`);
  }
  places.forEach(([latitude, longitude], cell) => {
    const true_ = plane.toMetres(latitude, longitude);
    if (true_ === null || !(Math.hypot(true_.x, true_.y) <= MAX_RADIUS_M)) {
      const limit = `lies over ${Math.round(MAX_RADIUS_M / 1000)} km from the middle of the area`;
      throw new InputError("place", [latitude, longitude], limit);
    }
    const [x, y] = claimed[cell] as readonly [number, number];
    const most = 0.5 + ROUNDING_DOUBT_M;
    if (!(Math.abs(x - true_.x) <= most && Math.abs(y - true_.y) <= most)) {
      throw new FileFormatError(
        `centres_m[${cell}] = [${x}, ${y}]: the place it stands for lies at [${Math.round(true_.x)}, ` +
          `${Math.round(true_.y)}] m; distances derived from this description would be false`,
      );
    }
  });
}

export function splitPairs(pairs: readonly (readonly [number, number])[]): [Float64Array, Float64Array] {
  return [Float64Array.from(pairs, ([x]) => x), Float64Array.from(pairs, ([, y]) => y)];
}

// Refuse maps that do not hide the people in them.
//
// A policy hides a place among the cells around it, and only as well as the map allows. Sixteen towers 5 km apart with a reach
// of 30 m are sixteen houses: every bound holds, and every reply names one of them. So a map is judged by what its regions are
// on the ground, not by the distances of its centres alone.

import type { Area } from "../area/area";
import { regionsOf } from "../area/regions";
import { CampaignRefused, OutsideLimits, quoted } from "../errors";
import { fixed, general } from "../formatting";
import type { PrivacyLimits } from "./privacy_limits";

export const NOT_TAKING_PART = "This phone does not take part.";
/** How far around a cell its company is counted; a region as wide as this needs none. */
const NEAR_KM = 2;
/**
 * Cells touch if their centres are no farther apart than this, in sides: squares and hexagons do by an edge, and not across a
 * corner, because everyone beside a line of squares that meet at corners is outside.
 */
const TOUCHING_SIDES = 1.2;
export const ROUNDING = 1e-9;

/** Refuse a map that is finer or coarser than the limits, or that leaves a cell without enough others near it. */
export async function checkMap(area: Area, limits: PrivacyLimits): Promise<void> {
  if (area.plane === null) {
    throw new CampaignRefused(
      `The campaign's map has no latitudes and longitudes, so this phone cannot check its distances. ${NOT_TAKING_PART}`,
      `The area is of kind ${quoted(area.kind)}; a Grid, Hexagons or Towers can be checked.`,
    );
  }
  if (area.cells < Math.max(limits.minCells, 2)) {
    throw new OutsideLimits(
      `The campaign's map has ${area.cells} parts, too few to hide among; your limit is ${limits.minCells}. ${NOT_TAKING_PART}`,
    );
  }
  const sizesKm = await regionSizesKm(area);
  checkFineness(area, sizesKm, limits);
  checkCompany(area, sizesKm, limits);
  checkPieces(area, sizesKm, limits);
}

/**
 * For each cell, the side in km of a square as large as its region; never more than is true.
 *
 * Squares and hexagons have their own size, however far apart those that were kept are. A tower's region contains the circle
 * that reaches half way to the nearest tower, cut off at the tower's reach.
 */
export async function regionSizesKm(area: Area): Promise<Float64Array> {
  const cells = Array.from({ length: area.cells }, (_, cell) => cell);
  if (area.kind === "grid") return new Float64Array(area.cells).fill(area.wholeIn("cell_m") / 1000);
  if (area.kind === "hexagons") {
    const regions = await regionsOf(area, cells);
    return Float64Array.from(regions, (corners) => {
      const metres = corners.map(([latitude, longitude]) => area.plane?.toMetres(latitude, longitude) ?? { x: 0, y: 0 });
      return Math.sqrt(polygonAreaM2(metres)) / 1000;
    });
  }
  const reachKm = area.kind === "towers" ? area.wholeIn("reach_m") / 1000 : Infinity;
  return Float64Array.from(cells, (cell) => Math.sqrt(Math.PI) * Math.min(area.neighbourKm(cell) / 2, reachKm));
}

function checkFineness(area: Area, sizesKm: Float64Array, limits: PrivacyLimits): void {
  let smallestKm = Infinity;
  for (const km of sizesKm) smallestKm = Math.min(smallestKm, km);
  // A tower's region lies within its reach, so that this bounds the width of the reach as well.
  const found: [(km: string) => string, number][] = [
    [(km) => `Neighbouring cells are ${km} km apart`, area.nearestNeighbourKm],
    [(km) => `The smallest region is as large as a square of ${km} km`, smallestKm],
  ];
  for (const [what, km] of found) {
    if (km < limits.cellKm) {
      throw new OutsideLimits(
        `The campaign's map is finer than your limit allows. ${NOT_TAKING_PART}`,
        `${what(fixed(km, 3))}; this device accepts no less than ${general(limits.cellKm, 6)} km. ` +
          "Were metres given as kilometres?",
      );
    }
  }
}

/** Refuse a cell whose nearest neighbour is too far away, or with too few cells around it. */
function checkCompany(area: Area, sizesKm: Float64Array, limits: PrivacyLimits): void {
  let [isolated, apartKm] = [0, 0];
  for (let cell = 0; cell < area.cells; cell++) {
    const km = area.neighbourKm(cell);
    if (km > apartKm) [isolated, apartKm] = [cell, km];
  }
  if (apartKm > limits.gapKm) {
    throw new OutsideLimits(
      "One part of the campaign's map is so far from all others that an answer from there would identify you. " +
        NOT_TAKING_PART,
      `Cell ${isolated} is ${general(apartKm, 3)} km from its nearest neighbour; this device accepts at most ` +
        `${general(limits.gapKm, 6)} km.`,
    );
  }
  const wanted = limits.cellsWithin2Km;
  if (wanted < 2) return;
  const company = new Company(area, 1000 * NEAR_KM);
  for (let cell = 0; cell < area.cells; cell++) {
    if ((sizesKm[cell] as number) >= NEAR_KM || company.count(cell, wanted) >= wanted) continue;
    throw new OutsideLimits(
      "One part of the campaign's map has so few others near it that an answer from there could identify you. " +
        NOT_TAKING_PART,
      `Cell ${cell} has ${company.count(cell, Infinity)} cells within ${NEAR_KM} km, itself included; this device accepts ` +
        `no less than ${wanted}.`,
    );
  }
}

/** Refuse a map that falls into pieces of touching cells of which one is smaller than the smallest whole map. */
function checkPieces(area: Area, sizesKm: Float64Array, limits: PrivacyLimits): void {
  let largestKm = 0;
  for (const km of sizesKm) largestKm = Math.max(largestKm, km);
  // Farther towers need not touch: their regions are large.
  const touchingM = area.kind === "towers" ? Math.min(2 * area.wholeIn("reach_m"), 1000 * NEAR_KM) : TOUCHING_SIDES * 1000 * largestKm;
  const company = new Company(area, touchingM);
  const leastKm2 = limits.minCells * limits.cellKm ** 2;
  const seen = new Uint8Array(area.cells);
  for (let cell = 0; cell < area.cells; cell++) {
    if (seen[cell] === 1) continue;
    seen[cell] = 1;
    const piece = [cell];
    let km2 = 0;
    for (let next = 0; next < piece.length; next++) {
      const here = piece[next] as number;
      km2 += (sizesKm[here] as number) ** 2;
      for (const other of company.near(here)) {
        if (seen[other] === 0) {
          seen[other] = 1;
          piece.push(other);
        }
      }
    }
    if (km2 < leastKm2 * (1 - ROUNDING)) {
      throw new OutsideLimits(
        "The campaign's map falls into pieces, and one of them is so small that an answer from there could identify you. " +
          NOT_TAKING_PART,
        `The piece with cell ${cell} covers ${general(km2, 3)} km²; this device accepts no less than ${general(leastKm2, 6)} km².`,
      );
    }
  }
}

/** Finds the cells near a cell, from squares as wide as "near" into which all of them are sorted. */
class Company {
  private readonly squares = new Map<string, number[]>();

  constructor(
    private readonly area: Area,
    private readonly nearM: number,
  ) {
    for (let cell = 0; cell < area.cells; cell++) {
      const key = this.keys(cell)[0] as string;
      const square = this.squares.get(key);
      if (square === undefined) this.squares.set(key, [cell]);
      else square.push(cell);
    }
  }

  /** How many cells lie near a cell, itself included; counting stops at `enough`. */
  count(cell: number, enough: number): number {
    let found = 0;
    for (const key of this.keys(cell)) {
      for (const other of this.squares.get(key) ?? []) {
        if (this.area.squaredM(cell, other) <= this.nearM ** 2) found += 1;
        if (found >= enough) return found;
      }
    }
    return found;
  }

  /** The cells near a cell, itself included. */
  near(cell: number): number[] {
    const around = this.keys(cell).flatMap((key) => this.squares.get(key) ?? []);
    return around.filter((other) => this.area.squaredM(cell, other) <= this.nearM ** 2);
  }

  /** Its own square first, then those around. */
  private keys(cell: number): string[] {
    const column = Math.floor((this.area.xM[cell] as number) / this.nearM);
    const row = Math.floor((this.area.yM[cell] as number) / this.nearM);
    const keys = [`${column} ${row}`];
    for (const right of [-1, 0, 1]) for (const up of [-1, 0, 1]) if (right !== 0 || up !== 0) keys.push(`${column + right} ${row + up}`);
    return keys;
  }
}

function polygonAreaM2(corners: readonly { readonly x: number; readonly y: number }[]): number {
  const [first] = corners;
  if (first === undefined) return 0;
  let doubled = 0;
  corners.forEach((corner, k) => {
    const next = corners[(k + 1) % corners.length] as { x: number; y: number };
    doubled += (corner.x - first.x) * (next.y - first.y) - (corner.y - first.y) * (next.x - first.x);
  });
  return Math.abs(doubled) / 2;
}

// The corners of cells, for the map: squares, hexagons, or the region of a tower.

import type { Area } from "./area";
import type { LatLon } from "./plane";

type Point = readonly [x: number, y: number];

const ROUND = 24;

export async function regionsOf(area: Area, cells: readonly number[]): Promise<LatLon[][]> {
  switch (area.kind) {
    case "grid": {
      const half = area.wholeIn("cell_m") / 2;
      return cells.map((cell) => toDegrees(area, squareAround(centreOf(area, cell), half)));
    }
    case "hexagons": {
      const { cellToBoundary } = await import("h3-js");
      const ids = area.description.get("cells") as string[];
      return cells.map((cell) => cellToBoundary(ids[cell] as string));
    }
    case "towers": {
      const reachM = area.wholeIn("reach_m");
      return cells.map((cell) => toDegrees(area, towerRegion(area, cell, reachM)));
    }
    default:
      return cells.map(() => []);
  }
}

function squareAround([x, y]: Point, half: number): Point[] {
  return [
    [x - half, y - half],
    [x + half, y - half],
    [x + half, y + half],
    [x - half, y + half],
  ];
}

/** A circle of the tower's reach, cut at the middle between it and every other tower. */
export function towerRegion(area: Pick<Area, "xM" | "yM" | "cells">, cell: number, reachM: number): Point[] {
  const [x, y] = centreOf(area, cell);
  let region: Point[] = Array.from({ length: ROUND }, (_, k) => {
    const angle = (2 * Math.PI * k) / ROUND;
    return [x + reachM * Math.cos(angle), y + reachM * Math.sin(angle)];
  });
  for (let other = 0; other < area.cells; other++) {
    const [ox, oy] = centreOf(area, other);
    const [dx, dy] = [ox - x, oy - y];
    if (other === cell || Math.hypot(dx, dy) >= 2 * reachM) continue;
    const middle = (ox * ox + oy * oy - x * x - y * y) / 2;
    region = cut(region, ([px, py]) => px * dx + py * dy - middle);
  }
  return region;
}

/** The part of a region where a linear function is not positive. */
function cut(region: readonly Point[], beyond: (point: Point) => number): Point[] {
  const kept: Point[] = [];
  region.forEach((point, k) => {
    const next = region[(k + 1) % region.length] as Point;
    const [here, there] = [beyond(point), beyond(next)];
    if (here <= 0) kept.push(point);
    if (here <= 0 !== there <= 0) {
      const share = here / (here - there);
      kept.push([point[0] + share * (next[0] - point[0]), point[1] + share * (next[1] - point[1])]);
    }
  });
  return kept;
}

function centreOf(area: Pick<Area, "xM" | "yM">, cell: number): Point {
  return [area.xM[cell] as number, area.yM[cell] as number];
}

function toDegrees(area: Area, points: readonly Point[]): LatLon[] {
  return points.map(([x, y]) => {
    const place = area.plane?.toDegrees(x, y);
    return place === undefined ? [0, 0] : [place.latitude, place.longitude];
  });
}

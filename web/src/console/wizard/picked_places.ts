// Places that an operator picks on a map, by coordinates or by number of a cell.

import type { LatLon } from "../../core/area/plane";
import type { AreaShape } from "../../core/wire/area";

export interface PickedPlaces {
  readonly shape: AreaShape | undefined;
  readonly fields: { spots: LatLon[] };
  /** The cell of each place; undefined for places outside of the area. */
  readonly located: readonly (number | undefined)[];
  /** Their cells, each once, in the order of the cells. */
  readonly targets: readonly number[];
  readonly targetSet: ReadonlySet<number>;
  /** Pick a cell, or no longer. */
  toggle(cell: number): void;
}

/** The cells of located places, each once, in their order. */
export function cellsOf(located: readonly (number | undefined)[]): number[] {
  return located
    .filter((cell, index, all): cell is number => cell !== undefined && all.indexOf(cell) === index)
    .sort((one, other) => one - other);
}

export function setOf(cells: readonly number[]): ReadonlySet<number> {
  return new Set(cells);
}

/** The places after a cell was picked, or is no longer. */
export function toggled(picked: Omit<PickedPlaces, "toggle">, cell: number): LatLon[] {
  const { shape, fields, located, targetSet } = picked;
  if (targetSet.has(cell)) return fields.spots.filter((_, index) => located[index] !== cell);
  const centre = shape?.centres[cell];
  return centre === undefined ? fields.spots : [...fields.spots, [...centre]];
}

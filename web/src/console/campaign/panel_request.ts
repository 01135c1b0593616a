// What an operator asks of a panel, as filled in so far, what is wrong with it, and the request it makes.

import { PROTOCOL } from "../../core/wire/message";
import type { PanelRequest } from "../../core/wire/operator";

export type HowMany = "any" | "each" | "own";

export interface RequestFields {
  howMany: HowMany;
  /** People at any of the places, and at each of them. */
  wanted: number | null;
  each: number | null;
  /** People at each cell, where each has a number of its own. */
  own: Record<number, number | null>;
  /** How often one person may be chosen, this time included; null: as often as it comes. */
  atMost: number | null;
  /** Only selections of so many days count for that; null: all. */
  withinDays: number | null;
  otherCells: boolean;
}

const MOST = 10_000_000;

/** What is wrong with the numbers, by field; those of single places by `own` and their cell. */
export function checkRequest(fields: RequestFields, cells: readonly number[]): Readonly<Record<string, string>> {
  const wrong: Record<string, string> = {};
  const check = (name: string, value: number | null, empty = false) => {
    if (value === null ? !empty : !Number.isInteger(value) || value < 1 || value > MOST) {
      wrong[name] = "Should be a whole number of at least 1.";
    }
  };
  if (fields.howMany === "any") check("wanted", fields.wanted);
  else if (fields.howMany === "each") check("each", fields.each);
  else for (const cell of cells) check(`own ${cell}`, ownNumber(fields, cell));
  check("atMost", fields.atMost, true);
  if (fields.withinDays !== null && !(fields.withinDays > 0)) wrong["withinDays"] = "Should be above 0, or empty.";
  return wrong;
}

/** The number of people at a cell: its own, or what would be wanted at each. */
export function ownNumber({ own, each }: RequestFields, cell: number): number | null {
  return cell in own ? (own[cell] ?? null) : each;
}

/** The request for some cells; undefined while something is missing or wrong. */
export function requestOf(fields: RequestFields, cells: readonly number[], places: ReadonlySet<number>): PanelRequest | undefined {
  if (cells.length === 0 || Object.keys(checkRequest(fields, cells)).length > 0) return undefined;
  const elsewhere = cells.some((cell) => !places.has(cell));
  if (elsewhere && !fields.otherCells) return undefined;
  const { howMany, wanted, each, atMost, withinDays } = fields;
  const numbers = howMany === "each" ? cells.map(() => each ?? 1) : cells.map((cell) => ownNumber(fields, cell) ?? 1);
  return {
    protocol: PROTOCOL,
    targets: cells,
    target_names: null,
    target_coordinates: null,
    wanted: howMany === "any" ? wanted : null,
    numbers: howMany === "any" ? null : numbers,
    at_most: atMost,
    within_s: atMost === null || withinDays === null ? null : Math.max(1, Math.round(withinDays * 86_400)),
    other_cells: elsewhere,
  };
}

/** How many people a request wants in all. */
export function wantedIn({ wanted, numbers }: Pick<PanelRequest, "wanted" | "numbers">): number {
  return wanted ?? (numbers ?? []).reduce((sum, one) => sum + one, 0);
}

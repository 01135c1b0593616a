// The exported selection, read back for the table on the page.

import type { Chosen } from "../../core/vocabulary";
import { splitCsvLine } from "../../shared/coordinates";

export interface Selected {
  /** The target that the participant is selected for; counts from 1. */
  readonly place: number;
  /** What the target is called; empty if it has no name. */
  readonly name: string;
  readonly participant: number;
  readonly chance: number;
  readonly chosen: Chosen;
}

const COLUMNS = ["place", "name", "latitude", "longitude", "participant", "chance", "chosen"];

/** Rows of the CSV that the server exports. */
export function readSelection(csv: string): readonly Selected[] {
  const [head, ...lines] = csv.split(/\r?\n/).filter((line) => line);
  if (head === undefined || splitCsvLine(head).join() !== COLUMNS.join()) throw new Error("the selection has other columns than expected");
  return lines.map((line) => {
    const [place, name = "", , , participant, chance, chosen] = splitCsvLine(line);
    return {
      place: Number(place),
      name,
      participant: Number(participant),
      chance: Number(chance),
      chosen: chosen === "symbol" ? "symbol" : "filled",
    };
  });
}

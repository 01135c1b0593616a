// The exported selection, read back for the table on the page.

import { splitCsvLine } from "../../shared/coordinates";

export interface Selected {
  readonly rank: number;
  readonly participant: number;
  readonly round: number;
  readonly symbol: number;
  readonly chance: number;
}

const COLUMNS = ["rank", "participant", "round", "symbol", "chance"];

/** Rows of the CSV that the server exports. */
export function readSelection(csv: string): readonly Selected[] {
  const [head, ...lines] = csv.split(/\r?\n/).filter((line) => line);
  if (head === undefined || splitCsvLine(head).join() !== COLUMNS.join()) throw new Error("the selection has other columns than expected");
  return lines.map((line) => {
    const [rank = NaN, participant = NaN, round = NaN, symbol = NaN, chance = NaN] = splitCsvLine(line).map(Number);
    return { rank, participant, round, symbol, chance };
  });
}

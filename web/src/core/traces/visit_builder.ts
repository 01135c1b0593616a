// Builds visits from rows: every row is either kept or counted under one reason, the first that applies.

import { EmptyFile, FileFormatError } from "../errors";
import { Visits } from "./visits";

const LATEST_S = 4_102_444_800;
const MAX_OFFSET_S = 18 * 3600;
const MAX_NUMBER = 1e15;
const DECIMAL = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/;

export const DUPLICATE = "exact duplicate";
export const BROKEN_QUOTING = "broken quoting";
export const WRONG_FIELDS = "wrong number of fields";

/** A number, or NaN where there is none, or one so large that sums of it would be infinite. */
export function toNumber(text: string): number {
  if (!DECIMAL.test(text)) return NaN;
  const number = Number(text);
  return Math.abs(number) <= MAX_NUMBER ? number : NaN;
}

export class VisitBuilder {
  readonly visits = new Visits();
  private fitWhenSwapped = 0;

  /** `expected` says, for errors, what would be right. */
  constructor(
    private readonly name: string,
    private readonly expected: string,
  ) {}

  /** Keep a row that is sound; NaN stands for what could not be read. */
  add(utcS: number, offsetS: number, latitude: number, longitude: number): void {
    const fault = faultOf(utcS, offsetS, latitude, longitude);
    if (fault === null) {
      this.visits.push(Math.floor(utcS), Math.round(offsetS), latitude, longitude);
      return;
    }
    this.visits.drop(fault);
    if (Math.abs(latitude) > 90 && Math.abs(latitude) <= 180 && Math.abs(longitude) <= 90) this.fitWhenSwapped += 1;
  }

  /** What was kept, with the counts of what was not; keeping nothing is an error. */
  done(): Visits {
    if (this.visits.length === 0) throw this.nothingKept();
    return this.visits;
  }

  private nothingKept(): FileFormatError {
    const rows = [...this.visits.dropped.values()].reduce((sum, count) => sum + count, 0);
    if (rows === 0) return new EmptyFile(`${this.name}: holds no rows; expected ${this.expected}`);
    const reasons = [...this.visits.dropped].sort(([, a], [, b]) => b - a).map(([reason, count]) => `${reason}: ${count}`);
    const swapped = 2 * this.fitWhenSwapped > rows ? " (are latitude and longitude swapped?)" : "";
    return new FileFormatError(
      `${this.name}: none of ${rows} rows can be used (${reasons.join(", ")}); expected ${this.expected}${swapped}`,
    );
  }
}

function faultOf(utcS: number, offsetS: number, latitude: number, longitude: number): string | null {
  if (Number.isNaN(utcS)) return "unreadable time";
  if (!(utcS >= 0 && utcS < LATEST_S)) return "time not between 1970 and 2100";
  if (!(Math.abs(offsetS) <= MAX_OFFSET_S)) return "unreadable UTC offset";
  if (Number.isNaN(latitude) || Number.isNaN(longitude)) return "unreadable position";
  if (!(Math.abs(latitude) <= 90)) return "latitude out of range";
  if (!(Math.abs(longitude) <= 180)) return "longitude out of range";
  return latitude === 0 && longitude === 0 ? "no fix (0, 0)" : null;
}

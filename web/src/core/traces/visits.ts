// Visits of one person: where, when, and what the clock on the wall said. They never leave the device.
//
// Columns of numbers that grow: a phone's export of ten years holds a million fixes.

const FIRST_CAPACITY = 1024;

export class Visits {
  length = 0;
  /** How many rows of the source were left out, by reason. */
  readonly dropped = new Map<string, number>();
  private columns = Array.from({ length: 4 }, () => new Float64Array(FIRST_CAPACITY));

  push(utcS: number, offsetS: number, latitude: number, longitude: number): void {
    if (this.length === (this.columns[0] as Float64Array).length) {
      this.columns = this.columns.map((column) => {
        const larger = new Float64Array(2 * column.length);
        larger.set(column);
        return larger;
      });
    }
    [utcS, offsetS, latitude, longitude].forEach((value, k) => {
      (this.columns[k] as Float64Array)[this.length] = value;
    });
    this.length += 1;
  }

  drop(reason: string, rows = 1): void {
    if (rows > 0) this.dropped.set(reason, (this.dropped.get(reason) ?? 0) + rows);
  }

  /** Seconds since 1970 in UTC. */
  utcS(visit: number): number {
    return this.columns[0]?.[visit] as number;
  }

  /** Local time minus UTC, in seconds. */
  offsetS(visit: number): number {
    return this.columns[1]?.[visit] as number;
  }

  latitude(visit: number): number {
    return this.columns[2]?.[visit] as number;
  }

  longitude(visit: number): number {
    return this.columns[3]?.[visit] as number;
  }
}

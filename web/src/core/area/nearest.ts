// Nearest centres: a grid of buckets, searched ring by ring, so that a million visits or cells need no million² distances.

/** Centres this near to the nearest one count as equally near. */
const TIE_M = 1e-9;

export interface Near {
  readonly cell: number;
  readonly distanceM: number;
}

export class Nearest {
  private readonly buckets = new Map<number, number[]>();
  private readonly side: number;
  private readonly low: readonly [number, number];
  private readonly size: readonly [number, number];

  constructor(
    private readonly xM: Float64Array,
    private readonly yM: Float64Array,
  ) {
    const [lowX, highX] = extent(xM);
    const [lowY, highY] = extent(yM);
    const [width, height] = [highX - lowX, highY - lowY];
    this.side = Math.max(1, Math.sqrt((width * height) / xM.length), Math.max(width, height) / 4096);
    this.low = [lowX, lowY];
    this.size = [Math.floor(width / this.side) + 1, Math.floor(height / this.side) + 1];
    for (let cell = 0; cell < xM.length; cell++) {
      const key = this.row(yM[cell] as number) * this.size[0] + this.column(xM[cell] as number);
      const bucket = this.buckets.get(key);
      if (bucket === undefined) this.buckets.set(key, [cell]);
      else bucket.push(cell);
    }
  }

  /** The nearest centre, of equally near ones the first; `except` is passed over. Null if there is no other. */
  find(x: number, y: number, except = -1): Near | null {
    const column = this.column(x);
    const row = this.row(y);
    // A point outside of all buckets is searched from the bucket nearest to it: that only makes every distance larger than
    // what the rings promise.
    let near: Near | null = null;
    const rings = Math.max(this.size[0], this.size[1]);
    for (let ring = 0; ring <= rings; ring++) {
      if (near !== null && near.distanceM + TIE_M < (ring - 1) * this.side) break;
      for (const cell of this.ring(column, row, ring)) {
        if (cell === except) continue;
        const distanceM = Math.sqrt((x - (this.xM[cell] as number)) ** 2 + (y - (this.yM[cell] as number)) ** 2);
        if (near === null || distanceM < near.distanceM - TIE_M) near = { cell, distanceM };
        else if (distanceM <= near.distanceM + TIE_M) {
          near = { cell: Math.min(cell, near.cell), distanceM: Math.min(distanceM, near.distanceM) };
        }
      }
    }
    return near;
  }

  private *ring(column: number, row: number, ring: number): Generator<number> {
    const [columns, rows] = this.size;
    for (let r = Math.max(0, row - ring); r <= Math.min(rows - 1, row + ring); r++) {
      const inner = Math.abs(r - row) < ring;
      const step = inner && ring > 0 ? 2 * ring : 1;
      for (let c = column - ring; c <= column + ring; c += step) {
        if (c >= 0 && c < columns) yield* this.buckets.get(r * columns + c) ?? [];
      }
    }
  }

  private column(x: number): number {
    return clamp(Math.floor((x - this.low[0]) / this.side), this.size[0]);
  }

  private row(y: number): number {
    return clamp(Math.floor((y - this.low[1]) / this.side), this.size[1]);
  }
}

function clamp(index: number, size: number): number {
  return Math.min(Math.max(index, 0), size - 1);
}

function extent(values: Float64Array): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

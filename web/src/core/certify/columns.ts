// The weights of a policy, symbol by symbol: their logarithms for the quick test, and the exact whole numbers.

import type { Policy } from "../policy/policy";

/** Weights of symbol s of place l: first, times second for symbols that refine the last one. Place n is NULL. */
export class Columns {
  readonly count: number;
  readonly places: number;
  private readonly last: number;
  private readonly firstLogs: Float64Array;
  private readonly secondLogs: Float64Array | null;

  constructor(private readonly policy: Policy) {
    const { weights, completion, nullWeights } = policy.fields;
    this.count = policy.symbolCount;
    this.places = policy.area.cells + (nullWeights === null ? 0 : 1);
    this.last = weights.symbols - 1;
    this.firstLogs = new Float64Array(this.places * weights.symbols);
    for (let place = 0; place < this.places; place++) {
      for (let s = 0; s < weights.symbols; s++) {
        this.firstLogs[place * weights.symbols + s] = Math.log(Number(this.first(place, s)));
      }
    }
    this.secondLogs = null;
    if (completion !== null) {
      const { rows, symbols } = completion.weights;
      this.secondLogs = new Float64Array(rows * symbols);
      for (let row = 0; row < rows; row++) {
        completion.weights.row(row).forEach((weight, s) => {
          (this.secondLogs as Float64Array)[row * symbols + s] = Math.log(Number(weight));
        });
      }
    }
  }

  /** ln of a symbol's weight in every place; -Infinity for weight 0. */
  logs(symbol: number): Float64Array {
    const first = Math.min(symbol, this.last);
    const refined = symbol - first;
    const logs = new Float64Array(this.places);
    for (let place = 0; place < this.places; place++) {
      let log = this.firstLogs[place * (this.last + 1) + first] as number;
      if (this.secondLogs !== null && symbol >= this.last) {
        const width = this.count - this.last;
        log += this.secondLogs[this.row(place) * width + refined] as number;
      }
      logs[place] = log;
    }
    return logs;
  }

  /** The weight as a whole number, in a unit that all places share for this symbol. */
  exact(place: number, symbol: number): bigint {
    const { completion } = this.policy.fields;
    const first = Math.min(symbol, this.last);
    const weight = this.first(place, first);
    if (completion === null || symbol < this.last) return weight;
    return weight * completion.weights.at(this.row(place), symbol - first);
  }

  private first(place: number, symbol: number): bigint {
    const { weights, nullWeights } = this.policy.fields;
    return place === this.policy.area.cells && nullWeights !== null
      ? nullWeights.at(0, symbol)
      : weights.at(place, symbol);
  }

  private row(place: number): number {
    const completion = this.policy.fields.completion;
    if (completion === null) return 0;
    return (place === this.policy.area.cells ? completion.nullRow : completion.row[place]) as number;
  }
}

// The weights of a policy, symbol by symbol: their logarithms for the quick test, and the exact whole numbers.

import type { Policy } from "../policy/policy";

/** Weights of symbol s of input x: first, times second for symbols that refine one of the last. */
export class Columns {
  readonly count: number;
  readonly inputs: number;
  private readonly firstLogs: Float64Array;
  private readonly secondLogs: Float64Array | null;

  constructor(private readonly policy: Policy) {
    const { weights, completion } = policy.fields;
    this.count = policy.symbolCount;
    this.inputs = weights.rows;
    this.firstLogs = new Float64Array(this.inputs * weights.symbols);
    for (let input = 0; input < this.inputs; input++) {
      for (let s = 0; s < weights.symbols; s++) {
        this.firstLogs[input * weights.symbols + s] = Math.log(Number(weights.at(input, s)));
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

  /** ln of a symbol's weight in every input; -Infinity for weight 0. */
  logs(symbol: number): Float64Array {
    const { weights, completion } = this.policy.fields;
    const { first, refined } = this.policy.stagesOf(symbol);
    const logs = new Float64Array(this.inputs);
    for (let input = 0; input < this.inputs; input++) {
      let log = this.firstLogs[input * weights.symbols + first] as number;
      if (completion !== null && this.secondLogs !== null && symbol >= this.policy.refinedFrom) {
        log += this.secondLogs[(completion.row[input] as number) * completion.weights.symbols + refined] as number;
      }
      logs[input] = log;
    }
    return logs;
  }

  /** The weight as a whole number, in a unit that all inputs share for this symbol. */
  exact(input: number, symbol: number): bigint {
    const { weights, completion } = this.policy.fields;
    const { first, refined } = this.policy.stagesOf(symbol);
    const weight = weights.at(input, first);
    if (completion === null || symbol < this.policy.refinedFrom) return weight;
    return weight * completion.weights.at(completion.row[input] as number, refined);
  }
}

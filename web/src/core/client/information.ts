// Bound how many bits a report carries in expectation, whatever anyone believed before.
//
// With rows P(· | i) and any distribution q of symbols, the mutual information of input and symbol is, under every prior,
//
//     I  ≤  max_i  KL( P(· | i) ‖ q )  in nats.
//
// The least such bound is the capacity of the channel. Blahut's iteration moves q towards it; every step gives a valid bound, so
// it may stop anywhere. For tables too large for that, q = P(· | outside) gives I ≤ ε₀, because no quotient with that row exceeds
// e^{ε₀}.

import type { Policy } from "../policy/policy";

/** Entries of the largest table that is looked at; a device has little memory. */
const MAX_ENTRIES = 4_000_000;
const STEPS = 60;

/** The information of a report in bits. */
export interface Information {
  /** In expectation, under every prior. */
  readonly atMostBits: number;
  /** If all inputs are equally likely; null where the table is too large. */
  readonly uniformBits: number | null;
}

const known = new WeakMap<Policy, Information>();

/** Bound the information that a report under a policy carries. */
export function information(policy: Policy): Information {
  const found = known.get(policy) ?? bounded(policy);
  known.set(policy, found);
  return found;
}

function bounded(policy: Policy): Information {
  const rows = policy.inputCount;
  if (rows * policy.symbolCount > MAX_ENTRIES) {
    const most = Math.log2(policy.symbolCount);
    const atMostBits = policy.nullEpsilon === null ? most : Math.min(most, policy.nullEpsilon / Math.LN2);
    return { atMostBits, uniformBits: null };
  }
  const table = new Channel(policy);
  const prior = new Float64Array(rows).fill(1 / rows);
  let losses = table.divergences(prior);
  let most = largest(losses);
  const uniform = losses.reduce((sum, loss, row) => sum + loss * (prior[row] as number), 0);
  for (let step = 0; step < STEPS; step++) {
    const highest = largest(losses);
    let total = 0;
    losses.forEach((loss, row) => {
      prior[row] = (prior[row] as number) * Math.exp(loss - highest);
      total += prior[row];
    });
    for (let row = 0; row < rows; row++) prior[row] = (prior[row] as number) / total;
    losses = table.divergences(prior);
    most = Math.min(most, largest(losses));
  }
  return { atMostBits: most / Math.LN2, uniformBits: uniform / Math.LN2 };
}

/** A call takes only so many arguments; there may be more inputs. */
function largest(losses: Float64Array): number {
  return losses.reduce((most, loss) => Math.max(most, loss), -Infinity);
}

/** P(symbol | input) as one table, and the entropy of each row. */
class Channel {
  private readonly rows: Float64Array[];
  private readonly negativeEntropy: Float64Array;

  constructor(policy: Policy) {
    this.rows = Array.from({ length: policy.inputCount }, (_, input) => Float64Array.from(policy.probabilitiesOf(input)));
    this.negativeEntropy = Float64Array.from(this.rows, (row) =>
      row.reduce((sum, share) => (share > 0 ? sum + share * Math.log(share) : sum), 0),
    );
  }

  /** KL(row ‖ symbols) of every row in nats, for the symbols that this prior gives. */
  divergences(prior: Float64Array): Float64Array {
    const logs = new Float64Array(this.rows[0]?.length ?? 0);
    this.rows.forEach((row, input) => {
      const weight = prior[input] as number;
      for (let symbol = 0; symbol < logs.length; symbol++) logs[symbol] = (logs[symbol] as number) + weight * (row[symbol] as number);
    });
    for (let symbol = 0; symbol < logs.length; symbol++) logs[symbol] = Math.log(logs[symbol] as number);
    return Float64Array.from(this.rows, (row, input) => {
      let cross = 0;
      for (let symbol = 0; symbol < logs.length; symbol++) {
        const share = row[symbol] as number;
        if (share > 0) cross += share * (logs[symbol] as number);
      }
      return (this.negativeEntropy[input] as number) - cross;
    });
  }
}

// What a search has found so far about one claim, and the worst pair of places as a certificate shows it.

import type { Policy } from "../policy/policy";
import type { Witness } from "./certificate";
import type { PrivacyClaim } from "./claim";
import type { Columns } from "./columns";

const DOUBT_SHARE = 1e-13;
/** Relative error that no logarithm of a quotient reaches. */
const LOG_ERROR = 1e-14;

/** Two inputs and a symbol. */
export interface Pair {
  readonly sender: number;
  readonly other: number;
  readonly symbol: number;
}

/** What was found so far about one claim: the largest loss per km, and whether any pair breaks the claim. */
export class Findings {
  /** Largest loss per km, as far as quick tests need it. */
  peak = 0;
  private worst: Pair | null = null;
  private broken: Pair | null = null;
  private endless: Pair | null = null;
  /** No pair loses more than this per km. */
  private high = 0;
  private surelyBroken = false;

  constructor(
    readonly columns: Columns,
    readonly claim: PrivacyClaim,
  ) {}

  get ok(): boolean {
    return this.endless === null && this.broken === null && !this.surelyBroken;
  }

  get witness(): Pair | null {
    return this.endless ?? (this.surelyBroken ? this.worst : (this.broken ?? this.worst));
  }

  /** The least ε that surely holds. */
  get smallest(): number {
    if (this.endless !== null) return Infinity;
    if (this.high === 0) return 0;
    const above = nextUp(this.high);
    return this.ok ? Math.min(above, this.claim.epsilonPerKm) : above;
  }

  /** Pairs whose loss per km stays below this, by more than any error, need not be looked at more closely. */
  get floor(): number {
    return Math.min(this.peak, this.claim.epsilonPerKm) * (1 - DOUBT_SHARE);
  }

  /** A symbol that only one of two places ever sends tells them apart for certain. */
  refuse(pair: Pair): void {
    this.endless ??= pair;
  }

  /** A pair that the quick test leaves open; `sender` is the one with the larger weight. */
  consider(pair: Pair, km: number, squaredM: number): void {
    const weight = this.columns.exact(pair.sender, pair.symbol);
    const against = this.columns.exact(pair.other, pair.symbol);
    const log = logQuotient(weight, against);
    const loss = log / km;
    const slack = (2 * LOG_ERROR * log) / km;
    if (loss > this.peak) {
      this.peak = loss;
      this.worst = pair;
    }
    this.high = Math.max(this.high, loss + slack);
    const epsilon = this.claim.epsilonPerKm;
    if (loss - slack > epsilon) this.surelyBroken = true;
    else if (loss + slack > epsilon && this.ok && !this.claim.holds(weight, against, squaredM)) this.broken = pair;
  }
}

export function describeWitness(policy: Policy, columns: Columns, pair: Pair, epsilon: number): Witness {
  const n = policy.area.cells;
  const [sender, other] = [pair.sender % n, pair.other % n];
  const distanceKm = policy.area.distanceKm(sender, other);
  const against = columns.exact(pair.other, pair.symbol);
  const logRatio = against === 0n ? Infinity : logQuotient(columns.exact(pair.sender, pair.symbol), against);
  return {
    sender,
    other,
    grade: Math.floor(pair.sender / n),
    symbol: pair.symbol,
    symbolName: policy.symbolName(pair.symbol),
    distanceKm,
    logRatio,
    excess: logRatio - epsilon * distanceKm,
  };
}

/** ln(w / v) for w ≥ v > 0, accurate even where they nearly agree. */
export function logQuotient(weight: bigint, against: bigint): number {
  return Math.log1p(Number(weight - against) / Number(against));
}

function nextUp(value: number): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  view.setBigUint64(0, view.getBigUint64(0) + 1n);
  return view.getFloat64(0);
}

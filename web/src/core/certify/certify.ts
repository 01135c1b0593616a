// Certify a policy against Definition 1, on the device, independently of whoever made it.
//
//     for all cells i, j and every symbol s:    P(s | i) ≤ e^{ε d(i,j)} P(s | j),     d in km
//     and, with a row for NULL, for all cells l: P(s | NULL) ≤ e^{ε₀} P(s | l),   P(s | l) ≤ e^{ε₀} P(s | NULL)
//
// All pairs are looked at. A pair whose logarithms differ by clearly less, or clearly more, than ε d is settled by them; one
// that comes within `DOUBT` of ε d is decided in whole numbers (claim.ts). So the verdict never depends on rounding.
//
// DOUBT: weights are below 2^62, a refined one is a product of two, so their logarithms are below 2 · 43. Rounding a weight
// to a double, two logarithms right to a few last places each, and their sum and difference make less than 50 · 2^-53 · 86 <
// 5e-13; ε d has a relative error of a few 2^-53, which `DOUBT_SHARE` covers a hundred times over.

import type { Area } from "../area/area";
import { checkEpsilon } from "../fields";
import type { Policy } from "../policy/policy";
import { Claim } from "./claim";
import { Columns } from "./columns";
import type { Certificate, NullFinding, Witness } from "./certificate";

const DOUBT = 1e-12;
const DOUBT_SHARE = 1e-13;
/** Relative error that no logarithm of a quotient reaches. */
const LOG_ERROR = 1e-14;
/** ε₀ is a loss at no distance; stated as one at 1 km it takes the same arithmetic. */
const NULL_SQUARED_M = 1_000_000;

export type Progress = (done: number, total: number) => void;

/** Test the policy at its own ε unless another is given; its row for NULL at the ε₀ that it states. */
export function certify(policy: Policy, epsilonPerKm = policy.epsilonPerKm, progress?: Progress): Certificate {
  const epsilon = checkEpsilon("epsilon_per_km", epsilonPerKm);
  const columns = new Columns(policy);
  const cells = new Search(columns, new Claim(epsilon));
  const null_ = policy.nullEpsilon === null ? null : checkNull(policy, columns);
  searchCells(cells, policy, progress);
  const cellsOk = cells.ok;
  return {
    ok: cellsOk && (null_ === null || null_.ok),
    cellsOk,
    epsilonPerKm: epsilon,
    smallestEpsilonPerKm: cells.smallest,
    witness: cells.witness === null ? null : describeWitness(policy, columns, cells.witness, epsilon),
    null: null_,
    policyHash: policy.hash,
    cells: policy.area.cells,
    symbols: columns.count,
    exactComparisons: cells.claim.exactComparisons + (null_ === null ? 0 : null_.exactComparisons),
  };
}

interface Pair {
  readonly sender: number;
  readonly other: number;
  readonly symbol: number;
}

/** What was found so far about one claim: the largest loss per km, and whether any pair breaks the claim. */
class Search {
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
    readonly claim: Claim,
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

function searchCells(search: Search, policy: Policy, progress: Progress | undefined): void {
  const area = policy.area;
  const n = area.cells;
  const columns: { readonly symbol: number; readonly logs: Float64Array }[] = [];
  for (let symbol = 0; symbol < search.columns.count; symbol++) {
    const logs = search.columns.logs(symbol);
    const kind = oneSided(logs, n);
    if (kind === "some") search.refuse(likeliestAndNearestSilent(area, logs, symbol));
    if (kind === "all") columns.push({ symbol, logs });
  }
  if (!search.ok) return;
  const km = new Float64Array(n);
  for (let i = 1; i < n; i++) {
    for (let j = 0; j < i; j++) km[j] = area.distanceKm(i, j);
    for (const { symbol, logs } of columns) searchRow(search, area, symbol, logs, i, km);
    progress?.(i + 1, n);
  }
  if (n === 1) progress?.(1, 1);
}

/** Cell i against all before it. This is where the time goes: one subtraction, product and comparison for each pair. */
function searchRow(search: Search, area: Area, symbol: number, logs: Float64Array, i: number, km: Float64Array): void {
  const own = logs[i] as number;
  let floor = search.floor;
  for (let j = 0; j < i; j++) {
    const rise = own - (logs[j] as number);
    if (Math.abs(rise) + DOUBT <= floor * (km[j] as number)) continue;
    if (rise === 0 && search.columns.exact(i, symbol) === search.columns.exact(j, symbol)) continue;
    const pair = orderedPair(search.columns, i, j, symbol);
    search.consider(pair, km[j] as number, area.squaredM(i, j));
    floor = search.floor;
  }
}

function orderedPair(columns: Columns, one: number, two: number, symbol: number): Pair {
  return columns.exact(one, symbol) >= columns.exact(two, symbol)
    ? { sender: one, other: two, symbol }
    : { sender: two, other: one, symbol };
}

/** Whether none, some or all of the first n places ever send a symbol. */
function oneSided(logs: Float64Array, n: number): "none" | "some" | "all" {
  let silent = 0;
  for (let place = 0; place < n; place++) if (logs[place] === -Infinity) silent += 1;
  return silent === 0 ? "all" : silent === n ? "none" : "some";
}

function likeliestAndNearestSilent(area: Area, logs: Float64Array, symbol: number): Pair {
  let sender = 0;
  for (let cell = 1; cell < area.cells; cell++) {
    if ((logs[cell] as number) > (logs[sender] as number)) sender = cell;
  }
  let other = -1;
  for (let cell = 0; cell < area.cells; cell++) {
    if (logs[cell] !== -Infinity) continue;
    if (other === -1 || area.squaredM(sender, cell) < area.squaredM(sender, other)) other = cell;
  }
  return { sender, other, symbol };
}

function checkNull(policy: Policy, columns: Columns): NullFinding {
  const epsilon = checkEpsilon("null_epsilon", policy.nullEpsilon as number);
  const n = policy.area.cells;
  const search = new Search(columns, new Claim(epsilon));
  for (let symbol = 0; symbol < columns.count; symbol++) {
    const logs = columns.logs(symbol);
    for (let cell = 0; cell < n; cell++) {
      const pair = orderedPair(columns, n, cell, symbol);
      const weight = columns.exact(pair.sender, symbol);
      if (weight === 0n) continue;
      if (columns.exact(pair.other, symbol) === 0n) search.refuse(pair);
      else if (Math.abs((logs[n] as number) - (logs[cell] as number)) + DOUBT > search.floor) {
        search.consider(pair, 1, NULL_SQUARED_M);
      }
    }
  }
  const worst = search.witness;
  return {
    ok: search.ok,
    epsilon,
    smallestEpsilon: search.smallest,
    witness: worst === null || search.smallest === 0 ? null : describeWitness(policy, columns, worst, epsilon),
    exactComparisons: search.claim.exactComparisons,
  };
}

function describeWitness(policy: Policy, columns: Columns, pair: Pair, epsilon: number): Witness {
  const n = policy.area.cells;
  const withNull = pair.sender === n || pair.other === n;
  const distanceKm = withNull ? 1 : policy.area.distanceKm(pair.sender, pair.other);
  const against = columns.exact(pair.other, pair.symbol);
  const logRatio = against === 0n ? Infinity : logQuotient(columns.exact(pair.sender, pair.symbol), against);
  return {
    sender: pair.sender === n ? null : pair.sender,
    other: pair.other === n ? null : pair.other,
    symbol: pair.symbol,
    symbolName: policy.symbolName(pair.symbol),
    distanceKm,
    logRatio,
    excess: logRatio - epsilon * distanceKm,
  };
}

/** ln(w / v) for w ≥ v > 0, accurate even where they nearly agree. */
function logQuotient(weight: bigint, against: bigint): number {
  return Math.log1p(Number(weight - against) / Number(against));
}

function nextUp(value: number): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  view.setBigUint64(0, view.getBigUint64(0) + 1n);
  return view.getFloat64(0);
}

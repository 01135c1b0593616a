// Describe the columns of some symbols by their peaks, from which anyone computes the weights.
//
// With D the distances of policy.ts, the weight of the symbol s at the input i is
//
//     weights[i, s]  =  floor_s  +  max over the peaks (k, w) of s  of  ⌊ w · e^{-D(i, k)} ⌋
//
// where k is an input and w its weight. e^-D is computed in whole-number arithmetic (fixed_point.ts), so that a phone gets the
// same weights as the server, to the last unit. The Python side says why such columns are private; the certificate checks it.
//
// Of two peaks the lower one need not be computed exactly. A product of doubles that are right to their last place is right to
// 4 · 2^-53 of itself, so one that is smaller than another by more than `DOUBT_SHARE` of it is the smaller one for certain.

import type { Area } from "../area/area";
import { InputError } from "../errors";
import { grouped } from "../formatting";
import { checkCells } from "./checks";
import { MAX_TABLE_ENTRIES, Weights } from "./encoding";
import { asNumber, exponentialOfMinus, scaled, scaledLoss, timesPower } from "./fixed_point";

const DOUBT_SHARE = 1e-15;
/** Peaks times inputs: more would keep a phone busy for too long. */
const MAX_PEAK_TERMS = 100_000_000;
/** Distances from peaks, those that are equal counted once, times grades: each takes a phone some 20 microseconds. */
const MAX_EXPONENTIALS = 500_000;

/** The peaks of the first symbols of a policy, in the order of their symbols, then of their inputs. */
export interface Peaks {
  /** Which symbol each peak belongs to. */
  readonly symbol: readonly number[];
  /** At which input it stands: a row of the policy's weights. */
  readonly input: readonly number[];
  /** Its height, out of 2^bits. */
  readonly weight: readonly bigint[];
  /** What is added to all weights of each symbol: one number for each symbol that has peaks. */
  readonly floor: readonly bigint[];
}

/** What the distances of a policy's inputs depend on. */
export interface InputDistances {
  readonly area: Area;
  readonly epsilonPerKm: number;
  /** ε₀: largest loss between outside and any other input; null where being outside is said in the clear. */
  readonly nullEpsilon: number | null;
  /** ε₁: largest loss between one grade and the next in the same cell; null where there are no grades. */
  readonly gradeEpsilon: number | null;
  readonly grades: number;
}

/** Refuse peaks that do not fit a policy. */
export function checkPeaks({ symbol, input, weight, floor }: Peaks, inputs: number, symbols: number, bits: number): void {
  checkHeights("peaks.floor", floor, bits);
  if (floor.length >= symbols) {
    throw new InputError("peaks.floor", `${floor.length} numbers`, `should be fewer than the ${symbols} symbols, at least 1`);
  }
  if (inputs * symbols > MAX_TABLE_ENTRIES) {
    const size = `${grouped(inputs)} x ${grouped(symbols)}`;
    throw new InputError("peaks", size, `should give at most ${grouped(MAX_TABLE_ENTRIES)} weights`);
  }
  checkHeights("peaks.weight", weight, bits);
  checkCells("peaks.symbol", symbol, floor.length);
  checkCells("peaks.input", input, inputs);
  if (symbol.length !== weight.length || input.length !== weight.length) {
    throw new InputError(
      "peaks",
      [symbol.length, input.length, weight.length],
      "should be as many symbols, inputs and weights",
    );
  }
  if (weight.length * inputs > MAX_PEAK_TERMS) {
    const size = `${grouped(weight.length)} for ${grouped(inputs)} inputs`;
    throw new InputError("peaks", size, `should give at most ${grouped(MAX_PEAK_TERMS)} terms`);
  }
  const place = (peak: number): number => (symbol[peak] as number) * inputs + (input[peak] as number);
  if (weight.some((_, peak) => peak > 0 && place(peak) <= place(peak - 1))) {
    throw new InputError("peaks", "their order", "should be sorted by symbol, then by input, each pair once");
  }
}

function checkHeights(field: string, heights: readonly bigint[], bits: number): void {
  if (heights.length === 0) throw new InputError(field, "no numbers", "should be a list of whole numbers");
  for (const height of heights) {
    if (height < 0n || height > 1n << BigInt(bits)) {
      throw new InputError(field, height, `should lie between 0 and 2^${bits}`);
    }
  }
}

/** Compute the weights of all symbols that have peaks, for every input. */
export function weightsOf(peaks: Peaks, distances: InputDistances): Weights {
  checkExponentials(peaks, distances);
  const decay = new Decay(distances);
  const symbols = peaks.floor.length;
  const values = new BigUint64Array(decay.inputs * symbols);
  const largest = new Float64Array(values.length);
  for (const [at, here] of byInput(peaks)) {
    const powers = decay.fromInput(at);
    const numbers = Float64Array.from(powers, asNumber);
    for (const peak of here) {
      const weight = peaks.weight[peak] as bigint;
      const height = Number(weight);
      let entry = peaks.symbol[peak] as number;
      for (let input = 0; input < decay.inputs; input++, entry += symbols) {
        const about = height * (numbers[input] as number);
        if (about < (largest[entry] as number) * (1 - DOUBT_SHARE)) continue;
        const exact = timesPower(weight, powers[input] as bigint);
        if (exact > (values[entry] as bigint)) values[entry] = exact;
        if (about > (largest[entry] as number)) largest[entry] = about;
      }
    }
  }
  for (let entry = 0; entry < values.length; entry++) {
    values[entry] = (values[entry] as bigint) + (peaks.floor[entry % symbols] as bigint);
  }
  return new Weights(decay.inputs, symbols, values);
}

/** Refuse peaks from which there are too many different distances: a small file could keep a phone busy for hours. */
function checkExponentials(peaks: Peaks, { area, grades }: InputDistances): void {
  const n = area.cells;
  const cells = new Set(peaks.input.filter((at) => at < n * grades).map((at) => at % n));
  const most = Math.floor(MAX_EXPONENTIALS / grades);
  if (cells.size * n <= most) return;
  const found = new Set<number>();
  for (const cell of cells) {
    for (let other = 0; other < n; other++) found.add(area.squaredM(cell, other));
    if (found.size <= most) continue;
    throw new InputError(
      "peaks",
      `in ${grouped(cells.size)} of ${grouped(n)} cells`,
      `should need at most ${grouped(MAX_EXPONENTIALS)} exponentials, one for each distance and each difference in grades; ` +
        "name fewer places, or use squares, whose distances repeat",
    );
  }
}

/** The numbers of the peaks at each input, so that the decay from it is computed once. */
function byInput(peaks: Peaks): Map<number, number[]> {
  const found = new Map<number, number[]>();
  peaks.input.forEach((at, peak) => {
    const here = found.get(at);
    if (here === undefined) found.set(at, [peak]);
    else here.push(peak);
  });
  return found;
}

/** e^{-D(i, k)} in units of 2^-64, from one input k to all others. */
class Decay {
  readonly inputs: number;
  private readonly nullLoss: bigint | null;
  private readonly gradeLoss: bigint;
  /** By squared distance, then by steps between grades. */
  private readonly powers = new Map<number, readonly bigint[]>();

  constructor(private readonly distances: InputDistances) {
    const { area, nullEpsilon, gradeEpsilon, grades } = distances;
    this.inputs = area.cells * grades + (nullEpsilon === null ? 0 : 1);
    this.nullLoss = nullEpsilon === null ? null : scaled(nullEpsilon);
    this.gradeLoss = gradeEpsilon === null ? 0n : scaled(gradeEpsilon);
  }

  fromInput(at: number): bigint[] {
    const { area, grades } = this.distances;
    const n = area.cells;
    const [grade, cell] = [Math.floor(at / n), at % n];
    // What NULL is apart from all others; the entries of cells are set below unless `at` is NULL.
    const powers = new Array<bigint>(this.inputs).fill(exponentialOfMinus(this.nullLoss ?? 0n));
    if (grade === grades) {
      powers[at] = exponentialOfMinus(0n);
      return powers;
    }
    for (let other = 0; other < n; other++) {
      const steps = this.bySteps(area.squaredM(cell, other));
      for (let to = 0; to < grades; to++) powers[to * n + other] = steps[Math.abs(to - grade)] as bigint;
    }
    return powers;
  }

  private bySteps(squaredM: number): readonly bigint[] {
    const known = this.powers.get(squaredM);
    if (known !== undefined) return known;
    const near = scaledLoss(this.distances.epsilonPerKm, squaredM);
    const most = this.nullLoss === null ? null : 2n * this.nullLoss;
    const found = Array.from({ length: this.distances.grades }, (_, steps) => {
      const loss = near + BigInt(steps) * this.gradeLoss;
      return exponentialOfMinus(most !== null && loss > most ? most : loss);
    });
    this.powers.set(squaredM, found);
    return found;
  }
}

// Looks at all pairs of cells. A pair whose logarithms differ by clearly less, or clearly more, than ε d is settled by them.
//
// DOUBT: weights are below 2^62, a refined one is a product of two, so their logarithms are below 2 · 43. Rounding a weight
// to a double, two logarithms right to a few last places each, and their sum and difference make less than 50 · 2^-53 · 86 <
// 5e-13; ε d has a relative error of a few 2^-53, which `DOUBT_SHARE` covers a hundred times over.

import type { Area } from "../area/area";
import type { Policy } from "../policy/policy";
import type { Progress } from "../vocabulary";
import type { Columns } from "./columns";
import type { Findings, Pair } from "./findings";

/** Logarithms that differ from ε d by less than this are decided in whole numbers. */
export const DOUBT = 1e-12;

/** The weights of a symbol in all cells at one grade; `first` is the input of the first cell. */
interface Column {
  readonly symbol: number;
  readonly first: number;
  readonly logs: Float64Array;
}

/** Compare all pairs of cells, within each grade. */
export function searchCells(findings: Findings, policy: Policy, progress: Progress | undefined): void {
  const area = policy.area;
  const n = area.cells;
  const columns: Column[] = [];
  const silent: Column[] = [];
  for (let symbol = 0; symbol < findings.columns.count; symbol++) {
    const all = findings.columns.logs(symbol);
    for (let grade = 0; grade < policy.grades; grade++) {
      const column = { symbol, first: grade * n, logs: all.subarray(grade * n, (grade + 1) * n) };
      const kind = oneSided(column.logs);
      if (kind === "some") silent.push(column);
      if (kind === "all") columns.push(column);
    }
  }
  const [worst] = silent.sort((one, other) => one.first - other.first);
  if (worst !== undefined) findings.refuse(likeliestAndNearestSilent(area, worst));
  if (!findings.ok) return;
  const km = new Float64Array(n);
  for (let i = 1; i < n; i++) {
    for (let j = 0; j < i; j++) km[j] = area.distanceKm(i, j);
    for (const column of columns) searchRow(findings, area, column, i, km);
    progress?.(i + 1, n);
  }
  if (n === 1) progress?.(1, 1);
}

/** Cell i against all before it. This is where the time goes: one subtraction, product and comparison for each pair. */
function searchRow(findings: Findings, area: Area, { symbol, first, logs }: Column, i: number, km: Float64Array): void {
  const own = logs[i] as number;
  let floor = findings.floor;
  for (let j = 0; j < i; j++) {
    const rise = own - (logs[j] as number);
    if (Math.abs(rise) + DOUBT <= floor * (km[j] as number)) continue;
    if (rise === 0 && findings.columns.exact(first + i, symbol) === findings.columns.exact(first + j, symbol)) continue;
    const pair = orderedPair(findings.columns, first + i, first + j, symbol);
    findings.consider(pair, km[j] as number, area.squaredM(i, j));
    floor = findings.floor;
  }
}

export function orderedPair(columns: Columns, one: number, two: number, symbol: number): Pair {
  return columns.exact(one, symbol) >= columns.exact(two, symbol)
    ? { sender: one, other: two, symbol }
    : { sender: two, other: one, symbol };
}

/** Whether none, some or all inputs ever send a symbol. */
function oneSided(logs: Float64Array): "none" | "some" | "all" {
  let silent = 0;
  for (const log of logs) if (log === -Infinity) silent += 1;
  return silent === 0 ? "all" : silent === logs.length ? "none" : "some";
}

/** The cell that sends the symbol most, and the nearest one that never does. */
function likeliestAndNearestSilent(area: Area, { symbol, first, logs }: Column): Pair {
  let sender = 0;
  for (let cell = 1; cell < area.cells; cell++) {
    if ((logs[cell] as number) > (logs[sender] as number)) sender = cell;
  }
  let other = -1;
  for (let cell = 0; cell < area.cells; cell++) {
    if (logs[cell] !== -Infinity) continue;
    if (other === -1 || area.squaredM(sender, cell) < area.squaredM(sender, other)) other = cell;
  }
  return { sender: first + sender, other: first + other, symbol };
}

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

export function searchCells(findings: Findings, policy: Policy, progress: Progress | undefined): void {
  const area = policy.area;
  const n = area.cells;
  const columns: { readonly symbol: number; readonly logs: Float64Array }[] = [];
  for (let symbol = 0; symbol < findings.columns.count; symbol++) {
    const logs = findings.columns.logs(symbol);
    const kind = oneSided(logs, n);
    if (kind === "some") findings.refuse(likeliestAndNearestSilent(area, logs, symbol));
    if (kind === "all") columns.push({ symbol, logs });
  }
  if (!findings.ok) return;
  const km = new Float64Array(n);
  for (let i = 1; i < n; i++) {
    for (let j = 0; j < i; j++) km[j] = area.distanceKm(i, j);
    for (const { symbol, logs } of columns) searchRow(findings, area, symbol, logs, i, km);
    progress?.(i + 1, n);
  }
  if (n === 1) progress?.(1, 1);
}

/** Cell i against all before it. This is where the time goes: one subtraction, product and comparison for each pair. */
function searchRow(findings: Findings, area: Area, symbol: number, logs: Float64Array, i: number, km: Float64Array): void {
  const own = logs[i] as number;
  let floor = findings.floor;
  for (let j = 0; j < i; j++) {
    const rise = own - (logs[j] as number);
    if (Math.abs(rise) + DOUBT <= floor * (km[j] as number)) continue;
    if (rise === 0 && findings.columns.exact(i, symbol) === findings.columns.exact(j, symbol)) continue;
    const pair = orderedPair(findings.columns, i, j, symbol);
    findings.consider(pair, km[j] as number, area.squaredM(i, j));
    floor = findings.floor;
  }
}

export function orderedPair(columns: Columns, one: number, two: number, symbol: number): Pair {
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

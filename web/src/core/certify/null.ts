// The row for NULL: whether a reply tells at most ε₀ about having a frequent place at all.

import { checkEpsilon } from "../policy/checks";
import type { Policy } from "../policy/policy";
import type { NullFinding } from "./certificate";
import { PrivacyClaim } from "./claim";
import type { Columns } from "./columns";
import { describeWitness, Findings } from "./findings";
import { DOUBT, orderedPair } from "./search";

/** ε₀ is a loss at no distance; stated as one at 1 km it takes the same arithmetic. */
const NULL_SQUARED_M = 1_000_000;

export function checkNull(policy: Policy, columns: Columns): NullFinding {
  const epsilon = checkEpsilon("null_epsilon", policy.nullEpsilon as number);
  const n = policy.area.cells;
  const findings = new Findings(columns, new PrivacyClaim(epsilon));
  for (let symbol = 0; symbol < columns.count; symbol++) {
    const logs = columns.logs(symbol);
    for (let cell = 0; cell < n; cell++) {
      const pair = orderedPair(columns, n, cell, symbol);
      const weight = columns.exact(pair.sender, symbol);
      if (weight === 0n) continue;
      if (columns.exact(pair.other, symbol) === 0n) findings.refuse(pair);
      else if (Math.abs((logs[n] as number) - (logs[cell] as number)) + DOUBT > findings.floor) {
        findings.consider(pair, 1, NULL_SQUARED_M);
      }
    }
  }
  const worst = findings.witness;
  return {
    ok: findings.ok,
    epsilon,
    smallestEpsilon: findings.smallest,
    witness: worst === null || findings.smallest === 0 ? null : describeWitness(policy, columns, worst, epsilon),
    exactComparisons: findings.claim.exactComparisons,
  };
}

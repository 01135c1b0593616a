// Check the losses of a protected policy that do not depend on distance: being outside, and grades.
//
//     for every cell l, grade g and symbol s:
//         P(s | NULL) ≤ e^{ε₀} P(s | l,g)      P(s | l,g)   ≤ e^{ε₀} P(s | NULL)          (outside)
//         P(s | l,g)  ≤ e^{ε₁} P(s | l,g+1)    P(s | l,g+1) ≤ e^{ε₁} P(s | l,g)           (grades)
//
// Together with Definition 1 between the cells of each grade (checker.ts) these imply all that a policy promises: by the
// triangle inequality (l, g) and (l', g') differ by at most ε d(l, l') + ε₁ |g - g'|, and by at most 2 ε₀, by way of NULL.

import { checkEpsilon } from "../policy/checks";
import type { Policy } from "../policy/policy";
import type { ProtectionFinding, ProtectionWitness } from "./certificate";
import { PrivacyClaim } from "./claim";
import type { Columns } from "./columns";
import { Findings, logQuotient, type Pair } from "./findings";
import { DOUBT, orderedPair } from "./search";

/** A loss at no distance; stated as one at 1 km it takes the same arithmetic. */
const SQUARED_M = 1_000_000;

type InputPairs = readonly (readonly [one: number, other: number])[];

/** Test the row for NULL at the ε₀ that the policy states; null if it has no such row. */
export function checkNull(policy: Policy, columns: Columns): ProtectionFinding | null {
  if (policy.nullEpsilon === null) return null;
  const last = columns.inputs - 1;
  const pairs = Array.from({ length: last }, (_, input) => [last, input] as const);
  return checkPairs(policy, columns, checkEpsilon("null_epsilon", policy.nullEpsilon), pairs);
}

/** Test each grade against the next, in every cell, at the ε₁ that the policy states; null without grades. */
export function checkGrades(policy: Policy, columns: Columns): ProtectionFinding | null {
  if (policy.gradeEpsilon === null) return null;
  const n = policy.area.cells;
  const pairs = Array.from({ length: n * (policy.grades - 1) }, (_, input) => [input, input + n] as const);
  return checkPairs(policy, columns, checkEpsilon("grade_epsilon", policy.gradeEpsilon), pairs);
}

function checkPairs(policy: Policy, columns: Columns, epsilon: number, pairs: InputPairs): ProtectionFinding {
  const findings = new Findings(columns, new PrivacyClaim(epsilon));
  for (let symbol = 0; symbol < columns.count; symbol++) {
    const logs = columns.logs(symbol);
    for (const [one, other] of pairs) {
      const pair = orderedPair(columns, one, other, symbol);
      if (columns.exact(pair.sender, symbol) === 0n) continue;
      if (columns.exact(pair.other, symbol) === 0n) findings.refuse(pair);
      else if (Math.abs((logs[one] as number) - (logs[other] as number)) + DOUBT > findings.floor) {
        findings.consider(pair, 1, SQUARED_M);
      }
    }
  }
  const worst = findings.witness;
  return {
    ok: findings.ok,
    epsilon,
    smallestEpsilon: findings.smallest,
    witness: worst === null || findings.smallest === 0 ? null : witnessOf(policy, columns, worst, epsilon),
    exactComparisons: findings.claim.exactComparisons,
  };
}

function witnessOf(policy: Policy, columns: Columns, { sender, other, symbol }: Pair, epsilon: number): ProtectionWitness {
  const against = columns.exact(other, symbol);
  const logRatio = against === 0n ? Infinity : logQuotient(columns.exact(sender, symbol), against);
  return {
    sender,
    other,
    senderName: inputName(policy, sender),
    otherName: inputName(policy, other),
    symbol,
    symbolName: policy.symbolName(symbol),
    logRatio,
    excess: logRatio - epsilon,
  };
}

/** Name an input: `NULL`, `cell 17`, or `cell 17, grade 2`. */
function inputName(policy: Policy, input: number): string {
  const n = policy.area.cells;
  if (policy.protectsNull && input === n * policy.grades) return "NULL";
  return policy.grades === 1 ? `cell ${input}` : `cell ${input % n}, grade ${Math.floor(input / n) + 1}`;
}

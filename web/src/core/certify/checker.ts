// Certify a policy against Definition 1, on the device, independently of whoever made it.
//
//     for all cells i, j and every symbol s:    P(s | i) ≤ e^{ε d(i,j)} P(s | j),     d in km
//
// The cells of each grade are compared with one another. A protected policy must also keep the ε₀ and the ε₁ that it states
// between NULL and every other input, and between grades (protection.ts).
//
// All pairs are looked at. A pair whose logarithms differ by clearly less, or clearly more, than ε d is settled by them; one
// that comes within `DOUBT` of ε d is decided in whole numbers (claim.ts). So the verdict never depends on rounding.

import { checkEpsilon } from "../policy/checks";
import type { Policy } from "../policy/policy";
import type { Progress } from "../vocabulary";
import type { Certificate } from "./certificate";
import { PrivacyClaim } from "./claim";
import { Columns } from "./columns";
import { describeWitness, Findings } from "./findings";
import { checkGrades, checkNull } from "./protection";
import { searchCells } from "./search";

/** Test the policy at its own ε unless another is given; NULL and grades at the ε₀ and ε₁ that it states. */
export function certify(policy: Policy, epsilonPerKm = policy.epsilonPerKm, progress?: Progress): Certificate {
  const epsilon = checkEpsilon("epsilon_per_km", epsilonPerKm);
  const columns = new Columns(policy);
  const cells = new Findings(columns, new PrivacyClaim(epsilon));
  const null_ = checkNull(policy, columns);
  const grades = checkGrades(policy, columns);
  searchCells(cells, policy, progress);
  const cellsOk = cells.ok;
  return {
    ok: cellsOk && null_?.ok !== false && grades?.ok !== false,
    cellsOk,
    epsilonPerKm: epsilon,
    smallestEpsilonPerKm: cells.smallest,
    witness: cells.witness === null ? null : describeWitness(policy, columns, cells.witness, epsilon),
    null: null_,
    grades,
    gradeCount: policy.grades,
    policyHash: policy.hash,
    cells: policy.area.cells,
    symbols: columns.count,
    exactComparisons: cells.claim.exactComparisons + (null_?.exactComparisons ?? 0) + (grades?.exactComparisons ?? 0),
  };
}

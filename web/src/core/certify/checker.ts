// Certify a policy against Definition 1, on the device, independently of whoever made it.
//
//     for all cells i, j and every symbol s:    P(s | i) ≤ e^{ε d(i,j)} P(s | j),     d in km
//     and, with a row for NULL, for all cells l: P(s | NULL) ≤ e^{ε₀} P(s | l),   P(s | l) ≤ e^{ε₀} P(s | NULL)
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
import { checkNull } from "./null";
import { searchCells } from "./search";

/** Test the policy at its own ε unless another is given; its row for NULL at the ε₀ that it states. */
export function certify(policy: Policy, epsilonPerKm = policy.epsilonPerKm, progress?: Progress): Certificate {
  const epsilon = checkEpsilon("epsilon_per_km", epsilonPerKm);
  const columns = new Columns(policy);
  const cells = new Findings(columns, new PrivacyClaim(epsilon));
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

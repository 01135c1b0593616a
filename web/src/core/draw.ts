// One report: a symbol drawn from a certified policy, in whole numbers.
//
// A row of weights sums to 2^B, so B random bits u choose exactly: symbol s when c_{s-1} ≤ u < c_s, c_s = w_0 + ... + w_s.
// A completion refines the last symbols, one for each grade, by B further bits. Both stages are always drawn and always looked up, and a look-up
// compares with every boundary, so that neither the time nor the randomness that is used tells where the phone is.

import { explain, type Certificate } from "./certify/certificate";
import { NotPrivateError } from "./errors";
import { checkedBits, secureBits, type RandomBits } from "./platform/random";
import type { Policy } from "./policy/policy";

/** Draw what a phone sends from a cell at a grade, or from `NULL`, outside; send it once and keep it. */
export function draw(
  policy: Policy,
  cell: number,
  certificate: Certificate,
  randomBits: RandomBits = secureBits,
  grade = 0,
): number {
  requireCertificate(certificate, policy);
  const { first, second } = policy.rowsOf(policy.inputOf(cell, grade));
  const { bits } = policy.fields;
  const symbol = pick(first, checkedBits(randomBits, bits));
  if (second === null) return symbol;
  const refined = pick(second, checkedBits(randomBits, bits));
  // Symbol `refinedFrom` + h becomes `refinedFrom` + h · width + refined; those before stay as they are.
  const isRefined = Number(symbol >= policy.refinedFrom);
  return symbol + isRefined * ((symbol - policy.refinedFrom) * (second.length - 1) + refined);
}

/** The number of boundaries c_s at or below u; the last one, 2^B, never is. */
function pick(weights: BigUint64Array, u: bigint): number {
  let boundary = 0n;
  let count = 0;
  for (const weight of weights) {
    boundary += weight;
    count += Number(boundary <= u);
  }
  return count;
}

function requireCertificate(certificate: Certificate, policy: Policy): void {
  const short = policy.hash.slice(0, 12);
  if (certificate.policyHash !== policy.hash) {
    throw new NotPrivateError(
      `policy ${short}: the certificate is for ${certificate.policyHash.slice(0, 12)}; certify this policy`,
    );
  }
  if (certificate.epsilonPerKm !== policy.epsilonPerKm) {
    throw new NotPrivateError(
      `policy ${short}: it states ε = ${policy.epsilonPerKm} per km, but the certificate is for ` +
        `${certificate.epsilonPerKm}; certify what it states`,
    );
  }
  if (!certificate.ok) throw new NotPrivateError(`policy ${short}: nothing is drawn from it. ${explain(certificate)}`);
}

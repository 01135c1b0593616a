// Find out, from the notices that several participants were shown, whether a server showed them different campaigns.

import { InputError } from "../errors";
import { verifyNotice, type RoundNotice } from "./terms";

/**
 * Two notices that prove a split view, or null if there are none.
 *
 * Both are signed by this server and are for the same campaign, but name different terms, or different policies for the same
 * round. Notices that the server did not sign prove nothing about it and are passed over.
 */
export function findSplit(notices: Iterable<RoundNotice>, serverKey: string): readonly [RoundNotice, RoundNotice] | null {
  const terms = new Map<string, RoundNotice>();
  const rounds = new Map<string, RoundNotice>();
  for (const notice of notices) {
    if (!isSignedBy(notice, serverKey)) continue;
    const ofTerms = firstOf(terms, notice.campaign, notice);
    if (ofTerms.termsHash !== notice.termsHash) return [ofTerms, notice];
    const ofRound = firstOf(rounds, `${notice.campaign} ${notice.round}`, notice);
    if (ofRound.policyHash !== notice.policyHash) return [ofRound, notice];
  }
  return null;
}

function isSignedBy(notice: RoundNotice, serverKey: string): boolean {
  try {
    verifyNotice(notice, serverKey);
    return true;
  } catch (error) {
    if (error instanceof InputError) return false;
    throw error;
  }
}

function firstOf(seen: Map<string, RoundNotice>, key: string, notice: RoundNotice): RoundNotice {
  const first = seen.get(key) ?? notice;
  seen.set(key, first);
  return first;
}

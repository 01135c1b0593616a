import { expect, test } from "vitest";
import { utf8 } from "../../src/core/platform/bytes";
import { findSplit } from "../../src/core/wire/notices";
import { readAnnouncement } from "../../src/core/wire/participant";
import { verifyNotice, type RoundNotice } from "../../src/core/wire/terms";
import { cases, refusal } from "./vectors";

interface TermsCase {
  readonly kind: "terms";
  readonly announcement: string;
  readonly hash: string;
}
interface SignaturesCase {
  readonly kind: "signatures";
  readonly notices: readonly Readonly<Record<"campaign" | "terms_hash" | "policy_hash" | "signature", string> & { round: number }>[];
  readonly keys: readonly string[];
  readonly signed: readonly (readonly boolean[])[];
  readonly splits: readonly (readonly [number, number, boolean])[];
}

const all = cases<TermsCase | SignaturesCase>("notices");

test("terms have the same hash, and the notice of a round is bound to it and signed", () => {
  const found = all.filter((one) => one.kind === "terms");
  for (const one of found) {
    const { terms, notice } = readAnnouncement(utf8(one.announcement));
    expect(terms.hash).toBe(one.hash);
    verifyNotice(notice as RoundNotice, terms.serverKey);
  }
  expect(new Set(found.map(({ hash }) => hash)).size).toBe(found.length);
});

test("signatures of other keys and of altered notices are refused, and split views are found", async () => {
  for (const one of all.filter((found) => found.kind === "signatures")) {
    const notices = one.notices.map(
      ({ campaign, terms_hash, round, policy_hash, signature }): RoundNotice => ({
        campaign,
        termsHash: terms_hash,
        round,
        policyHash: policy_hash,
        signature,
      }),
    );
    for (const [i, notice] of notices.entries()) {
      for (const [k, key] of one.keys.entries()) {
        expect((await refusal(() => verifyNotice(notice, key))) === null).toBe(one.signed[i]?.[k]);
      }
    }
    for (const [i, j, split] of one.splits) {
      const pair = [notices[i], notices[j]] as RoundNotice[];
      expect(findSplit(pair, one.keys[0] as string) !== null, `${i} ${j}`).toBe(split);
    }
    expect(one.splits.some(([, , split]) => split)).toBe(true);
  }
});

import { expect, test } from "vitest";
import { explain } from "../../src/core/certify/certificate";
import { certify } from "../../src/core/certify/checker";
import type { LedgerEntry } from "../../src/core/client/events";
import { describeLedger, describeLoss, describeNull, describeReply } from "../../src/core/client/explain";
import { checkLifetime } from "../../src/core/client/ledger";
import { checkTerms, DEFAULT_LIMITS } from "../../src/core/client/privacy_limits";
import {
  exact,
  fixed,
  general,
  inPlainWords,
  percentFixed,
  percentUp,
  roundedUp,
  roundedUpBelow,
} from "../../src/core/formatting";
import { utf8 } from "../../src/core/platform/bytes";
import { readAnnouncement } from "../../src/core/wire/participant";
import { cases, double, policyOf, refusal } from "./vectors";

interface NumberCase {
  readonly kind: "number";
  readonly value: string;
  readonly exact: string;
  readonly general: string;
  readonly fixed: string;
  readonly percent: string;
  readonly percent_up: string | null;
  readonly rounded_up: string | null;
  readonly rounded_up_below: string | null;
  readonly plain_words: string | null;
}
interface LossCase {
  readonly kind: "loss";
  readonly epsilon: string;
  readonly spent: string;
  readonly text: string;
}
interface LedgerCase {
  readonly kind: "ledger";
  readonly text: string;
}
interface PolicyCase {
  readonly kind: "policy";
  readonly policy: string;
  readonly replies: readonly [number, string][];
  readonly null: string | null;
  readonly explained: string;
  readonly worst: readonly [number, number, number] | null;
}
type WordCase = NumberCase | LossCase | LedgerCase | PolicyCase;
const all = cases<WordCase>("words");

test("numbers read alike, digit by digit", () => {
  for (const one of all.filter((found) => found.kind === "number")) {
    const value = double(one.value);
    expect(exact(value)).toBe(one.exact);
    expect(general(value, 6)).toBe(one.general);
    expect(fixed(value, 3)).toBe(one.fixed);
    expect(percentFixed(value, 2)).toBe(one.percent);
    if (one.percent_up !== null) expect(percentUp(value, 1)).toBe(one.percent_up);
    if (one.rounded_up !== null) expect(roundedUp(value)).toBe(one.rounded_up);
    if (one.rounded_up_below !== null) expect(roundedUpBelow(value, value)).toBe(one.rounded_up_below);
    if (one.plain_words !== null) expect(inPlainWords(value)).toBe(one.plain_words);
  }
});

test("a person is told the same about a reply, a loss and the ledger", async () => {
  for (const one of all) {
    if (one.kind === "loss") expect(describeLoss(double(one.epsilon), double(one.spent))).toBe(one.text);
    if (one.kind === "ledger") expect(describeLedger(ENTRIES, 1.886294, 3 * Math.log(4))).toBe(one.text);
    if (one.kind !== "policy") continue;
    const policy = await policyOf(one.policy);
    for (const [place, text] of one.replies) expect(describeReply(policy, place)).toBe(text);
    if (one.null !== null) expect(describeNull(policy.nullEpsilon)).toBe(one.null);
    const found = certify(policy);
    const worst = found.witness === null ? null : [found.witness.sender, found.witness.other, found.witness.symbol];
    // Of pairs that are equally bad either may be shown.
    if (JSON.stringify(worst) === JSON.stringify(one.worst)) expect(explain(found)).toBe(one.explained);
    else expect(explain(found).replace(/The worst pair[^;]*;/, "")).toBe(one.explained.replace(/The worst pair[^;]*;/, ""));
  }
});

const NO_ENTRY = { secret: "", seat: null, receiptDigest: "" } as const;
const ENTRIES: LedgerEntry[] = [
  {
    ...NO_ENTRY,
    campaign: "winter-air",
    epsilonPerKm: Math.log(4),
    symbol: 1,
    state: "acknowledged",
    reason: "",
    at: "2026-01-02T03:04:05+00:00",
  },
  {
    ...NO_ENTRY,
    campaign: "noise",
    epsilonPerKm: 0.5,
    symbol: 0,
    state: "refused",
    reason: "too late",
    at: "2026-02-02T03:04:05+00:00",
  },
];

interface TermsCase {
  readonly kind: "terms";
  readonly info: string;
  readonly refused: string | null;
}
interface LifetimeCase {
  readonly kind: "lifetime";
  readonly spent: string;
  readonly more: string;
  readonly cap: string;
  readonly refused: string | null;
}

test("announcements are accepted or refused alike, the device's own limits in the same words", async () => {
  const SENSELESS = "the campaign's announcement makes no sense";
  for (const one of cases<TermsCase | LifetimeCase>("terms")) {
    const said = await refusal(() =>
      one.kind === "terms"
        ? checkTerms(readAnnouncement(utf8(one.info)), DEFAULT_LIMITS)
        : checkLifetime(double(one.spent), double(one.more), double(one.cap)),
    );
    if (one.refused?.startsWith(SENSELESS) === true) expect(said).toContain(SENSELESS);
    else expect(said).toBe(one.refused);
  }
});

import { expect, test } from "vitest";
import { explain } from "../../src/core/certify/certificate";
import { certify } from "../../src/core/certify/checker";
import type { LedgerEntry } from "../../src/core/client/events";
import {
  describeCost,
  describeLedger,
  describeLoss,
  describeNull,
  describeReport,
  describeUse,
  ledgerFigures,
  lossFigures,
  nullFigures,
  reportFigures,
} from "../../src/core/client/explain";
import { checkLifetime } from "../../src/core/client/ledger";
import { checkAnnouncement, DEFAULT_LIMITS } from "../../src/core/client/privacy_limits";
import { CampaignRefused } from "../../src/core/errors";
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
import { cases, double, policyOf, thrownBy } from "./vectors";

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
  readonly figures: string;
  readonly cost: string;
}
interface CostCase {
  readonly kind: "cost";
  readonly epsilon: string;
  readonly text: string;
}
interface LedgerCase {
  readonly kind: "ledger";
  readonly spent: string;
  readonly text: string;
  readonly figures: string;
}
interface UseCase {
  readonly kind: "use";
  readonly answered: number;
  readonly spent: string;
  readonly text: string;
}
interface PolicyCase {
  readonly kind: "policy";
  readonly policy: string;
  readonly reports: readonly [place: number, text: string, figures: string][];
  readonly null: string;
  readonly null_figures: string;
  readonly explained: string;
  readonly worst: readonly [number, number, number] | null;
}
type WordCase = NumberCase | LossCase | CostCase | LedgerCase | UseCase | PolicyCase;
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

test("a participant is told the same about losses, costs and the ledger", () => {
  for (const one of all) {
    switch (one.kind) {
      case "loss": {
        const [epsilon, spent] = [double(one.epsilon), double(one.spent)];
        expect(describeLoss(epsilon, spent)).toBe(one.text);
        expect(lossFigures(epsilon, spent)).toBe(one.figures);
        expect(describeCost(epsilon, spent, LIMIT)).toBe(one.cost);
        break;
      }
      case "cost":
        expect(describeCost(double(one.epsilon), 0, LIMIT)).toBe(one.text);
        break;
      case "ledger":
        expect(describeLedger(ENTRIES, double(one.spent), LIMIT)).toBe(one.text);
        expect(ledgerFigures(ENTRIES, double(one.spent), LIMIT)).toBe(one.figures);
        break;
      case "use":
        expect(describeUse(one.answered, double(one.spent), LIMIT)).toBe(one.text);
    }
  }
});

test("a participant is told the same about a policy's reports, NULL and certificate", async () => {
  for (const one of all.filter((found) => found.kind === "policy")) {
    const policy = await policyOf(one.policy);
    for (const [place, text, figures] of one.reports) {
      expect(describeReport(policy, place)).toBe(text);
      expect(reportFigures(policy, place)).toBe(figures);
    }
    expect(describeNull(policy.nullEpsilon)).toBe(one.null);
    expect(nullFigures(policy.nullEpsilon)).toBe(one.null_figures);
    const found = certify(policy);
    const worst = found.witness === null ? null : [found.witness.sender, found.witness.other, found.witness.symbol];
    // Of pairs that are equally bad either may be shown.
    if (JSON.stringify(worst) === JSON.stringify(one.worst)) expect(explain(found)).toBe(one.explained);
    else expect(explain(found).replace(/The worst pair[^;]*;/, "")).toBe(one.explained.replace(/The worst pair[^;]*;/, ""));
  }
});

const LIMIT = 3 * Math.log(4);
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
  readonly figures: string | null;
}
interface LifetimeCase {
  readonly kind: "lifetime";
  readonly answered: number;
  readonly spent: string;
  readonly more: string;
  readonly limit: string;
  readonly refused: string | null;
  readonly figures: string | null;
}

test("announcements are accepted or refused alike, in the same words and with the same figures", async () => {
  const NOT_VALID = "The campaign's announcement is not valid";
  for (const one of cases<TermsCase | LifetimeCase>("terms")) {
    const error = await thrownBy(() =>
      one.kind === "terms"
        ? checkAnnouncement(readAnnouncement(utf8(one.info)), DEFAULT_LIMITS)
        : checkLifetime(one.answered, double(one.spent), double(one.more), double(one.limit)),
    );
    if (one.refused?.startsWith(NOT_VALID) === true) expect(error?.message).toContain(NOT_VALID);
    else expect(error?.message ?? null).toBe(one.refused);
    expect(error instanceof CampaignRefused ? error.figures : null).toBe(one.figures);
  }
});

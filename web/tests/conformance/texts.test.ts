import { expect, test } from "vitest";
import { explain } from "../../src/core/certify/certificate";
import { certify } from "../../src/core/certify/checker";
import { describeUseOfAnswers } from "../../src/core/client/device_status";
import type { LedgerEntry } from "../../src/core/client/events";
import {
  BEING_CHOSEN,
  BORDER,
  describeCost,
  describeInformation,
  describeLedger,
  describeLoss,
  describePlace,
  describePresence,
  describeReport,
  describeRequest,
  describeSymbol,
  EDGE,
  informationFigures,
  ledgerFigures,
  lossFigures,
  ONCE,
  presenceFigures,
  RECORD,
  reportFigures,
  RULES,
  TOLD_BY_TAKING_PART,
} from "../../src/core/client/explain";
import { exact, fixed, general, inPlainWords, percentFixed, percentUp, roundedUp, roundedUpBelow } from "../../src/core/formatting";
import { NOTHING_SPENT, type Charge, type Spent } from "../../src/core/limits/charge";
import { DEFAULT_LIMITS, type Span } from "../../src/core/limits/privacy_limits";
import { cases, double, policyOf } from "./vectors";

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
  readonly spent: number;
  readonly text: string;
  readonly figures: string;
  readonly cost: string;
}
interface PresenceCase {
  readonly kind: "presence";
  readonly null_epsilon: string | null;
  readonly grade_epsilon: string | null;
  readonly lower_deltas: readonly number[];
  readonly spent: number;
  readonly text: string;
  readonly without_place: string;
  readonly figures: string;
}
interface LedgerCase {
  readonly kind: "ledger";
  readonly spent: number;
  readonly span: Span;
  readonly text: string;
  readonly figures: string;
}
interface PolicyCase {
  readonly kind: "policy";
  readonly policy: string;
  readonly reports: readonly [
    cell: number,
    grade: number,
    place: string,
    text: string,
    figures: string,
    excluded: string,
    named: string,
  ][];
  readonly information: string;
  readonly information_figures: string;
  readonly explained: string;
}
interface SymbolCase {
  readonly kind: "symbol";
  readonly name: string;
  readonly text: string;
  readonly named: string;
}
interface RequestCase {
  readonly kind: "request";
  readonly name: string;
  readonly rounds: number;
  readonly panel: boolean;
  readonly renewal_s: number | null;
  readonly round: number;
  readonly text: string;
}
interface UseCase {
  readonly kind: "use";
  readonly selections: number;
  readonly chosen: readonly number[];
  readonly text: string;
  /** Of the same answer twice, in rounds 1 and 3. */
  readonly again: string;
}
interface ConstantsCase {
  readonly kind: "constants";
  readonly texts: readonly string[];
}
type WordCase = NumberCase | LossCase | PresenceCase | LedgerCase | PolicyCase | SymbolCase | RequestCase | UseCase | ConstantsCase;
const all = cases<WordCase>("words");

const [LN4, LN16, LN64] = [Math.log(4), Math.log(16), Math.log(64)];
const SPENT: readonly Spent[] = [
  NOTHING_SPENT,
  { epsilonPerKm: LN4, nullEpsilon: LN64, clearReports: 0, reports: 1 },
  { epsilonPerKm: 2 * LN4, nullEpsilon: LN16, clearReports: 1, reports: 1200 },
];
const NEIGHBOURS_KM = [0.25, 1.0004, 2.5];
const NAMES = new Map([
  [3, "the library"],
  [7, "the station"],
]);
const spentOf = (number: number): Spent => SPENT[number] as Spent;

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

test("a participant is told the same about losses, being in the area, costs and the ledger", () => {
  for (const one of all) {
    switch (one.kind) {
      case "loss": {
        const epsilon = double(one.epsilon);
        const spent = spentOf(one.spent);
        const charge: Charge = { epsilonPerKm: epsilon, nullEpsilon: epsilon, clear: false };
        const neighbourKm = NEIGHBOURS_KM[one.spent] as number;
        expect(describeLoss(epsilon, spent, neighbourKm)).toBe(one.text);
        expect(lossFigures(epsilon, spent, neighbourKm)).toBe(one.figures);
        expect(describeCost(charge, spent, DEFAULT_LIMITS)).toBe(one.cost);
        break;
      }
      case "presence": {
        const terms = {
          nullEpsilon: one.null_epsilon === null ? null : double(one.null_epsilon),
          gradeEpsilon: one.grade_epsilon === null ? null : double(one.grade_epsilon),
          lowerDeltas: one.lower_deltas,
        };
        expect(describePresence(terms, spentOf(one.spent))).toBe(one.text);
        expect(describePresence(terms, spentOf(one.spent), false)).toBe(one.without_place);
        expect(presenceFigures(terms, spentOf(one.spent))).toBe(one.figures);
        break;
      }
      case "ledger": {
        const limits = { ...DEFAULT_LIMITS, span: one.span };
        expect(describeLedger(ENTRIES, spentOf(one.spent), limits)).toBe(one.text);
        expect(ledgerFigures(ENTRIES, spentOf(one.spent), limits)).toBe(one.figures);
        break;
      }
      case "symbol":
        expect(describeSymbol(one.name)).toBe(one.text);
        expect(describeSymbol(one.name, NAMES)).toBe(one.named);
        break;
      case "constants":
        expect([BORDER, EDGE, RECORD, TOLD_BY_TAKING_PART, BEING_CHOSEN, ONCE, ...Object.values(RULES)]).toEqual(one.texts);
    }
  }
});

test("a participant is told the same about who asks, and about what an answer was used for", () => {
  const seen = new Set<string>();
  for (const one of all) {
    if (one.kind === "request") expect(describeRequest({ ...one, renewalS: one.renewal_s }, one.round)).toBe(one.text);
    else if (one.kind === "use") {
      expect(describeUseOfAnswers([{ ...one, round: 0 }])).toBe(one.text);
      expect(describeUseOfAnswers([{ ...one, round: 0 }, { ...one, round: 2 }])).toBe(one.again);
    }
    else continue;
    seen.add(one.text);
  }
  expect(seen.size).toBeGreaterThan(30);
});

test("a participant is told the same about a policy's reports, information and certificate", async () => {
  /** Of pairs that are equally bad either may be shown. */
  const withoutPairs = (text: string): string => text.replace(/The worst (pair|ratio)[^;]*;/g, "");
  for (const one of all.filter((found) => found.kind === "policy")) {
    const policy = await policyOf(one.policy);
    for (const [cell, grade, place, text, figures, excluded, named] of one.reports) {
      expect(describePlace(policy.area, { cell, grade }, policy, true)).toBe(excluded);
      expect(describePlace(policy.area, { cell, grade }, policy)).toBe(place);
      expect(describeReport(policy, { cell, grade })).toBe(text);
      expect(describeReport(policy, { cell, grade }, NAMES)).toBe(named);
      expect(reportFigures(policy, { cell, grade })).toBe(figures);
    }
    expect(describeInformation(policy)).toBe(one.information);
    expect(informationFigures(policy)).toBe(one.information_figures);
    expect(withoutPairs(explain(certify(policy)))).toBe(withoutPairs(one.explained));
  }
});

const NO_ENTRY: Omit<LedgerEntry, "key" | "state"> = {
  name: "",
  offer: "",
  server: "",
  termsHash: "",
  secret: "",
  invite: "",
  participant: -1,
  round: -1,
  policyHash: "",
  charge: null,
  symbol: null,
  symbolName: "",
  receiptDigest: "",
  reason: "",
  at: "2026-01-02T03:04:05+00:00",
  notice: null,
};
const keyOf = (server: string, campaign: string) => ({ serverKey: server.repeat(32), campaign, report: 0 });
const ENTRIES: LedgerEntry[] = [
  {
    ...NO_ENTRY,
    key: keyOf("ab", "winter-air"),
    name: "Winter air",
    server: "https://crowd.example.org",
    charge: { epsilonPerKm: LN4, nullEpsilon: LN64, clear: false },
    symbol: 3,
    symbolName: "cell 17, grade 2",
    state: "acknowledged",
  },
  {
    ...NO_ENTRY,
    key: keyOf("cd", "noise"),
    charge: { epsilonPerKm: 0.5, nullEpsilon: 0, clear: true },
    symbol: 0,
    symbolName: "hit",
    state: "refused",
    reason: "too late",
  },
  { ...NO_ENTRY, key: keyOf("cd", "light"), state: "joining" },
  { ...NO_ENTRY, key: keyOf("cd", "rain"), charge: { epsilonPerKm: 0.1, nullEpsilon: 0.1, clear: false }, symbol: 1, state: "withdrawn" },
];

import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../src/core/codec";
import { utf8 } from "../../src/core/platform/bytes";
import { sha256Hex } from "../../src/core/platform/sha256";
import {
  readAnnouncement,
  readReceipt,
  readSeat,
  readStatus,
  readWithdrawal,
  reportBytes,
  seatRequestBytes,
} from "../../src/core/wire/participant";
import { readProblem } from "../../src/core/wire/problem";
import { cases, json, refusal } from "./vectors";

interface ReportCase {
  readonly kind: "report";
  readonly symbol: number | null;
  readonly round: number;
  readonly policy_hash: string;
  readonly bytes: string;
  readonly digest: string;
  readonly receipt: string;
}
interface SeatRequestCase {
  readonly kind: "enrolment";
  readonly secret: string;
  readonly invite: string | null;
  readonly bytes: string;
}
interface ReadCase {
  readonly kind: keyof typeof READERS;
  readonly body: string;
  readonly ok: boolean;
}

const READERS = {
  Announcement: readAnnouncement,
  Seat: readSeat,
  Receipt: readReceipt,
  ParticipantStatus: readStatus,
  Problem: readProblem,
  Withdrawal: readWithdrawal,
} as const;
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const all = cases<ReportCase | SeatRequestCase | ReadCase>("messages");

describe("messages", () => {
  test("reports have the same bytes and digests, and one length", () => {
    const reports = all.filter((one) => one.kind === "report");
    for (const one of reports) {
      const bytes = reportBytes({ round: one.round, policyHash: one.policy_hash }, one.symbol);
      expect(text(bytes)).toBe(one.bytes);
      expect(sha256Hex(bytes)).toBe(one.digest);
      expect(readReceipt(utf8(one.receipt)).digest).toBe(one.digest);
    }
    expect(new Set(reports.map((one) => one.bytes.length)).size).toBe(1);
  });

  test("seat requests have the same bytes", () => {
    for (const one of all.filter((found) => found.kind === "enrolment")) {
      expect(text(seatRequestBytes(one.secret, one.invite))).toBe(one.bytes);
    }
  });

  test("what the server says is read, or refused, alike", async () => {
    const seen = { ok: 0, refused: 0 };
    for (const one of all) {
      if (one.kind === "report" || one.kind === "enrolment") continue;
      const said = await refusal(() => READERS[one.kind](utf8(one.body)));
      expect(said === null, `${one.kind} ${one.body.slice(0, 600)}: ${String(said)}`).toBe(one.ok);
      seen[one.ok ? "ok" : "refused"] += 1;
    }
    expect(Math.min(seen.ok, seen.refused)).toBeGreaterThan(20);
  });

  test("canonical texts are the same, and what is not JSON is refused", async () => {
    for (const one of cases<{ text: string; canonical: string | null }>("canonical")) {
      let found: string | null = null;
      const said = await refusal(() => (found = canonicalJson(json(one.text))));
      expect(said === null ? found : null, one.text).toBe(one.canonical);
    }
  });
});

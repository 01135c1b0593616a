import { expect, test } from "vitest";
import { keyOf } from "../../src/core/client/device";
import { formatLink, parseLink } from "../../src/core/client/invite_link";
import { Ledger } from "../../src/core/client/ledger";
import { MemoryStorage } from "../../src/core/client/ledger_storage";
import type { Spent } from "../../src/core/limits/charge";
import { readLimits } from "../../src/core/limits/privacy_limits";
import { utf8 } from "../../src/core/platform/bytes";
import { readAnnouncement } from "../../src/core/wire/participant";
import type { RoundNotice } from "../../src/core/wire/terms";
import { cases, double, thrownBy } from "./vectors";

interface SpentFields {
  readonly epsilon_per_km: string;
  readonly null_epsilon: string;
  readonly clear_reports: number;
  readonly reports: number;
}
interface ExportedCase {
  readonly kind: "ledger";
  readonly text: string;
  readonly error: null;
  readonly now: string;
  readonly again: string | null;
  readonly spent: SpentFields;
  readonly spent_ever: SpentFields;
  readonly limits: Readonly<Record<string, unknown>>;
  readonly entries: readonly (readonly unknown[])[];
}
interface RefusedCase {
  readonly kind: "ledger";
  readonly text: string;
  readonly error: string;
}
interface LinkCase {
  readonly kind: "link";
  readonly text: string;
  readonly link: Readonly<Record<string, string | null>> | null;
  readonly formatted: readonly [string, string] | null;
}
interface KeyCase {
  readonly kind: "key";
  readonly announcement: string;
  readonly key: readonly [serverKey: string, campaign: string, report: number];
}

const all = cases<ExportedCase | RefusedCase | LinkCase | KeyCase>("ledgers");

function spentOf(fields: SpentFields): Spent {
  const [epsilonPerKm, nullEpsilon] = [double(fields.epsilon_per_km), double(fields.null_epsilon)];
  return { epsilonPerKm, nullEpsilon, clearReports: fields.clear_reports, reports: fields.reports };
}

test("a ledger that Python exported says the same here, and goes back byte for byte", async () => {
  const found = all.filter((one): one is ExportedCase => one.kind === "ledger" && one.error === null);
  expect(found).toHaveLength(2);
  for (const one of found) {
    const ledger = new Ledger(new MemoryStorage(), () => one.now);
    await ledger.import(one.text);
    expect(await ledger.spent()).toEqual(spentOf(one.spent));
    expect(await ledger.spentEver()).toEqual(spentOf(one.spent_ever));
    expect(await ledger.limits()).toEqual(readLimits(one.limits));
    const entries = (await ledger.entries()).map(({ key, state, symbol, symbolName, secret, invite, server, at }) => [
      ...[key.serverKey, key.campaign, key.report, state, symbol, symbolName, secret, invite, server, at],
    ]);
    expect(entries).toEqual(one.entries);
    if (one.again !== null) expect(await ledger.export()).toBe(one.again);
  }
});

test("files that are no whole export are refused in the same words", async () => {
  const said = new Set<string>();
  for (const one of all) {
    if (one.kind !== "ledger" || one.error === null) continue;
    const error = await thrownBy(() => new Ledger(new MemoryStorage()).import(one.text));
    expect(error, one.text.slice(0, 80)).not.toBeNull();
    // What is wrong with a value deep inside is shown as each language shows values.
    const words = (text: string): string => text.replace(/\(.*\)|event \d+.*/s, "");
    expect(words(error?.message ?? "")).toBe(words(one.error));
    said.add(words(one.error));
  }
  expect(said.size).toBeGreaterThan(4);
});

test("invite links are read, refused and written alike", async () => {
  for (const one of all.filter((found) => found.kind === "link")) {
    const error = await thrownBy(() => parseLink(one.text));
    expect(error === null, `${one.text}: ${String(error)}`).toBe(one.link !== null);
    if (one.link === null) continue;
    const link = parseLink(one.text);
    const { server, campaign, invite, key, termsHash, policyHash } = link;
    expect({ server, campaign, invite, key, terms_hash: termsHash, policy_hash: policyHash }).toEqual(one.link);
    expect([formatLink(link), formatLink(link, "https://page.example.net/")]).toEqual(one.formatted);
  }
});

test("a report is known by the same key: in a panel every round has one of its own", () => {
  const found = all.filter((one) => one.kind === "key");
  for (const one of found) {
    const announcement = readAnnouncement(utf8(one.announcement));
    const { serverKey, campaign, report } = keyOf({ announcement, notice: announcement.notice as RoundNotice });
    expect([serverKey, campaign, report]).toEqual(one.key);
  }
  expect(new Set(found.map(({ key }) => key[2]))).toEqual(new Set([0, 1, 2]));
});

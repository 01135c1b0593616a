// Plays what a hostile server offers against the browser's device; it answers and refuses exactly where the one in Python does.

import { describe, expect, test } from "vitest";
import { DEFAULT_ENVIRONMENT, DEFAULT_SETTINGS, Device } from "../../src/core/client/device";
import type { InviteLink } from "../../src/core/client/invite_link";
import { Ledger } from "../../src/core/client/ledger";
import { MemoryStorage } from "../../src/core/client/ledger_storage";
import { ParticipantClient } from "../../src/core/client/participant_client";
import { DEFAULT_RETRY_POLICY } from "../../src/core/client/retry";
import type { HttpReply, HttpRequest, Transport } from "../../src/core/client/transport";
import { canonicalJson, type Plain } from "../../src/core/codec";
import { utf8, type Bytes } from "../../src/core/platform/bytes";
import { sha256Hex } from "../../src/core/platform/sha256";
import { DEFAULT_LIMITS } from "../../src/core/limits/privacy_limits";
import { base64, cases, refusal } from "../conformance/vectors";

interface Step {
  readonly url: string;
  readonly campaign: string;
  readonly at: string;
  readonly renew: boolean;
  readonly announcement: string;
  readonly policy: string;
  readonly seat: Readonly<Record<string, Plain>>;
  readonly link: Readonly<Record<"server" | "campaign" | "invite" | "key" | "terms_hash" | "policy_hash", string | null>> | null;
  readonly refused: string | null;
}

interface Attack {
  readonly name: string;
  readonly steps: readonly Step[];
}

class HostileServer implements Transport {
  readonly requests: HttpRequest[] = [];

  constructor(private readonly step: Step) {}

  send(request: HttpRequest): Promise<HttpReply> {
    this.requests.push(request);
    return Promise.resolve({ status: 200, retryAfter: "", body: this.answer(request) });
  }

  private answer(request: HttpRequest): Bytes {
    const { campaign, announcement, policy, seat } = this.step;
    const common = { protocol: 1, campaign, participant: 7 };
    if (request.path.endsWith("/policy")) return base64(policy);
    if (request.path.endsWith("/seats")) return utf8(canonicalJson({ ...common, ...seat }));
    if (request.path.endsWith("/report")) {
      const body = JSON.parse(new TextDecoder().decode(request.body ?? new Uint8Array())) as { readonly round: number };
      const digest = sha256Hex(new TextDecoder().decode(request.body ?? new Uint8Array()));
      return utf8(canonicalJson({ ...common, round: body.round, digest }));
    }
    return utf8(announcement);
  }
}

function linkOf(step: Step): InviteLink | null {
  if (step.link === null) return null;
  const { server, campaign, invite, key, terms_hash: termsHash, policy_hash: policyHash } = step.link;
  return { server: server ?? "", campaign: campaign ?? "", invite, key: key ?? "", termsHash: termsHash ?? "", policyHash };
}

describe("a hostile server", () => {
  const attacks = cases<Attack>("attacks");

  test.each(attacks.map((attack) => [attack.name, attack] as const))("%s", async (_, { steps }) => {
    let now = steps[0]?.at ?? "";
    const ledger = new Ledger(new MemoryStorage(), () => now);
    await ledger.create(DEFAULT_LIMITS);
    let answered = 0;
    for (const [number, step] of steps.entries()) {
      const server = new HostileServer(step);
      now = step.at;
      const line = new ParticipantClient(server, DEFAULT_RETRY_POLICY, () => Promise.resolve());
      const environment = { ...DEFAULT_ENVIRONMENT, sleep: (): Promise<void> => Promise.resolve() };
      const device = new Device(DEFAULT_SETTINGS, ledger, line, step.url, environment);
      const before = await ledger.spent();
      const join = (): unknown =>
        device[step.renew ? "renew" : "join"](step.campaign, () => ({ cell: 0, grade: 0 }), { agree: () => true, link: linkOf(step) });
      expect(await refusal(join), `step ${number}: ${step.campaign}`).toBe(step.refused);
      const sent = server.requests.some(({ method }) => method === "PUT");
      if (step.refused !== null) {
        expect(sent).toBe(false);
        expect(await ledger.spent()).toEqual(before);
      }
      answered += Number(sent);
    }
    expect((await ledger.spent()).reports).toBe(answered);
  });

  test("is refused most of the time, and answered where nothing speaks against it", () => {
    const refused = attacks.flatMap(({ steps }) => steps.map((step) => step.refused !== null));
    expect(refused.filter((one) => one).length).toBeGreaterThan(25);
    expect(refused.filter((one) => !one).length).toBeGreaterThan(8);
  });
});

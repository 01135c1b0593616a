// Small policies, and a server that answers in the same process, can lose requests and replies, and counts what it gets.

import { readArea } from "../../src/core/area/area";
import type { HttpReply, HttpRequest, Transport } from "../../src/core/client/transport";
import { canonicalJson, parseJson, type Plain } from "../../src/core/codec";
import { ServerUnreachable } from "../../src/core/errors";
import { concat, fromHex, utf8, type Bytes } from "../../src/core/platform/bytes";
import { sha256Hex } from "../../src/core/platform/sha256";
import { readWeights } from "../../src/core/policy/encoding";
import { Policy } from "../../src/core/policy/policy";

export const GRID = `{"cell_m":1000,"columns":5,"first_centre_m":[-2000,-2000],"kind":"grid","origin_e7":[481000000,115000000],"rows":5}`;
export const CAMPAIGN = "winter-air";

export interface Made {
  readonly bits?: number;
  readonly epsilonPerKm?: number;
  readonly nullEpsilon?: number;
  readonly hit?: (cell: number) => bigint;
}

/** A policy over 5 x 5 squares; by default every cell sends `hit` one time in four. */
export async function makePolicy({ bits = 12, epsilonPerKm = 1, nullEpsilon, hit }: Made = {}): Promise<Policy> {
  const area = await readArea(parseJson(GRID, "area"));
  const quarter = 1n << BigInt(bits - 2);
  const weights = Array.from({ length: area.cells }, (_, cell) => hit?.(cell) ?? quarter);
  return new Policy({
    area,
    epsilonPerKm,
    targets: [12],
    weights: readWeights(weights, 2, bits),
    symbols: ["hit", "other"],
    selecting: [0],
    bits,
    completion: null,
    value: 0.04,
    beta: 0.25,
    provenance: new Map(),
    nullEpsilon: nullEpsilon ?? null,
    nullWeights: nullEpsilon === undefined ? null : readWeights([quarter], 2, bits),
  });
}

export async function packed(policy: Policy): Promise<Bytes> {
  const stream = new Blob([policy.canonicalBytes()]).stream().pipeThrough(new CompressionStream("deflate"));
  const body = new Uint8Array(await new Response(stream).arrayBuffer());
  return concat([utf8("crowdveil-policy-1\n"), fromHex(policy.hash) as Bytes, body]);
}

export class FakeServer implements Transport {
  readonly requests: HttpRequest[] = [];
  readonly uploads = new Map<string, string>();
  announced: Record<string, Plain> = {};
  /** Says of each request whether it, or its reply, is lost. */
  faults: (number: number) => "request" | "reply" | "busy" | null = () => null;
  problem: { readonly path: string; readonly reply: HttpReply } | null = null;

  constructor(private readonly policy: Policy) {}

  async send(request: HttpRequest): Promise<HttpReply> {
    this.requests.push(request);
    const fault = this.faults(this.requests.length);
    if (fault === "request") throw new ServerUnreachable("lost on its way");
    if (fault === "busy") return problem(503, "unavailable", "The server cannot store anything at the moment; send the same request again");
    const reply = await this.answer(request);
    if (fault === "reply") throw new ServerUnreachable("its answer was lost");
    return reply;
  }

  private async answer(request: HttpRequest): Promise<HttpReply> {
    const path = request.path.slice(`/v1/campaigns/${CAMPAIGN}`.length);
    if (this.problem?.path === path) return this.problem.reply;
    const seat = { protocol: 1, campaign: CAMPAIGN, participant: 7, round: 0, policy_hash: this.policy.hash };
    switch (path) {
      case "":
        return ok(utf8(infoText(this.policy, this.announced)));
      case "/rounds/0/policy":
        return ok(await packed(this.policy));
      case "/seats":
        return ok(utf8(canonicalJson(seat)));
      case "/report": {
        const body = new TextDecoder().decode(request.body ?? new Uint8Array());
        const secret = request.headers["authorization"] ?? "";
        if (!this.uploads.has(secret)) this.uploads.set(secret, body);
        const digest = sha256Hex(this.uploads.get(secret) ?? "");
        return ok(utf8(canonicalJson({ protocol: 1, campaign: CAMPAIGN, participant: 7, round: 0, digest })));
      }
      default:
        return problem(404, "not-found", "Not found");
    }
  }
}

export function problem(status: number, kind: string, title: string): HttpReply {
  const body = canonicalJson({ type: `/problems/${kind}`, title, status, detail: title });
  return { status, retryAfter: "", body: utf8(body) };
}

function ok(body: Bytes): HttpReply {
  return { status: 200, retryAfter: "", body };
}

/** Reals stand in it as JSON writes them, so it is no canonical text. */
export function infoText(policy: Policy, announced: Record<string, Plain> = {}): string {
  const info: Record<string, Plain> = {
    protocol: 1,
    campaign: CAMPAIGN,
    name: "Winter air",
    offer: "A sensor",
    area: policy.area.description,
    targets: policy.targets,
    rule: "random",
    period: "week",
    enrolment: "open",
    rounds: 3,
    round: 0,
    policy_hash: policy.hash,
    state: "open",
    ...announced,
  };
  const text = canonicalJson(info).slice(0, -1);
  const reals: [string, number | null][] = [
    ["epsilon_per_km", policy.epsilonPerKm],
    ["delta", 0.5],
    ["null_epsilon", policy.nullEpsilon],
  ];
  const more = reals.filter(([name]) => !(name in announced)).map(([name, value]) => `,"${name}":${String(value)}`);
  return `${text}${more.join("")}}`;
}

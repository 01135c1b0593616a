// Small policies, and a server that answers in the same process, can lose requests and replies, and counts what it gets.

import { getPublicKey, hashes, sign } from "@noble/ed25519";
import { sha512 } from "@noble/hashes/sha2.js";
import { readArea } from "../../src/core/area/area";
import type { HttpReply, HttpRequest, Transport } from "../../src/core/client/transport";
import { canonicalJson, jsonText, parseJson, type JsonObject, type Plain } from "../../src/core/codec";
import { ServerUnreachable } from "../../src/core/errors";
import { concat, fromHex, toHex, utf8, type Bytes } from "../../src/core/platform/bytes";
import { sha256Hex } from "../../src/core/platform/sha256";
import { readColumns, withLast } from "../../src/core/policy/encoding";
import { Policy } from "../../src/core/policy/policy";
import { MessageReader } from "../../src/core/wire/message";
import { readTerms } from "../../src/core/wire/terms";

hashes.sha512 = sha512;

export const GRID = `{"cell_m":1000,"columns":5,"first_centre_m":[-2000,-2000],"kind":"grid","origin_e7":[481000000,115000000],"rows":5}`;
export const CAMPAIGN = "winter-air";
export const SERVER = "https://crowd.example.org";
export const SERVER_SECRET = new Uint8Array(32).fill(7);
export const SERVER_KEY = toHex(getPublicKey(SERVER_SECRET));
export const KEY = { serverKey: SERVER_KEY, campaign: CAMPAIGN, report: 0 } as const;

export interface Made {
  readonly bits?: number;
  readonly epsilonPerKm?: number;
  readonly nullEpsilon?: number;
  readonly gradeEpsilon?: number;
  /** The paper's form: no grades, and "no frequent place" is said openly. */
  readonly clear?: boolean;
  readonly hit?: (cell: number) => bigint;
}

/**
 * A policy over 5 x 5 squares, protected unless it should be clear; by default every input sends every symbol one time in four
 * (in the clear form `hit` one time in four).
 */
export async function makePolicy({ bits = 12, epsilonPerKm = 1, nullEpsilon = 2, gradeEpsilon = 2, clear = false, hit }: Made = {}): Promise<Policy> {
  const area = await readArea(parseJson(GRID, "area"));
  const quarter = 1n << BigInt(bits - 2);
  const hits = Array.from({ length: area.cells }, (_, cell) => hit?.(cell) ?? quarter);
  const rows = [...hits, ...hits, quarter].map((weight) => [weight, quarter, quarter]);
  return new Policy({
    area,
    epsilonPerKm,
    targets: [12],
    weights: withLast([clear ? readColumns(hits, 1) : readColumns(rows, 3)], bits),
    symbols: clear ? ["hit", "other"] : ["hit", "outside", "grade 1", "grade 2"],
    selecting: [0],
    bits,
    completion: null,
    value: 0.04,
    beta: 0.25,
    provenance: new Map(),
    nullEpsilon: clear ? null : nullEpsilon,
    gradeEpsilon: clear ? null : gradeEpsilon,
    grades: clear ? 1 : 2,
    peaks: null,
    values: [],
  });
}

/** A policy over the same squares with a symbol for each of two targets, which are not sorted. */
export async function makeStack(): Promise<Policy> {
  const { fields } = await makePolicy({ bits: 30 });
  const quarter = 1n << 28n;
  return new Policy({
    ...fields,
    targets: [12, 7],
    weights: readColumns(Array.from({ length: fields.weights.rows }, () => [quarter, quarter]), 2),
    symbols: ["place 12", "place 7", "outside", "grade 1", "grade 2"],
    selecting: [0, 1],
    peaks: { symbol: [0, 1], input: [12, 7], weight: [1n << 26n, 1n << 26n], floor: [1n << 20n, 1n << 20n] },
    values: [0.5, 0.25],
  });
}

export async function packed(policy: Policy): Promise<Bytes> {
  const stream = new Blob([policy.canonicalBytes()]).stream().pipeThrough(new CompressionStream("deflate"));
  const body = new Uint8Array(await new Response(stream).arrayBuffer());
  return concat([utf8("crowdveil-policy-1\n"), fromHex(policy.hash) as Bytes, body]);
}

/** A status of the right size, with the offer for someone who was selected. */
function statusText(offer: string, selections: number, chosen: readonly number[]): string {
  const selected = chosen.length > 0;
  const answer = { state: selected ? "selected" : "reported", offer: selected ? offer : null, selections, chosen };
  const bare = { protocol: 1, campaign: CAMPAIGN, participant: 7, ...answer, padding: "" };
  return canonicalJson({ ...bare, padding: " ".repeat(4096 - utf8(canonicalJson(bare)).length) });
}

export class FakeServer implements Transport {
  readonly requests: HttpRequest[] = [];
  readonly uploads = new Map<string, string>();
  announced: Announced = {};
  withdrawn = 0;
  /** Says of each request whether it, or its reply, is lost. */
  faults: (number: number) => "request" | "reply" | "busy" | null = () => null;
  problem: { readonly path: string; readonly reply: HttpReply } | null = null;
  /** What the selected are told. */
  offer = "A sensor";
  /** How many selections there were, and which of them chose whoever asks. */
  selections: readonly [made: number, chosen: readonly number[]] = [1, [0]];

  constructor(private readonly policy: Policy) {}

  /** What a seat says beside the policy. */
  seat: () => Record<string, Plain> = () => ({ terms_hash: termsOf(this.policy, this.announced).hash });

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
    const round = Number(this.announced.notice?.["round"] ?? 0);
    const seat = { protocol: 1, campaign: CAMPAIGN, participant: 7, round, policy_hash: this.policy.hash, ...this.seat() };
    switch (path) {
      case "":
        return ok(utf8(announcementText(this.policy, this.announced)));
      case `/rounds/${round}/policy`:
        return ok(await packed(this.policy));
      case "/seats":
        return ok(utf8(canonicalJson(seat)));
      case "/report": {
        if (request.method === "DELETE") {
          this.withdrawn += 1;
          return ok(utf8(canonicalJson({ protocol: 1, campaign: CAMPAIGN, participant: 7 })));
        }
        const body = new TextDecoder().decode(request.body ?? new Uint8Array());
        const secret = request.headers["authorization"] ?? "";
        if (!this.uploads.has(secret)) this.uploads.set(secret, body);
        const digest = sha256Hex(this.uploads.get(secret) ?? "");
        return ok(utf8(canonicalJson({ protocol: 1, campaign: CAMPAIGN, participant: 7, round, digest })));
      }
      case "/status":
        return ok(utf8(statusText(this.offer, ...this.selections)));
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

/** What a server announces other than usual. */
export interface Announced {
  readonly terms?: Readonly<Record<string, Plain>>;
  readonly notice?: Readonly<Record<string, Plain>> | null;
  readonly state?: string;
}

function termsOf(policy: Policy, { terms = {} }: Announced): { readonly hash: string; readonly fields: Readonly<Record<string, Plain>> } {
  const fields = {
    protocol: 1,
    campaign: CAMPAIGN,
    server_key: SERVER_KEY,
    name: "Winter air",
    offer: "A sensor",
    area: policy.area.description,
    targets: policy.targets,
    target_names: null,
    epsilon_per_km: policy.epsilonPerKm,
    null_epsilon: policy.nullEpsilon,
    grade_epsilon: policy.gradeEpsilon,
    delta: 0.5,
    lower_deltas: policy.gradeEpsilon === null ? [] : Array.from({ length: policy.grades - 2 }, (_, number) => 0.4 / (number + 1)),
    profile_constants: null,
    rule: "random",
    period: "week",
    enrolment: "open",
    rounds: 3,
    panel: false,
    renewal_s: null,
    seed_hash: "5".repeat(64),
    ...terms,
  };
  const read = MessageReader.of("Terms", parseJson(jsonText(fields), "terms") as JsonObject, readTerms);
  return { hash: read.hash, fields };
}

/** An announcement, signed as it should be unless the notice is changed. */
export function announcementText(policy: Policy, announced: Announced = {}): string {
  const { hash, fields } = termsOf(policy, announced);
  const campaign = fields["campaign"] as string;
  const signed = { campaign, terms_hash: hash, round: 0, policy_hash: policy.hash, ...announced.notice };
  const { signature, ...body } = { signature: undefined, ...signed } as Record<string, Plain | undefined>;
  const made = sign(concat([utf8("crowdveil round\n"), utf8(canonicalJson(body as Record<string, Plain>))]), SERVER_SECRET);
  const notice = announced.notice === null ? null : { ...body, signature: signature ?? toHex(made) };
  return jsonText({ protocol: 1, terms: fields, notice: notice as Plain, state: announced.state ?? "open" });
}

// Reading policies: the compact form that a server sends, and JSON. Anything altered, cut short or not in canonical form is
// refused before it is used.

import { readArea } from "../area/area";
import {
  asList,
  asObject,
  parseJson,
  realNumber,
  refuseUnknown,
  required,
  wholeNumber,
  wholeNumbers,
  type Json,
  type JsonObject,
} from "../codec";
import { FileFormatError, show } from "../errors";
import { equalBytes, hexToDouble, toHex, type Bytes } from "../platform/bytes";
import { inflate } from "../platform/inflate";
import { sha256 } from "../platform/sha256";
import { MAX_TABLE_ENTRIES, packedBytes, readWeights, unpackWeights, type Weights } from "./encoding";
import { FORMAT, inputCount, MAX_BITS, MAX_GRADES, Policy, VERSION, type Completion } from "./policy";

const MAGIC = new TextEncoder().encode("crowdveil-policy-1\n");
const HASH_BYTES = 32;
const MAX_HEADER_BYTES = 2 ** 25;
const MAX_UNPACKED_BYTES = MAX_HEADER_BYTES + 2 * 8 * MAX_TABLE_ENTRIES;
const REALS = ["epsilon_per_km", "value", "beta"] as const;
const HEADER_FIELDS = ["format", "version", "area", "bits", "targets", "symbols", "selecting", "provenance"];
const FIELDS = new Set([...HEADER_FIELDS, ...REALS, "hash", "weights", "completion", "null_epsilon", "grade_epsilon", "grades"]);
const MAX_INPUTS = 16_000_001;

/** Where the weights come from: the bytes after the header, or lists of the document. */
interface WeightSource {
  first(inputs: number, symbols: number, bits: number): Weights;
  completion(refined: JsonObject, symbols: number, bits: number): Weights;
}

/** Read the compact form: magic, hash, and the canonical form as a zlib stream. */
export async function policyFromBytes(data: Bytes): Promise<Policy> {
  if (data.length < MAGIC.length + HASH_BYTES || !equalBytes(data.subarray(0, MAGIC.length), MAGIC)) {
    throw new FileFormatError("policy: does not begin like a crowdveil policy file");
  }
  const digest = data.subarray(MAGIC.length, MAGIC.length + HASH_BYTES);
  const canonical = await inflate(data.subarray(MAGIC.length + HASH_BYTES), MAX_UNPACKED_BYTES, "policy");
  if (!equalBytes(sha256(canonical), digest)) {
    throw new FileFormatError("policy: the content does not match its hash; it was altered");
  }
  const policy = await fromCanonical(canonical);
  if (policy.hash !== toHex(digest)) throw new FileFormatError("policy: its bytes are not in canonical form");
  return policy;
}

/** Read the JSON form. */
export async function policyFromJson(text: string): Promise<Policy> {
  const document = checkFormat(parseJson(text, "policy"));
  const policy = await build(document, (field) => realNumber(field, required("policy", document, field)), {
    first: (_, symbols, bits) => readWeights(required("policy", document, "weights"), symbols, bits),
    completion: (refined, symbols, bits) => readWeights(required("completion", refined, "weights"), symbols, bits),
  });
  const claimed = document.get("hash");
  if (policy.hash !== claimed) {
    throw new FileFormatError(`policy: hash = ${show(claimed)} but the content has ${policy.hash}; it was altered`);
  }
  return policy;
}

async function fromCanonical(canonical: Bytes): Promise<Policy> {
  if (canonical.length < 8) throw new FileFormatError("policy: cut short");
  const size = new DataView(canonical.buffer).getBigUint64(0);
  if (size > BigInt(MAX_HEADER_BYTES)) {
    throw new FileFormatError(`policy: a header of ${size} bytes; at most ${MAX_HEADER_BYTES}`);
  }
  const end = 8 + Number(size);
  const header = checkFormat(parseJson(new TextDecoder("utf-8").decode(canonical.subarray(8, end)), "policy"));
  for (const field of ["hash", "weights"]) {
    if (header.has(field)) throw new FileFormatError(`policy: ${field} do not stand in the header`);
  }
  let at = end;
  const take = (rows: number, symbols: number, bits: number): Weights => {
    const from = at;
    at += packedBytes(rows, symbols, bits);
    return unpackWeights(canonical.subarray(from, at), rows, symbols, bits);
  };
  const policy = await build(header, (field) => realOfHex(field, header.get(field)), {
    first: take,
    completion: (refined, symbols, bits) => {
      const rows = wholeNumber("completion.rows", refined.get("rows"), 1, MAX_INPUTS);
      return take(rows, symbols, bits);
    },
  });
  if (at !== canonical.length) throw new FileFormatError("policy: followed by something else");
  return policy;
}

function checkFormat(document: Json): JsonObject {
  if (!(document instanceof Map) || document.get("format") !== FORMAT) {
    throw new FileFormatError(`policy: not a crowdveil policy (format should be '${FORMAT}')`);
  }
  if (document.get("version") !== BigInt(VERSION)) {
    throw new FileFormatError(
      `policy: version = ${show(document.get("version"))}: this program reads version ${VERSION}`,
    );
  }
  refuseUnknown("policy", document, FIELDS);
  return document;
}

/** Build a policy from the fields that both forms share; weights are taken in the order in which bytes hold them. */
async function build(document: JsonObject, real: (field: string) => number, source: WeightSource): Promise<Policy> {
  const get = (field: string): Json => required("policy", document, field);
  const bits = wholeNumber("bits", get("bits"), 1, MAX_BITS);
  const symbols = asList("policy: symbols", get("symbols")).map((name) => {
    if (typeof name !== "string") throw new FileFormatError("policy: symbols should be a list of names");
    return name;
  });
  if (symbols.length < 2) throw new FileFormatError("policy: symbols should be two or more names");
  const area = await readArea(get("area"));
  const grades = document.has("grades") ? wholeNumber("grades", get("grades"), 2, MAX_GRADES) : 1;
  const nullEpsilon = document.has("null_epsilon") ? real("null_epsilon") : null;
  const weights = source.first(inputCount(area.cells, grades, nullEpsilon !== null), symbols.length, bits);
  return new Policy({
    area,
    epsilonPerKm: real("epsilon_per_km"),
    targets: wholeNumbers("targets", get("targets")),
    weights,
    symbols,
    selecting: wholeNumbers("selecting", get("selecting")),
    bits,
    completion: document.has("completion") ? readCompletion(document.get("completion"), bits, source) : null,
    value: real("value"),
    beta: real("beta"),
    provenance: asObject("policy: provenance", get("provenance")),
    nullEpsilon,
    gradeEpsilon: document.has("grade_epsilon") ? real("grade_epsilon") : null,
    grades,
  });
}

function readCompletion(value: Json | undefined, bits: number, source: WeightSource): Completion {
  const refined = asObject("policy: completion", value);
  const cells = wholeNumbers("completion.cells", refined.get("cells"));
  if (cells.length < 2) throw new FileFormatError("completion.cells: should be two or more cells");
  const weights = source.completion(refined, cells.length, bits);
  return { cells, row: wholeNumbers("completion.row", refined.get("row")), weights };
}

function realOfHex(field: string, value: Json | undefined): number {
  const number = typeof value === "string" ? hexToDouble(value) : null;
  if (number === null) throw new FileFormatError(`policy: ${field} = ${show(value)}: should be 16 hexadecimal digits`);
  return number;
}

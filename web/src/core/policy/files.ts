// Reading policies: the compact form that a server sends, and JSON. Anything altered, cut short or not in canonical form is
// refused before it is used.

import { readArea } from "../area/area";
import {
  asList,
  asObject,
  largeWholeNumbers,
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
import { MAX_TABLE_ENTRIES, packedBytes, readColumns, unpackColumns, withLast, type Weights } from "./encoding";
import type { Peaks } from "./peaks";
import { FORMAT, inputCount, MAX_BITS, MAX_GRADES, Policy, VERSION, type Completion } from "./policy";

const MAGIC = new TextEncoder().encode("crowdveil-policy-1\n");
const HASH_BYTES = 32;
const MAX_HEADER_BYTES = 2 ** 25;
const MAX_UNPACKED_BYTES = MAX_HEADER_BYTES + 2 * 8 * MAX_TABLE_ENTRIES;
const REALS = ["epsilon_per_km", "value", "beta"] as const;
const HEADER_FIELDS = ["format", "version", "area", "bits", "targets", "symbols", "selecting", "provenance"];
const OPTIONAL_FIELDS = ["completion", "null_epsilon", "grade_epsilon", "grades", "peaks", "values"];
const FIELDS = new Set([...HEADER_FIELDS, ...REALS, ...OPTIONAL_FIELDS, "hash", "weights"]);
const PEAK_LISTS = new Set(["symbol", "input", "weight", "floor"]);
const MAX_INPUTS = 16_000_001;

/** Where reals and weights, without the last symbol, come from: hexadecimal digits and bytes, or numbers and lists. */
interface FieldSource {
  real(field: string, value: Json): number;
  first(inputs: number, columns: number, bits: number): Weights;
  completion(refined: JsonObject, columns: number, bits: number): Weights;
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
  const policy = await build(document, {
    real: realNumber,
    first: (_, columns) => readColumns(required("policy", document, "weights"), columns),
    completion: (refined, columns) => readColumns(required("completion", refined, "weights"), columns),
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
  const take = (rows: number, columns: number, bits: number): Weights => {
    const from = at;
    at += packedBytes(rows, columns, bits);
    return unpackColumns(canonical.subarray(from, at), rows, columns, bits);
  };
  const policy = await build(header, {
    real: realOfHex,
    first: take,
    completion: (refined, columns, bits) => {
      const rows = wholeNumber("completion.rows", refined.get("rows"), 1, MAX_INPUTS);
      return take(rows, columns, bits);
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
async function build(document: JsonObject, source: FieldSource): Promise<Policy> {
  const get = (field: string): Json => required("policy", document, field);
  const real = (field: string): number => source.real(field, get(field));
  const bits = wholeNumber("bits", get("bits"), 1, MAX_BITS);
  const symbols = asList("policy: symbols", get("symbols")).map((name) => {
    if (typeof name !== "string") throw new FileFormatError("policy: symbols should be a list of names");
    return name;
  });
  if (symbols.length < 2) throw new FileFormatError("policy: symbols should be two or more names");
  const area = await readArea(get("area"));
  const grades = document.has("grades") ? wholeNumber("grades", get("grades"), 2, MAX_GRADES) : 1;
  const nullEpsilon = document.has("null_epsilon") ? real("null_epsilon") : null;
  const peaks = document.has("peaks") ? readPeaks(get("peaks")) : null;
  const columns = symbols.length - 1 - (peaks?.floor.length ?? 0);
  if (columns < 0) throw new FileFormatError("policy: peaks.floor should be shorter than the list of the symbols");
  const first = source.first(inputCount(area.cells, grades, nullEpsilon !== null), columns, bits);
  return new Policy({
    area,
    epsilonPerKm: real("epsilon_per_km"),
    targets: wholeNumbers("targets", get("targets")),
    weights: peaks === null ? withLast([first], bits) : first,
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
    peaks,
    values: document.has("values") ? asList("values", get("values")).map((value) => source.real("values", value)) : [],
  });
}

function readPeaks(value: Json): Peaks {
  const peaks = asObject("policy: peaks", value);
  refuseUnknown("policy: peaks", peaks, PEAK_LISTS);
  const get = (field: string): Json => required("policy: peaks", peaks, field);
  return {
    symbol: wholeNumbers("peaks.symbol", get("symbol")),
    input: wholeNumbers("peaks.input", get("input")),
    weight: largeWholeNumbers("peaks.weight", get("weight")),
    floor: largeWholeNumbers("peaks.floor", get("floor")),
  };
}

function readCompletion(value: Json | undefined, bits: number, source: FieldSource): Completion {
  const refined = asObject("policy: completion", value);
  const cells = wholeNumbers("completion.cells", refined.get("cells"));
  if (cells.length < 2) throw new FileFormatError("completion.cells: should be two or more cells");
  const weights = withLast([source.completion(refined, cells.length - 1, bits)], bits);
  return { cells, row: wholeNumbers("completion.row", refined.get("row")), weights };
}

function realOfHex(field: string, value: Json): number {
  const number = typeof value === "string" ? hexToDouble(value) : null;
  if (number === null) throw new FileFormatError(`policy: ${field} = ${show(value)}: should be 16 hexadecimal digits`);
  return number;
}

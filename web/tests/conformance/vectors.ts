// Reads what `python -m tests.conformance.vectors` wrote. Without it the conformance tests fail rather than pass by default.

import { existsSync, readFileSync } from "node:fs";
import { parseJson, type Json } from "../../src/core/codec";
import { hexToDouble, type Bytes } from "../../src/core/platform/bytes";
import { policyFromBytes } from "../../src/core/policy/files";
import type { Policy } from "../../src/core/policy/policy";

const FOLDER = process.env["CROWDVEIL_VECTORS"] ?? new URL("../../vectors", import.meta.url).pathname;

export function cases<T>(name: string): T[] {
  const path = `${FOLDER}/${name}.jsonl`;
  if (!existsSync(path)) {
    throw new Error(`${path} is missing: run python -m tests.conformance.vectors --out web/vectors`);
  }
  return readFileSync(path, "utf-8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as T);
}

export function double(hex: string): number {
  const value = hexToDouble(hex);
  if (value === null) throw new Error(`${hex}: should be 16 hexadecimal digits`);
  return value;
}

export function base64(text: string): Bytes {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

export function policyOf(text: string): Promise<Policy> {
  return policyFromBytes(base64(text));
}

export function json(text: string): Json {
  return parseJson(text, "vector");
}

/** What an action throws; null if it goes through. */
export async function thrownBy(action: () => unknown): Promise<Error | null> {
  try {
    await action();
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** What an action throws, as text; null if it goes through. */
export async function refusal(action: () => unknown): Promise<string | null> {
  return (await thrownBy(action))?.message ?? null;
}

// One name for one thing: no two modules export the same name.

import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const SOURCE = new URL("../../src/", import.meta.url).pathname;
const EXPORTED = /^export (?:declare |abstract |async )*(?:class|interface|type|enum|function\*?|const|let) +(\w+)/gm;

test("every exported name is defined in one module alone", () => {
  const modules = new Map<string, string[]>();
  for (const path of readdirSync(SOURCE, { recursive: true, encoding: "utf-8" })) {
    if (!/\.(ts|svelte)$/.test(path)) continue;
    for (const [, name = ""] of readFileSync(SOURCE + path, "utf-8").matchAll(EXPORTED)) {
      modules.set(name, [...(modules.get(name) ?? []), path]);
    }
  }
  expect(modules.size).toBeGreaterThan(200);
  expect([...modules].filter(([, paths]) => paths.length > 1)).toEqual([]);
});

// One name for one thing: no two modules export the same name, and the core has the modules of the Python package.

import { existsSync, readdirSync, readFileSync } from "node:fs";
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

const PYTHON = new URL("../../../src/crowdveil/", import.meta.url).pathname;
/** What Python has from its standard library or another one, or keeps in a module beside. */
const ONLY_HERE: readonly RegExp[] = [
  /^platform\//, // bytes, hashes, randomness, exact sums
  /^area\/nearest$/, // a tree of scipy
  /^client\/(indexeddb_storage|ledger_storage)$/, // SQLite
  /^policy\/(checks|files)$/, // policy
  /^traces\/(json_elements|read|seen_texts)$/, // readers that hold a whole file in memory
];

test("every module of the core has the name of its counterpart in Python", () => {
  const modules = readdirSync(`${SOURCE}core`, { recursive: true, encoding: "utf-8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => path.replace(/\.ts$/, ""));
  expect(modules.length).toBeGreaterThan(40);
  const alone = modules.filter((path) => !ONLY_HERE.some((one) => one.test(path)) && !existsSync(`${PYTHON}${path}.py`));
  expect(alone).toEqual([]);
});

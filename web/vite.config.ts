// Every HTML file of this folder is a page: join.html for a participant, console.html for the operator. Their parts are
// served below /pages/, and name one another by relative addresses, so that the participant's page can be exported to any
// folder of any site (`crowdveil page`). Everything is bundled, so no request leaves for another host.

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { readdirSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const folder = fileURLToPath(new URL(".", import.meta.url));
const pages = readdirSync(folder).filter((name) => name.endsWith(".html"));

const PARTS = '<meta name="crowdveil-parts" content="">';

/** Tell the participant's page all parts it may ever ask for, so that it can keep them. What needs a part names it. */
const listParts: Plugin = {
  name: "list-parts",
  generateBundle: {
    order: "post", // styles of parts that are loaded lazily are written into the scripts last
    handler(_, bundle) {
      const page = bundle["join.html"];
      if (page?.type !== "asset") throw new Error("there is no participant's page");
      const found = new Set([page.fileName]);
      for (const file of found) {
        const one = bundle[file];
        const text = one?.type === "chunk" ? one.code : one?.source.toString();
        for (const name of Object.keys(bundle)) if (text?.includes(basename(name))) found.add(name);
      }
      found.delete(page.fileName);
      const named = [...found].map((name) => `/pages/${name}`).join(" ");
      page.source = page.source.toString().replace(PARTS, PARTS.replace('""', `"${named}"`));
    },
  },
};

/** The file that the page starts its worker with. */
const WORKER_ENTRY = /[\\/]join[\\/]worker[\\/]worker\.ts($|\?)/;

/**
 * Fail the build if a chunk of the worker imports the file that the worker is started with.
 *
 * WebKit evaluates that file once as the worker's script and once more as an imported module: two workers in one, which answer
 * each call twice or never. So the entry is a chunk of one import, and everything else imports other chunks.
 */
const keepWorkerEntryApart = (): Plugin => ({
  name: "keep-worker-entry-apart",
  generateBundle(_, bundle) {
    const chunks = Object.values(bundle).filter((one) => one.type === "chunk");
    for (const entry of chunks.filter((one) => one.isEntry)) {
      const importers = chunks.filter((one) => [...one.imports, ...one.dynamicImports].includes(entry.fileName));
      if (importers.length > 0) {
        const names = importers.map((one) => one.fileName).join(", ");
        this.error(`${entry.fileName} starts the worker and is imported by ${names}; WebKit would evaluate it twice`);
      }
      if (!/^import\s*["'][^"']+["'];?\s*$/.test(entry.code)) {
        this.error(`${entry.fileName} starts the worker and should be a single import, not: ${entry.code.slice(0, 80)}`);
      }
    }
  },
});

export default defineConfig({
  base: "/pages/",
  experimental: { renderBuiltUrl: (name, { hostType }) => (hostType === "html" ? `/pages/${name}` : { relative: true }) },
  plugins: [svelte(), listParts],
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    // The browser asks for what a page needs; fetching lazily loaded parts ahead would load H3 for everyone.
    modulePreload: false,
    // An inlined file would need a looser content security policy.
    assetsInlineLimit: 0,
    // On a busy machine the bundler would remark how long it took.
    rolldownOptions: { input: pages.map((name) => folder + name), checks: { bundlerTimings: false } },
  },
  worker: {
    format: "es",
    plugins: () => [keepWorkerEntryApart()],
    rolldownOptions: {
      output: {
        // Whatever the entry needs from the start goes into a chunk of its own; lazily loaded parts import that one.
        codeSplitting: { groups: [{ name: "worker-core", tags: ["$initial"], test: (id) => !WORKER_ENTRY.test(id) }] },
      },
    },
  },
  test: { include: ["tests/**/*.test.ts"], testTimeout: 60_000 },
});

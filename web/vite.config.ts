// Every HTML file of this folder is a page: join.html for a participant, console.html for the operator. Their parts are
// served below /pages/. Everything is bundled, so no request leaves for another host.

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const folder = fileURLToPath(new URL(".", import.meta.url));
const pages = readdirSync(folder).filter((name) => name.endsWith(".html"));

export default defineConfig({
  base: "/pages/",
  plugins: [svelte()],
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
  worker: { format: "es" },
  test: { include: ["tests/**/*.test.ts"], testTimeout: 60_000 },
});

// Two pages: join.html for a participant, console.html for the operator. Their parts are served below /pages/. Everything is
// bundled, so no request leaves for another host.

import { svelte } from "@sveltejs/vite-plugin-svelte";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const page = (name: string): string => fileURLToPath(new URL(`./${name}.html`, import.meta.url));

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
    rolldownOptions: { input: { join: page("join"), console: page("console") } },
  },
  worker: { format: "es" },
  test: { include: ["tests/**/*.test.ts"], testTimeout: 60_000 },
});

// The page without a network: a service worker serves what is put into a cache here. The page names all of its parts, and
// those of its worker (vite.config.ts lists them); it is itself put last, so whatever is kept has all it needs.

import { exportedPage } from "./address";

const CACHE = "crowdveil-pages";
/** On a server the page is at /join/ and its parts at /pages/; an exported page has all in its own folder. */
const FOLDER = exportedPage() === null ? "/pages/" : new URL("./", location.href).pathname;
const PAGE = FOLDER === "/pages/" ? "/join/" : FOLDER;
/** A worker is served by the scope that holds its script, whichever page started it. */
const SCOPES = [...new Set([PAGE, FOLDER])];
/** After the page is there: what it may need some day should not hold up what it needs now. */
const LATER_MS = 1000;
let forgotten = false;

/** Take along the page and every part that it may need. */
export async function workOffline(): Promise<void> {
  const named = document.querySelector<HTMLMetaElement>("meta[name=crowdveil-parts]")?.content ?? "";
  await new Promise((resolve) => setTimeout(resolve, LATER_MS));
  if (!("serviceWorker" in navigator) || named === "" || forgotten) return;
  try {
    await Promise.all(SCOPES.map((scope) => navigator.serviceWorker.register(`${FOLDER}sw.js`, { scope })));
    const cache = await caches.open(CACHE);
    const parts = named.split(" ").map((part) => new URL(part, location.href).pathname);
    for (const part of parts) await keep(cache, part);
    const page = await fetch(location.pathname, { credentials: "omit" });
    // Someone else's page, such as a hotel's, or a newer one, which keeps itself once it is opened.
    if (!isOurs(page) || !(await page.clone().text()).includes(named)) return;
    await cache.put(PAGE, page);
    for (const { url } of await cache.keys()) if (![PAGE, ...parts].includes(new URL(url).pathname)) await cache.delete(url);
  } catch {
    // Private windows, old browsers, no room, no network: the page works, or starts as it was kept before.
  }
}

async function keep(cache: Cache, url: string): Promise<void> {
  if ((await cache.match(url)) !== undefined) return;
  const answer = await fetch(url, { priority: "low" });
  // No part is a page: some proxies answer every question with one of theirs.
  if (!isOurs(answer) || answer.headers.get("content-type")?.startsWith("text/html")) throw new Error(`${url} is no part`);
  await cache.put(url, answer);
}

function isOurs(answer: Response): boolean {
  return answer.ok && answer.type === "basic" && !answer.redirected;
}

/** Forget the copies too. */
export async function forgetPages(): Promise<void> {
  forgotten = true;
  if ("caches" in globalThis) await caches.delete(CACHE).catch(() => false);
  if (!("serviceWorker" in navigator)) return;
  for (const one of await navigator.serviceWorker.getRegistrations().catch(() => [])) await one.unregister();
}

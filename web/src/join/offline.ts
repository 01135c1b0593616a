// The page without a network: a service worker serves what was loaded before; what is loaded before it is in charge is put
// into its cache here, from the page and from its worker. Files below /pages/assets/ are named by their content.

const CACHE = "crowdveil-pages";
const PARTS = "/pages/";

/** Copy into the cache what this page or worker has loaded; the browser has it at hand, so nothing is fetched again. */
export async function keepLoaded(): Promise<void> {
  if (!("caches" in globalThis)) return;
  try {
    const cache = await caches.open(CACHE);
    const loaded = performance.getEntriesByType("resource").map(({ name }) => new URL(name));
    const own = new Set([location.href, ...loaded.map(({ href }) => href)].map((href) => new URL(href)).filter(isPart).map(String));
    for (const url of own) if ((await cache.match(url)) === undefined) await cache.add(url);
  } catch {
    // Without room for a copy, the page works as long as there is a network.
  }
}

function isPart(url: URL): boolean {
  return url.origin === location.origin && url.pathname.startsWith(PARTS) && !url.pathname.endsWith("/sw.js");
}

/** Take the page itself along. */
export async function workOffline(): Promise<void> {
  if (!("serviceWorker" in navigator)) return;
  try {
    await navigator.serviceWorker.register("/pages/sw.js", { scope: "/join/" });
    await navigator.serviceWorker.ready;
    const cache = await caches.open(CACHE);
    if ((await cache.match("/join/")) === undefined) {
      const page = await fetch(location.pathname, { credentials: "omit" });
      if (page.ok) await cache.put("/join/", page);
    }
    await keepLoaded();
  } catch {
    // Private windows and old browsers: the page works, but only with a network.
  }
}

/** Forget the copies too. */
export async function forgetPages(): Promise<void> {
  if ("caches" in globalThis) await caches.delete(CACHE).catch(() => false);
  if (!("serviceWorker" in navigator)) return;
  for (const one of await navigator.serviceWorker.getRegistrations().catch(() => [])) await one.unregister();
}

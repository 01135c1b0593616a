// Serves the participant's page when there is no network. It touches pages and their parts only: requests of the campaign
// (/v1/...) pass by, unchanged and uncached.

const CACHE = "crowdveil-pages";
const SHELL = "/join/";
const PATIENCE_MS = 4000;

addEventListener("install", () => {
  void self.skipWaiting();
});

addEventListener("activate", (event) => {
  event.waitUntil(self.clients.claim());
});

addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (request.mode === "navigate" && url.pathname.startsWith(SHELL)) event.respondWith(page(request));
  else if (url.pathname.startsWith("/pages/")) event.respondWith(part(request, url));
});

/** The newest page if the network gives it soon, else the last one. Every campaign has the same page. */
async function page(request) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(SHELL);
  try {
    const signal = kept === undefined ? undefined : AbortSignal.timeout(PATIENCE_MS);
    const answer = await fetch(request, { signal });
    if (answer.ok) await take(cache, kept, answer.clone()).catch(noRoom);
    return answer;
  } catch (error) {
    if (kept === undefined) throw error;
    return kept.clone();
  }
}

/** A new page comes with new parts: those of the last one go. */
async function take(cache, kept, answer) {
  const text = await answer.clone().text();
  if (kept !== undefined && (await kept.clone().text()) !== text) {
    for (const old of await cache.keys()) await cache.delete(old);
  }
  await cache.put(SHELL, answer);
}

/** Parts named by their content never change; the few others are asked for first. */
async function part(request, url) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request.url);
  if (kept !== undefined && url.pathname.startsWith("/pages/assets/")) return kept;
  try {
    const answer = await fetch(request);
    if (answer.ok && !url.pathname.endsWith("/sw.js")) await cache.put(request.url, answer.clone()).catch(noRoom);
    return answer;
  } catch (error) {
    if (kept === undefined) throw error;
    return kept;
  }
}

/** Without room for a copy, the page works as long as there is a network. */
function noRoom() {}

// Serves the participant's page, and its worker, when there is no network. It touches pages and their parts only: requests
// of the campaign (/v1/...) pass by, unchanged and uncached. What is kept is put there by the page itself, in offline.ts.

// On a server the page is at /join/ and its parts at /pages/; an exported page is in the folder of this file.
const FOLDER = new URL("./", location.href).pathname;
const PAGE = FOLDER === "/pages/" ? "/join/" : FOLDER;
const PARTS = `${FOLDER}assets/`;
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
  if (url.pathname.startsWith(PARTS)) event.respondWith(part(request));
  else if (request.mode === "navigate" && url.pathname.startsWith(PAGE)) event.respondWith(page(request));
});

/** The newest page if the server gives it soon, else the kept one. Every campaign has the same page. */
async function page(request) {
  const kept = await caches.match(PAGE);
  if (kept === undefined) return fetch(request);
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, kept));
  // From 500 on it is a proxy that answers, or a server that fails.
  const answered = fetch(request).then(
    (answer) => (answer.status < 500 ? answer : kept),
    () => kept,
  );
  return Promise.race([answered, late]);
}

/** Parts are named by their content: they never change. */
async function part(request) {
  return (await caches.match(request.url)) ?? fetch(request);
}

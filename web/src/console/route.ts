// Addresses within the console: the part after #.

export type Route = { at: "list" } | { at: "new" } | { at: "campaign"; id: string } | { at: "nowhere" };

/** #/ is the list, #/new the wizard, #/campaigns/coffee one campaign. */
export function readRoute(hash: string): Route {
  const path = hash.replace(/^#\/?/, "");
  if (path === "") return { at: "list" };
  if (path === "new") return { at: "new" };
  const id = /^campaigns\/([a-z0-9][a-z0-9-]{0,62})$/.exec(path)?.[1];
  return id === undefined ? { at: "nowhere" } : { at: "campaign", id };
}

export function campaignPath(id: string): string {
  return `#/campaigns/${id}`;
}

// What the page's address says: /join/coffee#invite=... names a campaign and, after the #, which no server sees, an invite.

const ID = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** The campaign's id; undefined where the address names none. */
export function campaignIn(pathname: string): string | undefined {
  const last = /^\/join\/([^/]+)\/?$/.exec(pathname)?.[1] ?? "";
  return ID.test(last) ? last : undefined;
}

export function inviteIn(hash: string): string | undefined {
  return new URLSearchParams(hash.replace(/^#/, "")).get("invite") ?? undefined;
}

/** An invite as people type it: alone, or the whole link that it came in. */
export function typedInvite(typed: string): string {
  return inviteIn(/#\S*/.exec(typed)?.[0] ?? "") ?? typed.trim();
}

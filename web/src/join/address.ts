// What the page's address says: which campaign, on which server, and what the invite link names for comparison.
//
//     a server's own page     /join/coffee#invite=…&key=…&terms=…
//     an exported page        …/#server=https://crowd.example.org&campaign=coffee&invite=…&key=…&terms=…
//
// Everything after the # stays in the browser. On an exported page it is kept for this tab, because #device and #take-part
// take its place.

import { parseLink, type InviteLink } from "../core/client/invite_link";
import { messageOf } from "../core/errors";
import type { CampaignAddress } from "./messages";

const ID = /^[a-z0-9][a-z0-9-]{0,62}$/;
const ANY_SERVER = "any";
const KEPT_LINK = "crowdveil-link";

/** An exported page, and the servers that it may connect to; null on a server's own page. */
export interface ExportedPage {
  /** Empty for any server. */
  readonly servers: readonly string[];
  readonly version: string;
}

export interface PageAddress extends CampaignAddress {
  /** What is wrong with the link; empty if nothing is. */
  readonly wrong: string;
}

export function exportedPage(): ExportedPage | null {
  const meta = document.querySelector<HTMLMetaElement>("meta[name=crowdveil-export]");
  if (meta === null || meta.content === "") return null;
  return { servers: meta.content === ANY_SERVER ? [] : meta.content.split(" "), version: meta.dataset["version"] ?? "" };
}

/** Where this page leads. */
export function pageAddress(exported: ExportedPage | null): PageAddress {
  if (exported === null) return ownAddress(location.origin, location.pathname, location.hash);
  if (namesCampaign(location.hash)) sessionStorage.setItem(KEPT_LINK, location.href);
  const href = sessionStorage.getItem(KEPT_LINK);
  return href === null ? { server: "", campaign: "", link: null, wrong: "" } : linkedAddress(href, exported.servers);
}

export function namesCampaign(hash: string): boolean {
  return new URLSearchParams(hash.replace(/^#/, "")).has("campaign");
}

/** The address on a server's own page. */
export function ownAddress(origin: string, pathname: string, hash: string): PageAddress {
  const campaign = campaignIn(pathname) ?? "";
  const address = { server: origin, campaign, link: null, wrong: "" };
  const said = new URLSearchParams(hash.replace(/^#/, ""));
  if (campaign === "" || !(said.has("key") || said.has("terms"))) return address;
  try {
    return { ...address, link: parseLink(`${origin}/join/${campaign}${hash}`) };
  } catch (error) {
    return { ...address, wrong: messageOf(error) };
  }
}

/** The address that a link to an exported page names. */
export function linkedAddress(href: string, servers: readonly string[]): PageAddress {
  try {
    const link = parseLink(href);
    const known = servers.length === 0 || servers.includes(link.server);
    const wrong = known ? "" : `This page connects to ${servers.join(", ")} only, and the link is for ${link.server}.`;
    return { server: link.server, campaign: link.campaign, link, wrong };
  } catch (error) {
    return { server: "", campaign: "", link: null, wrong: messageOf(error) };
  }
}

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

/** The link that people pasted where an invite is asked for; null if it is not one. */
export function typedLink(typed: string): InviteLink | null {
  try {
    return parseLink(typed);
  } catch {
    return null;
  }
}

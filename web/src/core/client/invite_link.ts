// Read and write invite links. What a link names did not come from the server, so a device compares everything with it.
//
//     https://crowd.example.org/join/noise-map#invite=…&key=…&terms=…&policy=…               the server's own page
//     https://page.example.net/#server=https://crowd.example.org&campaign=noise-map&invite=…&key=…&terms=…
//
// `key` is the server's public key, `terms` the hash of the campaign's terms, `policy` the hash of its only round's policy.
// Everything secret is behind the #, which browsers do not send.

import { InputError } from "../errors";
import { checkUrl } from "./transport";

const DIGEST = /^[0-9a-f]{64}$/;
const CAMPAIGN = /^[a-z0-9][a-z0-9-]{0,62}$/;
const JOIN = "/join/";
const EXAMPLE = "https://crowd.example.org/join/noise-map#key=...&terms=...";
const INCOMPLETE = "the link is incomplete: copy all of it";
const IN_FRAGMENT = new Set(["server", "campaign", "invite", "key", "terms", "policy"]);

/** What an invite link says. */
export interface InviteLink {
  readonly server: string;
  readonly campaign: string;
  readonly invite: string | null;
  readonly key: string;
  readonly termsHash: string;
  readonly policyHash: string | null;
}

/** Read a link of either form. */
export function parseLink(text: string): InviteLink {
  const said = readFragment(text);
  const link = {
    ...(said.has("server") ? { server: said.get("server") ?? "", campaign: said.get("campaign") ?? "" } : addressOf(text)),
    invite: said.get("invite") ?? null,
    key: said.get("key") ?? "",
    termsHash: said.get("terms") ?? "",
    policyHash: said.get("policy") ?? null,
  };
  return checkLink({ ...link, server: checkUrl(link.server) });
}

/** Write the link, to the server's own page or to a page from elsewhere. */
export function formatLink(link: InviteLink, page: string | null = null): string {
  const named = page === null ? {} : { server: link.server, campaign: link.campaign };
  const fields = { ...named, invite: link.invite, key: link.key, terms: link.termsHash, policy: link.policyHash };
  const said = Object.entries(fields)
    .filter((field): field is [string, string] => field[1] !== null)
    .map(([name, value]) => `${name}=${encodeURIComponent(value).replaceAll("%3A", ":").replaceAll("%2F", "/")}`);
  return `${page ?? `${link.server}${JOIN}${link.campaign}`}#${said.join("&")}`;
}

function readFragment(text: string): Map<string, string> {
  const at = text.indexOf("#");
  const fragment = at < 0 ? "" : text.trim().slice(text.trim().indexOf("#") + 1);
  const pairs = fragment.split("&").map((pair) => pair.split("="));
  const said = new Map<string, string>();
  for (const pair of pairs) {
    const [name = "", value = ""] = pair;
    if (pair.length !== 2 || !IN_FRAGMENT.has(name) || said.has(name)) throw notALink(text);
    said.set(name, decoded(value, text));
  }
  if (said.has("server") !== said.has("campaign")) throw notALink(text);
  return said;
}

function addressOf(text: string): { server: string; campaign: string } {
  const [address = ""] = text.trim().split("#");
  const at = address.lastIndexOf(JOIN);
  if (at < 0) throw notALink(text);
  return { server: address.slice(0, at), campaign: address.slice(at + JOIN.length) };
}

function checkLink(link: InviteLink): InviteLink {
  if (!CAMPAIGN.test(link.campaign)) throw new InputError("link campaign", link.campaign, "should be the id of a campaign");
  const digests = [
    ["key", link.key],
    ["terms", link.termsHash],
    ["policy", link.policyHash],
  ] as const;
  for (const [name, value] of digests) {
    if (!(value === null && name === "policy") && !DIGEST.test(value ?? "")) {
      throw new InputError(`link ${name}`, value, INCOMPLETE);
    }
  }
  return link;
}

function decoded(value: string, text: string): string {
  try {
    return decodeURIComponent(value.replaceAll("+", " "));
  } catch {
    throw notALink(text);
  }
}

function notALink(text: string): InputError {
  return new InputError("link", text, text.includes(JOIN) ? INCOMPLETE : `should be an invite link such as ${EXAMPLE}`);
}

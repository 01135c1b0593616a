"""Read and write invite links. What a link names did not come from the server, so a device compares everything with it.

    https://crowd.example.org/join/noise-map#invite=…&key=…&terms=…&policy=…               the server's own page
    https://page.example.net/#server=https://crowd.example.org&campaign=noise-map&invite=…&key=…&terms=…

`key` is the server's public key, `terms` the hash of the campaign's terms, `policy` the hash of its only round's
policy. Everything secret is behind the #, which browsers do not send.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from crowdveil.client.transport import check_url
from crowdveil.errors import InputError

DIGEST = re.compile(r"[0-9a-f]{64}")
CAMPAIGN = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
JOIN = "/join/"
EXAMPLE = "https://crowd.example.org/join/noise-map#key=...&terms=..."
INCOMPLETE = "the link is incomplete: copy all of it"
IN_FRAGMENT = {"server", "campaign", "invite", "key", "terms", "policy"}


@dataclass(frozen=True)
class InviteLink:
    """What an invite link says."""

    server: str
    campaign: str
    invite: str | None
    key: str
    terms_hash: str
    policy_hash: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "server", check_url(self.server))
        if not CAMPAIGN.fullmatch(self.campaign):
            raise InputError("link campaign", self.campaign, "should be the id of a campaign")
        for name in ("key", "terms_hash", "policy_hash"):
            value = getattr(self, name)
            if not (value is None and name == "policy_hash") and not DIGEST.fullmatch(value or ""):
                raise InputError(f"link {name.removesuffix('_hash')}", value, INCOMPLETE)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a link of either form."""
        try:
            parts = urlsplit(text.strip())
            pairs = parse_qsl(parts.fragment, keep_blank_values=True, strict_parsing=True)
        except ValueError:
            raise _not_a_link(text) from None
        said = dict(pairs)
        if len(said) < len(pairs) or not set(said) <= IN_FRAGMENT or ("server" in said) != ("campaign" in said):
            raise _not_a_link(text)
        if "server" in said:
            server, campaign = said["server"], said["campaign"]
        else:
            before, join, campaign = parts.path.rpartition(JOIN)
            if not join:
                raise _not_a_link(text)
            server = urlunsplit((parts.scheme, parts.netloc, before, "", ""))
        return cls(server, campaign, said.get("invite"), said.get("key", ""), said.get("terms", ""), said.get("policy"))

    def format(self, page: str | None = None) -> str:
        """Write the link, to the server's own page or to a page from elsewhere."""
        fields = {"invite": self.invite, "key": self.key, "terms": self.terms_hash, "policy": self.policy_hash}
        start = f"{self.server}{JOIN}{self.campaign}"
        if page is not None:
            start, fields = page, {"server": self.server, "campaign": self.campaign, **fields}
        said = "&".join(f"{name}={quote(value, safe=':/')}" for name, value in fields.items() if value is not None)
        return f"{start}#{said}"


def _not_a_link(text: str) -> InputError:
    return InputError("link", text, INCOMPLETE if JOIN in text else f"should be an invite link such as {EXAMPLE}")

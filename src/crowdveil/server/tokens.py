"""Issue operators' tokens and compare them; only their hashes are stored.

Nothing is cached: a token that was revoked on one server works on no server of the same database from then on.
"""

from __future__ import annotations

import hmac
import secrets
from time import time

from crowdveil.store import KnownToken, Store, add_operator, known_tokens, open_store
from crowdveil.wire import secret_digest

OPERATOR = "operator"
"""The owner whom the server itself makes."""


def new_token() -> str:
    """Return a token: 256 random bits."""
    return secrets.token_urlsafe(32)


def issue_operator_token(database_url: str, *, replace: bool = False) -> str | None:
    """Make a token for the owner `operator` if there are no operators yet; otherwise return None.

    With `replace`, make `operator` an owner whose only token is this one, whatever was before: so that whoever runs the
    server can always sign in.
    """
    with open_store(database_url) as store:
        token = new_token()
        made = add_operator(store, OPERATOR, secret_digest(token), at=int(time()), first=not replace)
        return token if made else None


def known_token(store: Store, token_hash: str) -> KnownToken | None:
    """Return what is known of a token, even of an expired one; None for an unknown one.

    Compares every hash in constant time, even after a match.
    """
    found = [one for one in known_tokens(store) if hmac.compare_digest(one.token_hash, token_hash)]
    return found[0] if found else None


def operator_with(store: Store, token_hash: str, now: float) -> KnownToken | None:
    """Return the token of an operator; None if it is unknown or has expired."""
    found = known_token(store, token_hash)
    return None if found is None or found.has_expired(now) else found

"""Issue operators' tokens and compare them; only their hashes are stored."""

from __future__ import annotations

import hmac
import secrets

from crowdveil.store import Store, add_operator, open_store, operator_token_hashes
from crowdveil.wire import secret_digest

OPERATOR = "operator"


def issue_operator_token(database_url: str, *, replace: bool = False) -> str | None:
    """Make a token for the operator if there is none yet, or to replace the one there is; otherwise return None."""
    with open_store(database_url) as store:
        if OPERATOR in operator_token_hashes(store) and not replace:
            return None
        token = secrets.token_urlsafe(32)
        add_operator(store, OPERATOR, secret_digest(token))
        return token


def operator_with(store: Store, token_hash: str) -> str | None:
    """Return the operator with this token, or None. Compares every hash in constant time, even after a match."""
    known = operator_token_hashes(store)
    found = [name for name, kept in known.items() if hmac.compare_digest(kept, token_hash)]
    return found[0] if found else None

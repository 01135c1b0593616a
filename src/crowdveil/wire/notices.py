"""Find out, from the notices that several participants were shown, whether a server showed them different campaigns."""

from __future__ import annotations

from collections.abc import Iterable

from crowdveil.errors import InputError
from crowdveil.wire.terms import RoundNotice


def find_split(notices: Iterable[RoundNotice], server_key: str) -> tuple[RoundNotice, RoundNotice] | None:
    """Return two notices that prove a split view, or None if there are none.

    Both are signed by this server and are for the same campaign, but name different terms, or different policies for
    the same round. Notices that the server did not sign prove nothing about it and are passed over.
    """
    terms: dict[str, RoundNotice] = {}
    rounds: dict[tuple[str, int], RoundNotice] = {}
    for notice in notices:
        try:
            notice.verify(server_key)
        except InputError:
            continue
        seen = terms.setdefault(notice.campaign, notice)
        if seen.terms_hash != notice.terms_hash:
            return seen, notice
        seen = rounds.setdefault((notice.campaign, notice.round), notice)
        if seen.policy_hash != notice.policy_hash:
            return seen, notice
    return None

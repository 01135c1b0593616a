"""Operators, tokens and the log, as they are stored; what two servers do at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlalchemy import text

from crowdveil.errors import StoreError
from crowdveil.store import (
    ChangedBy,
    Store,
    add_operator,
    add_token,
    get_campaign,
    known_tokens,
    list_activity,
    list_operators,
    open_store,
    put_operator,
    remove_operator,
    revoke_token,
    share_campaign,
    shares_of,
)
from tests.store.campaign import NAME, drafted, hashed

BY = ChangedBy("ann", 100)


def hashes(store: Store) -> dict[str, str]:
    return {one.token_hash: one.operator for one in known_tokens(store)}


def test_whoever_runs_the_server_can_always_make_an_owner(store: Store) -> None:
    assert add_operator(store, "ann", hashed("old"), first=True)
    assert not add_operator(store, "bob", hashed("late"), first=True)
    assert put_operator(store, "bob", "owner", BY) is None
    assert add_token(store, "bob", hashed("his"), expires=None, by=BY) is not None
    assert put_operator(store, "ann", "viewer", BY) is None
    assert add_operator(store, "ann", hashed("new"), at=7)
    assert hashes(store) == {hashed("new"): "ann", hashed("his"): "bob"}
    assert [(one.name, one.role) for one in list_operators(store, 0)] == [("ann", "owner"), ("bob", "owner")]
    assert [(one.at, one.action) for one in list_activity(store, at_most=1)] == [(7, "token-made")]


def test_of_two_servers_that_start_at_the_same_moment_one_makes_the_first_owner(url: str) -> None:
    with open_store(url) as one, open_store(url) as other:
        together = Barrier(2)

        def start(store: Store, token: str) -> bool:
            together.wait()
            return add_operator(store, "operator", hashed(token), first=True)

        with ThreadPoolExecutor(2) as pool:
            made = list(pool.map(start, (one, other), "ab"))
        assert sorted(made) == [False, True]
        assert hashes(one) == {hashed("ab"[made.index(True)]): "operator"}


def test_of_two_owners_who_remove_each_other_at_the_same_moment_one_stays(url: str) -> None:
    with open_store(url) as one, open_store(url) as other:
        for attempt in range(5):
            for name in ("ann", "bob"):
                add_operator(one, name, hashed((name, attempt)))
            together = Barrier(2)

            def remove(store: Store, name: str, by: str, together: Barrier = together) -> str | None:
                together.wait()
                return remove_operator(store, name, ChangedBy(by, 1))

            with ThreadPoolExecutor(2) as pool:
                outcomes = list(pool.map(remove, (one, other), ("ann", "bob"), ("bob", "ann")))
            assert sorted(map(str, outcomes)) == ["None", "last-owner"]
            assert len(list_operators(one, 0)) == 1


def test_what_an_operator_had_goes_with_them_but_their_campaigns_stay(store: Store) -> None:
    add_operator(store, "ann", hashed("a"))
    put_operator(store, "bob", "planner", BY)
    made = add_token(store, "bob", hashed("b"), expires=200, by=BY)
    assert not isinstance(made, str)
    drafted(store)
    assert share_campaign(store, NAME, "bob", BY) is None
    assert shares_of(store, NAME) == ("bob",)
    assert get_campaign(store, NAME, seen_by="bob") == get_campaign(store, NAME)
    assert remove_operator(store, "bob", BY) is None
    assert shares_of(store, NAME) == ()
    assert get_campaign(store, NAME, seen_by="bob") is None
    assert get_campaign(store, NAME) is not None
    assert revoke_token(store, made.id, BY) == "not-found"
    assert hashes(store) == {hashed("a"): "ann"}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE activity SET operator = 'eve'",
        "DELETE FROM activity",
        f"INSERT INTO activity (at, operator, action, detail) VALUES (1, 'ann', 'token-made', '{'x' * 201}')",
        "UPDATE operators SET role = 'king'",
        "INSERT INTO operator_tokens (id, operator, token_hash, made) VALUES ('1', 'ann', 'short', 1)",
        f"INSERT INTO operator_tokens (id, operator, token_hash, made) VALUES ('1', 'eve', '{hashed(1)}', 1)",
        f"INSERT INTO operator_tokens (id, operator, token_hash, made) VALUES ('1', 'ann', '{hashed('a')}', 1)",
    ],
)
def test_the_database_keeps_the_log_and_refuses_odd_operators(store: Store, statement: str) -> None:
    add_operator(store, "ann", hashed("a"))
    before = list_activity(store, at_most=10)
    assert len(before) == 2
    with pytest.raises(StoreError), store.writing() as connection:
        connection.execute(text(statement))
    assert list_activity(store, at_most=10) == before

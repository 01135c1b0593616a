"""Store operators, their tokens' hashes, and with whom campaigns are shared.

Changes to operators and tokens lock all operators first, in the order of their names, so that of two owners who remove
each other at the same moment one stays: there is always an owner with a valid token.
"""

from __future__ import annotations

import secrets
from typing import Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, func, insert, or_, select, true, update

from crowdveil.store import schema
from crowdveil.store.activity import ChangedBy, write_activity
from crowdveil.store.database import Store
from crowdveil.vocabulary import OperatorRole

MAX_TOKENS = 20
"""Valid tokens of one operator."""
_operators, _tokens = schema.operators, schema.operator_tokens
_campaigns, _shares = schema.campaigns, schema.campaign_shares


class StoredOperator(NamedTuple):
    """An operator, with the number of tokens that are valid."""

    name: str
    role: OperatorRole
    added: int
    """Seconds since 1970 (UTC)."""
    tokens: int


class StoredToken(NamedTuple):
    """A token as its operator may see it: never the token, nor its hash."""

    id: str
    operator: str
    made: int
    expires: int | None
    """Seconds since 1970 (UTC); None: never."""


class KnownToken(NamedTuple):
    """A token's hash, and whose it is."""

    token_hash: str
    id: str
    operator: str
    role: OperatorRole
    added: int
    expires: int | None

    def has_expired(self, now: float) -> bool:
        """Return whether the token is no longer valid."""
        return self.expires is not None and self.expires <= now


# --- on the server's own machine -------------------------------------------------------------------------------


def add_operator(store: Store, name: str, token_hash: str, *, at: int = 0, first: bool = False) -> bool:
    """Make someone an owner with this token and no other; return whether that was done.

    For whoever runs the server: it needs no operator. `first` does it only while there are no operators.
    """
    by = ChangedBy(name, at)
    with store.writing() as connection:
        known = _lock_operators(connection)
        if first and known:
            return False
        row = store.insert(_operators).values(name=name, role="owner", added=at)
        kept = (
            row.on_conflict_do_nothing()
            if first
            else row.on_conflict_do_update(index_elements=["name"], set_={"role": "owner"})
        )
        if connection.execute(kept.returning(_operators.c.name)).first() is None:
            return False  # another server has started at the same moment
        connection.execute(delete(_tokens).where(_tokens.c.operator == name))
        if name not in known:
            write_activity(connection, by, "operator-added", detail=f"{name}: owner, on the server's machine")
        made = _insert_token(connection, name, token_hash, at, None)
        write_activity(connection, by, "token-made", detail=f"{name}: {made.id}, on the server's machine")
        return True


# --- operators ------------------------------------------------------------------------------------------------


def list_operators(store: Store, now: float) -> list[StoredOperator]:
    """Return all operators, in the order of their names."""
    valid = select(func.count()).where(_tokens.c.operator == _operators.c.name, _valid(now)).scalar_subquery()
    rows = select(_operators.c.name, _operators.c.role, _operators.c.added, valid).order_by(_operators.c.name)
    with store.reading() as connection:
        return [StoredOperator(*row) for row in connection.execute(rows)]


def put_operator(store: Store, name: str, role: OperatorRole, by: ChangedBy) -> Literal["last-owner"] | None:
    """Add an operator, who has no token yet, or change an operator's role."""
    with store.writing() as connection:
        before = _lock_operators(connection).get(name)
        if before is None:
            connection.execute(insert(_operators).values(name=name, role=role, added=by.at))
            write_activity(connection, by, "operator-added", detail=f"{name}: {role}")
        elif before != role:
            if before == "owner" and not _has_owner(connection, by.at, _operators.c.name != name):
                return "last-owner"
            connection.execute(update(_operators).where(_operators.c.name == name).values(role=role))
            write_activity(connection, by, "operator-role-changed", detail=f"{name}: {role}, was {before}")
    return None


def remove_operator(store: Store, name: str, by: ChangedBy) -> Literal["not-found", "last-owner"] | None:
    """Remove an operator with all tokens and shares; their campaigns stay, and owners see them."""
    with store.writing() as connection:
        role = _lock_operators(connection).get(name)
        if role is None:
            return "not-found"
        if role == "owner" and not _has_owner(connection, by.at, _operators.c.name != name):
            return "last-owner"
        connection.execute(delete(_operators).where(_operators.c.name == name))
        write_activity(connection, by, "operator-removed", detail=f"{name}: was {role}")
    return None


# --- tokens ---------------------------------------------------------------------------------------------------


def known_tokens(store: Store) -> list[KnownToken]:
    """Return the hashes of all tokens; compare them in constant time."""
    columns = (_tokens.c.token_hash, _tokens.c.id, _operators.c.name, _operators.c.role, _operators.c.added)
    rows = select(*columns, _tokens.c.expires).join(_operators, _operators.c.name == _tokens.c.operator)
    with store.reading() as connection:
        return [KnownToken(*row) for row in connection.execute(rows)]


def add_token(
    store: Store, name: str, token_hash: str, *, expires: int | None, by: ChangedBy
) -> StoredToken | Literal["not-found", "too-many-tokens"]:
    """Give an operator one more token; forget those of this operator that have expired."""
    with store.writing() as connection:
        if name not in _lock_operators(connection):
            return "not-found"
        mine = _tokens.c.operator == name
        connection.execute(delete(_tokens).where(mine, ~_valid(by.at)))
        if connection.execute(select(func.count()).where(mine)).scalar_one() >= MAX_TOKENS:
            return "too-many-tokens"
        made = _insert_token(connection, name, token_hash, by.at, expires)
        write_activity(connection, by, "token-made", detail=f"{name}: {made.id}")
        return made


def tokens_of(store: Store, name: str) -> list[StoredToken] | None:
    """Return the tokens of an operator, the oldest first, expired ones too; None if there is no such operator."""
    rows = select(*(_tokens.c[field] for field in StoredToken._fields)).where(_tokens.c.operator == name)
    with store.reading() as connection:
        if connection.execute(select(_operators.c.name).where(_operators.c.name == name)).first() is None:
            return None
        return [StoredToken(*row) for row in connection.execute(rows.order_by(_tokens.c.made, _tokens.c.id))]


def revoke_token(
    store: Store, token: str, by: ChangedBy, *, of: str | None = None
) -> Literal["not-found", "last-owner"] | None:
    """Delete a token, which works nowhere from then on; with `of`, only if it is that operator's."""
    with store.writing() as connection:
        roles = _lock_operators(connection)
        found = connection.execute(select(_tokens.c.operator).where(_tokens.c.id == token, _of(of))).scalar()
        if found is None:
            return "not-found"
        lost = connection.execute(select(_tokens.c.id).where(_tokens.c.id == token, _valid(by.at))).scalar()
        if lost and roles[found] == "owner" and not _has_owner(connection, by.at, _tokens.c.id != token):
            return "last-owner"
        connection.execute(delete(_tokens).where(_tokens.c.id == token))
        write_activity(connection, by, "token-revoked", detail=f"{found}: {token}")
    return None


# --- campaigns ------------------------------------------------------------------------------------------------


def share_campaign(store: Store, campaign: str, name: str, by: ChangedBy) -> Literal["not-found"] | None:
    """Let an operator see a campaign, and run it if their role allows that."""
    with store.writing() as connection:
        if connection.execute(select(_operators.c.name).where(_operators.c.name == name)).first() is None:
            return "not-found"
        creator = connection.execute(select(_campaigns.c.operator).where(_campaigns.c.id == campaign)).scalar()
        row = store.insert(_shares).values(campaign=campaign, operator=name).on_conflict_do_nothing()
        if creator != name and connection.execute(row.returning(_shares.c.operator)).first() is not None:
            write_activity(connection, by, "campaign-shared", campaign, name)
    return None


def unshare_campaign(store: Store, campaign: str, name: str, by: ChangedBy) -> None:
    """Take back a share; does nothing if there is none."""
    mine = (_shares.c.campaign == campaign) & (_shares.c.operator == name)
    with store.writing() as connection:
        if connection.execute(delete(_shares).where(mine)).rowcount:
            write_activity(connection, by, "campaign-unshared", campaign, name)


def shares_of(store: Store, campaign: str) -> tuple[str, ...]:
    """Return the operators with whom a campaign is shared, in the order of their names."""
    rows = select(_shares.c.operator).where(_shares.c.campaign == campaign).order_by(_shares.c.operator)
    with store.reading() as connection:
        return tuple(connection.execute(rows).scalars())


# --- inside a transaction -------------------------------------------------------------------------------------


def _lock_operators(connection: Connection) -> dict[str, OperatorRole]:
    """Return the roles of all operators, locked until the transaction ends; always in the same order."""
    rows = select(_operators.c.name, _operators.c.role).order_by(_operators.c.name)
    connection.execute(rows.with_for_update()).all()
    return {row.name: row.role for row in connection.execute(rows)}  # read again: what was waited for has changed


def _has_owner(connection: Connection, now: int, left: ColumnElement[bool]) -> bool:
    """Return whether an owner with a valid token is among those that are left."""
    found = select(_tokens.c.id).join(_operators, _operators.c.name == _tokens.c.operator)
    return connection.execute(found.where(_operators.c.role == "owner", _valid(now), left).limit(1)).first() is not None


def _insert_token(connection: Connection, name: str, token_hash: str, made: int, expires: int | None) -> StoredToken:
    new = StoredToken(secrets.token_hex(6), name, made, expires)
    connection.execute(insert(_tokens).values(token_hash=token_hash, **new._asdict()))
    return new


def _valid(now: float) -> ColumnElement[bool]:
    return or_(_tokens.c.expires.is_(None), _tokens.c.expires > int(now))


def _of(name: str | None) -> ColumnElement[bool]:
    return true() if name is None else _tokens.c.operator == name

"""Pass a list to a statement as one parameter, so that its text stays the same and is parsed and planned only once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import JSON, ColumnElement, Table, bindparam, column, func, select, true
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeEngine


def values_of(dialect: str, kind: TypeEngine[Any], name: str) -> ColumnElement[Any]:
    """Return the values of the list parameter `name` as a column to select from.

    Look up what belongs to each value in a scalar subquery. For a join with a table that has no statistics yet,
    PostgreSQL would read the whole table.
    """
    if dialect == "postgresql":
        return func.unnest(bindparam(name, type_=postgresql.ARRAY(kind))).column_valued(f"one_of_{name}")
    return func.json_each(bindparam(name, type_=JSON)).table_valued(column("value", kind)).c.value


def insert_rows(dialect: str, table: Table, columns: Sequence[str]) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT with ON CONFLICT of the rows in the parameter `rows`, a list of objects by column."""
    rows = bindparam("rows", type_=JSON)
    if dialect == "postgresql":
        typed = [column(one, table.c[one].type) for one in columns]
        given = func.json_to_recordset(rows).table_valued(*typed).render_derived(with_types=True)
        return postgresql.insert(table).from_select(columns, select(*given.c))
    value = func.json_each(rows).table_valued("value").c.value
    given_values = select(*(func.json_extract(value, f"$.{one}") for one in columns))
    return sqlite.insert(table).from_select(
        columns, given_values.where(true())
    )  # without WHERE, SQLite parses ON CONFLICT as the ON of a join

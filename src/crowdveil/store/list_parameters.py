"""Lists in statements, as one parameter each: the text does not grow with them, so every layer reads it once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import JSON, ColumnElement, Table, bindparam, column, func, select, true
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeEngine


def each(dialect: str, kind: TypeEngine[Any], name: str) -> ColumnElement[Any]:
    """The values of the list that is given as the parameter `name`, as a column to select from.

    Look up what belongs to each in a subquery of its own: told to find all at once in a table that it knows nothing
    about yet, PostgreSQL would rather read the whole of it.
    """
    if dialect == "postgresql":
        return func.unnest(bindparam(name, type_=postgresql.ARRAY(kind))).column_valued(f"one_of_{name}")
    return func.json_each(bindparam(name, type_=JSON)).table_valued(column("value", kind)).c.value


def insert_rows(dialect: str, table: Table, columns: Sequence[str]) -> sqlite.Insert | postgresql.Insert:
    """An INSERT, which knows ON CONFLICT, of the rows that are given as the parameter `rows`: objects by column."""
    rows = bindparam("rows", type_=JSON)
    if dialect == "postgresql":
        typed = [column(one, table.c[one].type) for one in columns]
        given = func.json_to_recordset(rows).table_valued(*typed).render_derived(with_types=True)
        return postgresql.insert(table).from_select(columns, select(*given.c))
    value = func.json_each(rows).table_valued("value").c.value
    given_values = select(*(func.json_extract(value, f"$.{one}") for one in columns))
    return sqlite.insert(table).from_select(columns, given_values.where(true()))  # or ON CONFLICT reads as a join's ON

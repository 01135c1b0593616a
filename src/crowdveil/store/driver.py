"""Run the busiest statements on the driver's own cursor: what SQLAlchemy adds to each takes longer than the database.

Statements are plain SQL, one text for each database, with parameters such as :campaign. A list is one parameter, so
that the text stays the same and is parsed only once. On SQLite lists are JSON, also those that come back: each row that
is fetched would release the interpreter's lock, and might wait for it as long as other threads run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

PARAMETER = re.compile(r":([a-z]+)\b")


class DriverTransaction:
    """A transaction that is under way; committed or rolled back by `Store.writing_directly`."""

    def __init__(self, connection: Any, dialect: str) -> None:
        self.dialect = dialect
        self._cursor = connection.cursor()

    def rows(self, statements: Mapping[str, str], parameters: Mapping[str, Any]) -> list[Any]:
        """Run a query and return its rows; on SQLite it gives them as one list in JSON if it says so itself."""
        statement = statements[self.dialect]
        self._execute(statement, parameters)
        found: list[Any] = self._cursor.fetchall()
        return json.loads(found[0][0]) if statement.startswith(AS_JSON) else found

    def change(self, statements: Mapping[str, str], parameters: Mapping[str, Any]) -> int:
        """Run a statement that changes rows, and return how many."""
        self._execute(statements[self.dialect], parameters)
        changed: int = self._cursor.rowcount
        return changed

    def _execute(self, statement: str, parameters: Mapping[str, Any]) -> None:
        if self.dialect == "sqlite":
            given = {name: json.dumps(one) if isinstance(one, list) else one for name, one in parameters.items()}
            self._cursor.execute(statement, given)
        else:
            self._cursor.execute(_for_psycopg(statement), parameters)


AS_JSON = "SELECT json_group_array("


@cache
def _for_psycopg(statement: str) -> str:
    return PARAMETER.sub(r"%(\1)s", statement)

"""Insert-or-keep and insert-or-replace, which SQL spells per dialect and both of ours spell alike."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Executable, Table

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite


class InsertMissing:
    def __init__(self, table: Table) -> None:
        self._table = table
        self._statements: dict[str, Executable] = {}

    def __call__(self, connection: Connection, row: Mapping[str, object]) -> bool:
        """Whether the row was new."""
        dialect = connection.dialect.name
        statement = self._statements.get(dialect)
        if statement is None:
            # A driver's row count is not reliable for inserts; a returned row is.
            key = list(self._table.primary_key)
            statement = _insert(dialect, self._table).on_conflict_do_nothing().returning(*key)
            self._statements[dialect] = statement
        return connection.execute(statement, row).first() is not None


class Upsert:
    def __init__(self, table: Table, key: Sequence[str]) -> None:
        self._table = table
        self._key = key
        self._statements: dict[str, Executable] = {}

    def __call__(self, connection: Connection, row: Mapping[str, object]) -> None:
        dialect = connection.dialect.name
        statement = self._statements.get(dialect)
        if statement is None:
            insert = _insert(dialect, self._table)
            replaced = {column.name: insert.excluded[column.name] for column in self._table.c}
            for name in self._key:
                del replaced[name]
            statement = insert.on_conflict_do_update(index_elements=self._key, set_=replaced)
            self._statements[dialect] = statement
        connection.execute(statement, row)


def _insert(dialect: str, table: Table) -> "postgresql.Insert | sqlite.Insert":
    """Imported when used: PostgreSQL's dialect is megabytes that a process on SQLite does without."""
    if dialect == "sqlite":
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)

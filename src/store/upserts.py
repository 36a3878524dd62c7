"""Insert-or-keep and insert-or-replace, which SQL spells per dialect and both of ours spell alike."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

_DIALECTS = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


class InsertMissing:
    def __init__(self, table: Table) -> None:
        self._statements = {name: insert(table).on_conflict_do_nothing() for name, insert in _DIALECTS.items()}

    def __call__(self, connection: Connection, row: Mapping[str, object]) -> bool:
        """Whether the row was new."""
        return connection.execute(self._statements[connection.dialect.name], row).rowcount == 1


class Upsert:
    def __init__(self, table: Table, key: Sequence[str]) -> None:
        self._statements = {}
        for name, insert in _DIALECTS.items():
            statement = insert(table)
            values = {column.name: statement.excluded[column.name] for column in table.c if column.name not in key}
            self._statements[name] = statement.on_conflict_do_update(index_elements=key, set_=values)

    def __call__(self, connection: Connection, row: Mapping[str, object]) -> None:
        connection.execute(self._statements[connection.dialect.name], row)

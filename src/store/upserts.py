"""Insert-or-keep and insert-or-replace, which SQL spells per dialect and both of ours spell alike."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


class InsertMissing:
    def __init__(self, table: Table) -> None:
        # A driver's row count is not reliable for inserts; a returned row is.
        key = list(table.primary_key)
        self._postgresql = postgresql.insert(table).on_conflict_do_nothing().returning(*key)
        self._sqlite = sqlite.insert(table).on_conflict_do_nothing().returning(*key)

    def __call__(self, connection: Connection, row: Mapping[str, object]) -> bool:
        """Whether the row was new."""
        statement = self._sqlite if connection.dialect.name == "sqlite" else self._postgresql
        return connection.execute(statement, row).first() is not None


class Upsert:
    def __init__(self, table: Table, key: Sequence[str]) -> None:
        replaced = [column.name for column in table.c if column.name not in key]
        on_postgresql, on_sqlite = postgresql.insert(table), sqlite.insert(table)
        self._postgresql = on_postgresql.on_conflict_do_update(
            index_elements=key, set_={name: on_postgresql.excluded[name] for name in replaced}
        )
        self._sqlite = on_sqlite.on_conflict_do_update(
            index_elements=key, set_={name: on_sqlite.excluded[name] for name in replaced}
        )

    def __call__(self, connection: Connection, row: Mapping[str, object]) -> None:
        connection.execute(self._sqlite if connection.dialect.name == "sqlite" else self._postgresql, row)

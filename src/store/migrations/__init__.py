"""Brings a database to the newest schema, once, however many processes start together."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

HEAD = "0006"


def upgrade(connection: Connection) -> None:
    """Runs inside the caller's transaction, which on SQLite already holds the write lock."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL statement_timeout = 0"))  # another process may be at it for long
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('turnwise.migrations'))"))
    if _current(connection) == HEAD:
        return
    # Alembic is imported only when there is something to do: a start-up normally skips its 200 ms.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD)


def _current(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()

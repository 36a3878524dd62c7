"""What `turnwise doctor` finds out about the database, leaving it as it is."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from turnwise.cli.checks import PATIENCE_SEC, Check, sqlite_file
from turnwise.cli.places import database_place
from turnwise.errors import SetupError, Unavailable
from turnwise.settings import Settings
from turnwise.store.database import Database, parse_url
from turnwise.store.migrations import HEAD

NAME, SCHEMA = "Database", "Schema"


async def database(settings: Settings) -> list[Check]:
    file = sqlite_file(settings)
    if file is not None and not file.exists():
        return [Check.ok(NAME, f"SQLite, {file.resolve()}, made at the first start")]
    try:
        place = database_place(settings.store_url)
    except SetupError as error:
        return [Check.missing(NAME, error.message, "Correct TURNWISE_DATABASE_URL.")]
    try:
        async with _opened(settings) as opened:
            revision = await opened.read(_revision)
            writable = await _is_writable(opened)
    except (Unavailable, SQLAlchemyError) as error:
        reason = error.message if isinstance(error, Unavailable) else type(error).__name__
        return [Check.missing(NAME, f"{place}: {reason}", "Start it, or correct TURNWISE_DATABASE_URL.")]
    if not writable:
        return [Check.missing(NAME, f"{place} cannot be written", "Give this user the right to create tables.")]
    return [Check.ok(NAME, f"{place}, writable"), _schema(revision)]


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Database]:
    url = parse_url(settings.store_url)
    if url.drivername != "sqlite" and "connect_timeout" not in url.query:
        url = url.update_query_dict({"connect_timeout": f"{PATIENCE_SEC:.0f}"})
    opened = Database(url.render_as_string(hide_password=False))
    try:
        yield opened
    finally:
        await opened.close()


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _schema(revision: str | None) -> Check:
    if revision == HEAD:
        return Check.ok(SCHEMA, f"revision {revision}, the newest")
    if revision is None:
        return Check.notice(SCHEMA, "none yet", "It is made when Turnwise starts.")
    if revision > HEAD:
        found = f"revision {revision}; this Turnwise knows only {HEAD}"
        return Check.missing(SCHEMA, found, "Use the newer Turnwise that made it.")
    return Check.notice(SCHEMA, f"revision {revision}", f"It is brought to {HEAD} when Turnwise starts.")


class _Undo(Exception):
    pass


async def _is_writable(opened: Database) -> bool:
    def make_table(connection: Connection) -> None:
        connection.execute(text("CREATE TABLE turnwise_doctor_was_here (id INTEGER)"))
        raise _Undo

    try:
        await opened.write(make_table)
    except _Undo:
        return True
    except (Unavailable, SQLAlchemyError):
        return False
    return False

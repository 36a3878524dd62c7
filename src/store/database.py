"""One database, SQLite or PostgreSQL, reached from asyncio.

SQLAlchemy runs synchronously on threads of our own: a transaction is one hop to a thread and back, where the async
drivers pay one per statement. On SQLite all writes of a process share one thread, because SQLite has one writer.
"""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError, ProgrammingError, TimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from turnwise.errors import SetupError, Unavailable

T = TypeVar("T")

SQLITE_BUSY_TIMEOUT_MS = 10_000
SQLITE_RETRY_SEC = 0.01
SQLITE_READERS = 4
POSTGRES_CONNECTIONS = 10
POSTGRES_LIMITS: Mapping[str, Any] = {
    # A process that is paused in the middle of a transaction must not hold its locks for ever.
    "options": "-c idle_in_transaction_session_timeout=5000 -c statement_timeout=20000",
    "connect_timeout": 5,
    # A server that has vanished with its network must not hold our threads for as long as TCP would.
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}


def parse_url(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise SetupError("TURNWISE_DATABASE_URL is not a database URL (sqlite:///… or postgresql://…).") from error
    if parsed.drivername in {"postgresql", "postgres"}:
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername not in {"sqlite", "postgresql+psycopg"}:
        raise SetupError(f"TURNWISE_DATABASE_URL names '{parsed.drivername}'; Turnwise speaks sqlite and postgresql.")
    return parsed


class Database:
    def __init__(self, url: str) -> None:
        self.url = parse_url(url)
        self.is_sqlite = self.url.drivername == "sqlite"
        self._kept = threading.local()
        self._to_close: list[Connection] = []
        if self.is_sqlite:
            self._writer = _sqlite_engine(self.url, begin="BEGIN IMMEDIATE")
            self._reader = _sqlite_engine(self.url, begin="BEGIN")
            self._write_threads = ThreadPoolExecutor(1, "store-write")
            self._read_threads = ThreadPoolExecutor(SQLITE_READERS, "store-read")
        else:
            self._writer = create_engine(
                self.url,
                pool_size=POSTGRES_CONNECTIONS,
                max_overflow=0,
                pool_pre_ping=True,
                connect_args=dict(POSTGRES_LIMITS),
            )
            # Several selects of one read must see one moment.
            self._reader = self._writer.execution_options(isolation_level="REPEATABLE READ")
            self._write_threads = self._read_threads = ThreadPoolExecutor(POSTGRES_CONNECTIONS, "store")

    async def check(self) -> None:
        """Raises SetupError for a URL with which no server could ever be reached."""
        try:
            await self.read(lambda connection: connection.exec_driver_sql("SELECT 1").scalar())
        except ProgrammingError as error:
            raise SetupError(f"TURNWISE_DATABASE_URL cannot be used: {_reason(error)}.") from error

    async def read(self, work: Callable[[Connection], T]) -> T:
        try:
            return await self._on(self._read_threads, self._reader, work)
        except Unavailable as error:
            if not getattr(error.__cause__, "connection_invalidated", False):
                raise
            # The server has been restarted under a pooled connection: reading once more, on a new one, harms nobody.
            return await self._on(self._read_threads, self._reader, work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in one transaction; on an error nothing of it remains."""
        return await self.writing(work)

    def writing(self, work: Callable[[Connection], T]) -> asyncio.Future[T]:
        """The same as it goes on: it comes to its end even if nobody waits for it any more."""
        return self._on(self._write_threads, self._writer, work)

    async def foreign_commits(self) -> int:
        """A number that changes when another process has written to the same SQLite file; asking takes no lock."""

        def ask() -> int:
            cursor = self._kept_connection(self._writer).connection.cursor()
            cursor.execute("PRAGMA data_version")
            row = cursor.fetchone()
            return int(row[0]) if row else 0

        return await asyncio.get_running_loop().run_in_executor(self._write_threads, ask)

    async def close(self) -> None:
        def shut_down() -> None:
            self._write_threads.shutdown()
            self._read_threads.shutdown()
            for connection in self._to_close:
                connection.close()
            self._writer.dispose()
            self._reader.dispose()

        await asyncio.to_thread(shut_down)

    def _on(self, threads: ThreadPoolExecutor, engine: Engine, work: Callable[[Connection], T]) -> asyncio.Future[T]:
        def transaction() -> T:
            try:
                if not self.is_sqlite:
                    with engine.begin() as connection:
                        return work(connection)
                connection = self._kept_connection(engine)
                with connection.begin():
                    return work(connection)
            except (DBAPIError, TimeoutError) as error:
                if not _will_pass(error):
                    raise
                raise Unavailable(f"The database cannot be used now: {_reason(error)}") from error

        return asyncio.get_running_loop().run_in_executor(threads, transaction)

    def _kept_connection(self, engine: Engine) -> Connection:
        """Each thread keeps its connection to the file: taking one from the pool costs as much as a transaction."""
        connection: Connection | None = getattr(self._kept, "connection", None)
        if connection is None or connection.closed:
            connection = self._kept.connection = engine.connect()
            self._to_close.append(connection)
        return connection


def _will_pass(error: Exception) -> bool:
    """Whether the same may work later: PostgreSQL says of some lost connections that it was an internal error."""
    lost = isinstance(error, DBAPIError) and error.connection_invalidated
    return lost or isinstance(error, OperationalError | InterfaceError | TimeoutError)


def _reason(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else error
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__


def _sqlite_engine(url: URL, begin: str) -> Engine:
    engine = create_engine(url, connect_args={"check_same_thread": False})

    def on_connect(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        # The driver must not open transactions by itself: `begin` below says which kind.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {SQLITE_BUSY_TIMEOUT_MS}")
        _enter_wal_mode(cursor)
        # In WAL mode this loses nothing when a process dies; only a power cut may take the newest commits.
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.close()

    def on_begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
    return engine


def _enter_wal_mode(cursor: DBAPICursor) -> None:
    """For this one statement SQLite ignores its busy timeout: who starts together with others must try again."""
    deadline = time.monotonic() + SQLITE_BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(SQLITE_RETRY_SEC)

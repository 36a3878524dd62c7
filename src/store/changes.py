"""Tells watchers that a run has something new: at once within a process, soon across processes.

Losing a notification costs time, never data: a watcher reads the log from its own cursor, and looks by itself every
`SLOW_POLL_SEC`.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Mapping

import psycopg
import structlog

from turnwise.store.database import Database

CHANNEL = "turnwise_runs"
SLOW_POLL_SEC = 2.0
SQLITE_POLL_SEC = 0.01
RECONNECT_SEC = 1.0

log = structlog.get_logger()

Versions = Callable[[list[str]], Awaitable[Mapping[str, int]]]


class Subscription:
    def __init__(self) -> None:
        self._news = asyncio.Event()

    def wake(self) -> None:
        self._news.set()

    async def wait(self) -> None:
        """Returns on news, or after a while without: then too the log is worth a look."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), SLOW_POLL_SEC)
        self._news.clear()


class Changes:
    def __init__(self, database: Database, versions: Versions) -> None:
        self._database = database
        self._versions = versions
        self._subscriptions: dict[str, set[Subscription]] = {}
        self._watched = asyncio.Event()
        self._listener: asyncio.Task[None] | None = None
        self.ended = False

    def start(self) -> None:
        follow = self._follow_sqlite if self._database.is_sqlite else self._follow_postgres
        self._listener = asyncio.create_task(self._keep(follow))

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listener

    @contextlib.contextmanager
    def subscribe(self, run_id: str) -> Iterator[Subscription]:
        subscription = Subscription()
        self._subscriptions.setdefault(run_id, set()).add(subscription)
        self._watched.set()
        try:
            yield subscription
        finally:
            self._subscriptions[run_id].discard(subscription)
            if not self._subscriptions[run_id]:
                del self._subscriptions[run_id]
            if not self._subscriptions:
                self._watched.clear()

    def end_watches(self) -> None:
        """The process is about to stop: every watcher is told to leave, and resumes elsewhere from its cursor."""
        self.ended = True
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                subscription.wake()

    def notify(self, run_id: str) -> None:
        for subscription in self._subscriptions.get(run_id, ()):
            subscription.wake()

    async def _keep(self, follow: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await follow()
            except (psycopg.Error, sqlite3.Error, OSError) as error:
                log.warning("changes.listener_lost", reason=str(error))
            await asyncio.sleep(RECONNECT_SEC)

    async def _follow_postgres(self) -> None:
        url = self._database.url.set(drivername="postgresql").render_as_string(hide_password=False)
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            async for notification in connection.notifies():
                self.notify(notification.payload)

    async def _follow_sqlite(self) -> None:
        """`data_version` changes when another connection commits; asking costs microseconds and takes no lock."""
        with contextlib.closing(sqlite3.connect(self._database.url.database or "", isolation_level=None)) as connection:
            seen: dict[str, int] = {}
            last = -1
            while True:
                await self._watched.wait()
                current = connection.execute("PRAGMA data_version").fetchone()[0]
                if current != last:
                    last = current
                    versions = await self._versions(list(self._subscriptions))
                    for run_id, version in versions.items():
                        if seen.get(run_id) != version:
                            self.notify(run_id)
                    seen = dict(versions)
                await asyncio.sleep(SQLITE_POLL_SEC)

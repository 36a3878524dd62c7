"""Tells watchers that a run or a session has something new: at once within a process, soon across processes.

Losing a notification costs time, never data: a watcher reads the log from its own cursor, and looks by itself every
`SLOW_POLL_SEC`.
"""

import asyncio
import contextlib
import sqlite3
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping

import structlog

from turnwise.errors import Unavailable
from turnwise.store.database import Database
from turnwise.store.records import Glance
from turnwise.store.topics import Topic

CHANNEL = "turnwise_runs"
SLOW_POLL_SEC = 2.0
SQLITE_POLL_SEC = 0.01
SQLITE_QUIET_POLL_SEC = 0.04
"""While no other process writes: mostly there is none, and asking costs what could be spent on runs."""
QUIET_AFTER_POLLS = 100
RECONNECT_SEC = 1.0
MAX_UNREAD = 1000

log = structlog.get_logger()

Versions = Callable[[list[Topic]], Awaitable[Mapping[Topic, int]]]


class Subscription:
    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self._news: list[Glance] = []
        self._must_look = False
        self.ended = False

    def wake(self, news: Glance | None) -> None:
        """With the news themselves when they come from this process; without when only their existence is known."""
        if news is not None and self._news and news.only_extends(self._news[-1]):
            self._news[-1] = news
        elif news is None or len(self._news) >= MAX_UNREAD:
            self._must_look = True
        else:
            self._news.append(news)
        self._woken.set()

    async def wait(self) -> list[Glance]:
        """What has come since; an empty list when the log itself must be looked at, as from time to time it is."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SLOW_POLL_SEC):
                await self._woken.wait()
        self._woken.clear()
        news, self._news = self._news, []
        must_look, self._must_look = self._must_look, False
        return [] if must_look else news


class Changes:
    def __init__(self, database: Database, versions: Versions) -> None:
        self._database = database
        self._versions = versions
        self._subscriptions: dict[Topic, set[Subscription]] = {}
        self._watched = asyncio.Event()
        self._listener: asyncio.Task[None] | None = None
        self._origin = uuid.uuid4().hex

    def start(self) -> None:
        follow = self._follow_sqlite if self._database.is_sqlite else self._follow_postgres
        self._listener = asyncio.create_task(self._keep(follow))

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listener

    @contextlib.contextmanager
    def subscribe(self, topic: Topic) -> Iterator[Subscription]:
        subscription = Subscription()
        self._subscriptions.setdefault(topic, set()).add(subscription)
        self._watched.set()
        try:
            yield subscription
        finally:
            self._subscriptions[topic].discard(subscription)
            if not self._subscriptions[topic]:
                del self._subscriptions[topic]
            if not self._subscriptions:
                self._watched.clear()

    def watchers(self) -> int:
        return sum(map(len, self._subscriptions.values()))

    def end_watches(self) -> None:
        """The process is about to stop: every watcher is told to leave, and resumes elsewhere from its cursor."""
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                subscription.ended = True
                subscription.wake(None)

    def notify(self, topic: Topic, news: Glance | None = None) -> None:
        for subscription in self._subscriptions.get(topic, ()):
            subscription.wake(news)

    def notice(self, topic: Topic) -> str:
        """What a commit tells others through PostgreSQL; our own watchers have the news already."""
        return f"{self._origin} {topic}"

    async def _keep(self, follow: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await follow()
            except (sqlite3.Error, Unavailable, OSError) as error:
                log.warning("changes.listener_lost", reason=str(error))
            await asyncio.sleep(RECONNECT_SEC)

    async def _follow_postgres(self) -> None:
        from turnwise.store.notifications import notifications

        async with contextlib.aclosing(notifications(self._database.url, CHANNEL)) as notices:
            async for notice in notices:
                origin, _, topic = notice.partition(" ")
                if origin != self._origin:
                    self.notify(Topic.parse(topic))

    async def _follow_sqlite(self) -> None:
        seen: dict[Topic, int] = {}
        last, quiet = -1, 0
        while True:
            await self._watched.wait()
            current = await self._database.foreign_commits()
            quiet += 1
            if current != last:
                last, quiet = current, 0
                versions = await self._versions(list(self._subscriptions))
                for topic, version in versions.items():
                    if seen.get(topic) != version:
                        self.notify(topic)
                seen = dict(versions)
            await asyncio.sleep(SQLITE_POLL_SEC if quiet < QUIET_AFTER_POLLS else SQLITE_QUIET_POLL_SEC)

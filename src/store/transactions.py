"""Reading, and changing in one transaction of which watchers are told after its commit."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, func, select

from turnwise.store.changes import CHANNEL, Changes
from turnwise.store.database import Database
from turnwise.store.observing import Deeds, Observer, take_deeds
from turnwise.store.topics import News, Topic, take_news

T = TypeVar("T")


class Transactions:
    def __init__(self, database: Database, changes: Changes, observer: Observer) -> None:
        self._database = database
        self._changes = changes
        self._observer = observer

    async def read(self, work: Callable[[Connection], T]) -> T:
        return await self._database.read(work)

    async def change(self, topic: Topic, work: Callable[[Connection], T]) -> T:
        """Whoever watches `topic`, or anything else that `work` has news of, is told."""

        def transaction(connection: Connection) -> tuple[T, News, Deeds]:
            take_news(connection), take_deeds(connection)  # of an earlier transaction that failed
            result = work(connection)
            news: News = {topic: None, **take_news(connection)}
            if not self._database.is_sqlite:
                # Delivered by PostgreSQL when, and only if, this transaction commits.
                for each in news:
                    connection.execute(select(func.pg_notify(CHANNEL, self._changes.notice(each))))
            return result, news, take_deeds(connection)

        writing = self._database.writing(transaction)
        try:
            result, news, deeds = await asyncio.shield(writing)
        except asyncio.CancelledError:
            writing.add_done_callback(self._tell_of_done)  # what is committed is told, whoever waits for it
            raise
        self._tell(news, deeds)
        return result

    def _tell(self, news: News, deeds: Deeds) -> None:
        for each, glance in news.items():
            self._changes.notify(each, glance)
        self._observer.committed(deeds)

    def _tell_of_done(self, writing: asyncio.Future[tuple[T, News, Deeds]]) -> None:
        if not writing.cancelled() and writing.exception() is None:
            _, news, deeds = writing.result()
            self._tell(news, deeds)

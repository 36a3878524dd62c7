"""Looks at the database that watchers share: many are told of one change, and at the same cursor all see the same."""

import asyncio
from collections.abc import Callable

from sqlalchemy import Connection

from turnwise.store.database import Database
from turnwise.store.records import Glance
from turnwise.store.topics import Topic


class Looks:
    def __init__(self, database: Database) -> None:
        self.database = database
        self._coming: dict[tuple[Topic, int], asyncio.Task[Glance]] = {}

    async def look(self, topic: Topic, cursor: int, read: Callable[[Connection], Glance]) -> Glance:
        place = topic, cursor
        if place not in self._coming:
            self._coming[place] = asyncio.create_task(self._take(place, read))
        return await asyncio.shield(self._coming[place])  # one of them may leave, the others still want it

    async def _take(self, place: tuple[Topic, int], read: Callable[[Connection], Glance]) -> Glance:
        await asyncio.sleep(0)  # all who were told of the same change join in
        del self._coming[place]  # who comes from now on may have been told of something newer
        return await self.database.read(read)

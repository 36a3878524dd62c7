"""Somebody who watches a run or a session over SSE, leaves and comes back with Last-Event-ID all the time."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from random import Random

import httpx

from tests.sse import Frame, frames_of
from turnwise.fcmp.events import EventType, FcmpEvent

ATTENTION_SEC = (0.3, 4.0)
RECONNECT_SEC = 0.1
ENDS = {EventType.COMPLETED, EventType.FAILED}


class Over(Exception):
    """What was watched has ended."""


class Watcher:
    def __init__(self, http: httpx.AsyncClient, path: str, random: Random) -> None:
        self._http = http
        self._path = path
        self._random = random
        self._news = asyncio.Condition()
        self.seen: list[FcmpEvent] = []
        self.connections = 0
        self.complaints: list[str] = []

    @property
    def over(self) -> bool:
        return bool(self.seen) and self.seen[-1].type in ENDS

    async def follow(self) -> None:
        """To the end."""
        while not self.over:
            with contextlib.suppress(httpx.TransportError, TimeoutError):
                async with asyncio.timeout(self._random.uniform(*ATTENTION_SEC)):
                    await self._connected()
            await asyncio.sleep(RECONNECT_SEC)
        async with self._news:
            self._news.notify_all()

    async def until(self, good: Callable[[FcmpEvent], bool]) -> FcmpEvent:
        """The first such event, whenever it was seen."""
        async with self._news:
            await self._news.wait_for(lambda: self.over or any(map(good, self.seen)))
        for event in self.seen:
            if good(event):
                return event
        raise Over

    async def _connected(self) -> None:
        async with self._stream() as response:
            if response.status_code != 200:
                if response.status_code != 503:
                    self.complaints.append(f"the stream answered {response.status_code}")
                return
            self.connections += 1
            async for frame in frames_of(response):
                await self._take(frame)

    @contextlib.asynccontextmanager
    async def _stream(self) -> AsyncIterator[httpx.Response]:
        headers = {"Last-Event-ID": str(len(self.seen))} if self.seen else {}
        async with self._http.stream("GET", self._path, headers=headers) as response:
            yield response

    async def _take(self, frame: Frame) -> None:
        if frame.event != "chat_event":
            return
        if frame.id != str(len(self.seen) + 1):
            self.complaints.append(f"the stream brought {frame.id} after {len(self.seen)}")
        async with self._news:
            self.seen.append(FcmpEvent.model_validate(frame.data))
            self._news.notify_all()


class SessionWatcher(Watcher):
    """Of all runs of a session, with one cursor, until it is closed."""

    _closed = False

    @property
    def over(self) -> bool:
        return self._closed

    async def _take(self, frame: Frame) -> None:
        await super()._take(frame)
        if frame.event == "snapshot":
            self._closed = frame.data["state"] == "closed" and frame.data["last_seq"] == len(self.seen)

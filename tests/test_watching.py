"""Following a run in both databases: snapshot, replay, live, across processes; nothing lost and nothing repeated."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from tests.stored_runs import CANCELED, StoredRun, open_question
from turnwise.errors import CursorInvalid, RunNotFound
from turnwise.fcmp.events import DiagnosticWarning, FcmpEvent
from turnwise.fcmp.ordering import violations
from turnwise.statechart import Event, State
from turnwise.store import Store
from turnwise.store.changes import SLOW_POLL_SEC
from turnwise.store.records import LiveMessage, StoredEvent
from turnwise.store.watching import Delta, Frame, Idle, Snapshot

PATIENCE_SEC = 30.0
"""How long a test waits for what must come."""
AT_ONCE_SEC = SLOW_POLL_SEC / 2
"""Sooner than the slow poll would have found it: somebody must have told the watcher."""


@pytest.fixture
async def second_store(store: Store, store_url: str) -> AsyncIterator[Store]:
    """What another process would have: it shares nothing with the first but the database."""
    second = Store(store_url)
    await second.open()
    yield second
    await second.close()


class Watcher:
    """Reads frames one by one; frames that only say "nothing new" are passed over."""

    def __init__(self, store: Store, run: StoredRun, cursor: int = 0) -> None:
        self._frames = store.watch(run.run_id, cursor)
        self.snapshot: Snapshot | None = None

    async def next(self, within: float = PATIENCE_SEC) -> Frame:
        async with asyncio.timeout(within):
            while isinstance(frame := await anext(self._frames), Idle):
                pass
        return frame

    async def event(self, within: float = PATIENCE_SEC) -> int:
        frame = await self.next(within)
        assert isinstance(frame, StoredEvent), frame
        return frame.seq

    async def delta(self, within: float = PATIENCE_SEC) -> Delta:
        frame = await self.next(within)
        assert isinstance(frame, Delta), frame
        return frame

    async def start(self) -> Snapshot:
        frame = await self.next()
        assert isinstance(frame, Snapshot), frame
        return frame

    async def rest(self) -> list[Frame]:
        """All that comes until the run ends."""
        frames: list[Frame] = []
        with contextlib.suppress(StopAsyncIteration):
            while True:
                frames.append(await self.next())
        return frames

    async def leave(self) -> None:
        assert hasattr(self._frames, "aclose")
        await self._frames.aclose()


@contextlib.asynccontextmanager
async def watching(store: Store, run: StoredRun, cursor: int = 0) -> AsyncIterator[Watcher]:
    watcher = Watcher(store, run, cursor)
    try:
        yield watcher
    finally:
        await watcher.leave()


def seqs(frames: list[Frame]) -> list[int]:
    return [frame.seq for frame in frames if isinstance(frame, StoredEvent)]


async def until_told(write: Callable[[int], Awaitable[None]], read: Callable[[], Awaitable[object]]) -> None:
    """Writes until one write reached the watcher at once: at the start its listener may not be listening yet."""
    for attempt in range(10):
        await write(attempt)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(read(), AT_ONCE_SEC)
            return
    raise AssertionError("nobody tells the watcher")

"""The Turnwise side: runs started, watched and answered through its own client."""

import contextlib
from collections.abc import AsyncIterator

from temporalio.client import Client
from temporalio.worker import Worker

from bench.engine import TwoTurnEngine, bench_engines
from bench.sides import ANSWER, RunBroken
from turnwise.client import Run, Turnwise
from turnwise.connection import connect_temporal
from turnwise.engines import Engines
from turnwise.fcmp.events import EventType
from turnwise.runtime.worker import build_worker
from turnwise.settings import Settings
from turnwise.store import Store


class TurnwiseRun:
    def __init__(self, run: Run) -> None:
        self.id = run.id
        self._run = run
        self._events = run.events()

    async def until_asked(self) -> None:
        await self._until(EventType.INPUT_REQUIRED)

    async def reply_until_completed(self) -> None:
        await self._run.reply(1, ANSWER)
        await self._until(EventType.COMPLETED)

    async def _until(self, kind: EventType) -> None:
        async for event in self._events:
            if event.type is kind:
                return
        raise RunBroken(f"run {self.id} ended without {kind}")


class TurnwiseSide:
    name = "Turnwise"

    def __init__(self, temporal: Client, store: Store, settings: Settings) -> None:
        self.temporal = temporal
        self.turnwise = Turnwise(temporal, store, bench_engines(), task_queue=settings.task_queue)
        self._store = store
        self._engines: Engines = bench_engines()
        self._task_queue = settings.task_queue

    async def start(self) -> TurnwiseRun:
        return TurnwiseRun(await self.turnwise.start("Paint it", engine=TwoTurnEngine.name))

    def worker(self) -> Worker:
        return build_worker(self.temporal, self._store, self._engines, task_queue=self._task_queue)


@contextlib.asynccontextmanager
async def turnwise_side(settings: Settings) -> AsyncIterator[TurnwiseSide]:
    store = Store(settings.store_url)
    await store.open()
    try:
        yield TurnwiseSide(await connect_temporal(settings), store, settings)
    finally:
        await store.close()

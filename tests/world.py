"""A whole Turnwise for a test: real Temporal, real database, a worker on a task queue of its own."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from temporalio.client import Client
from temporalio.worker import Worker

from turnwise.client import Run, Turnwise
from turnwise.engines import Engines, default_engines
from turnwise.fcmp.events import EventType, FcmpEvent
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.runtime.worker import build_worker
from turnwise.statechart import State
from turnwise.store import Store

T = TypeVar("T")

ASK: JsonObject = {"ask": {"kind": "open_text", "prompt": "Which colour?"}}
ANSWER: JsonObject = {"final": "It is {reply}."}
WAIT_FOREVER: JsonObject = {"sleep": 3600}
ASK_THEN_ANSWER: JsonObject = {"turns": [[ASK], [ANSWER]]}
"""The two-turn run: one question, then the answer."""


@dataclass(frozen=True)
class World:
    temporal: Client
    store: Store
    turnwise: Turnwise
    engines: Engines
    task_queue: str

    def worker(self) -> Worker:
        """One more worker on the same queue."""
        return build_worker(self.temporal, self.store, self.engines, task_queue=self.task_queue)


@contextlib.asynccontextmanager
async def start_world(
    temporal: Client,
    store_url: str,
    engines: Engines | None = None,
    *,
    with_worker: bool = True,
    task_queue: str | None = None,
) -> AsyncIterator[World]:
    store = Store(store_url)
    await store.open()
    engines = engines or default_engines()
    task_queue = task_queue or f"turnwise-{uuid.uuid4()}"
    world = World(temporal, store, Turnwise(temporal, store, engines, task_queue=task_queue), engines, task_queue)
    try:
        if with_worker:
            async with world.worker():
                yield world
        else:
            yield world
    finally:
        await store.close()


async def until_state(run: Run, *states: State) -> list[FcmpEvent]:
    """Follows the run until it has entered one of the states; returns the log up to there."""
    log: list[FcmpEvent] = []
    async for event in run.events():
        log.append(event)
        if event.type == EventType.STATE_CHANGED and State(str(event.data["to"])) in states:
            return log
    raise AssertionError(f"the run ended without entering {states}: {[event.type.value for event in log]}")


async def until_event(run: Run, kind: EventType, cursor: int = 0) -> FcmpEvent:
    """The first event of a type after the cursor."""
    async for event in run.events(cursor):
        if event.type == kind:
            return event
    raise AssertionError(f"the run ended without {kind}")


async def until_asked(run: Run, interaction_id: int = 1) -> FcmpEvent:
    async for event in run.events():
        if event.type == EventType.INPUT_REQUIRED and event.data["interaction_id"] == interaction_id:
            return event
    raise AssertionError(f"the run ended without asking question {interaction_id}")


async def until(look: Callable[[], Awaitable[T]], good: Callable[[T], bool]) -> T:
    """Looks again and again at something that tells nobody when it changes."""
    while True:
        if good(seen := await look()):
            return seen
        await asyncio.sleep(0.01)

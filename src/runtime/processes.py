"""What every process of Turnwise is made of, and the worker as a part of one."""

import contextlib
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta

from temporalio.client import Client

from turnwise.activities import Presence
from turnwise.client import Turnwise
from turnwise.connection import connect_temporal
from turnwise.engines import Engines, default_engines
from turnwise.errors import SetupError, Unavailable
from turnwise.metrics import Metrics
from turnwise.runtime.recovery import start_recovery
from turnwise.runtime.tracing import traced
from turnwise.runtime.worker import build_worker, ensure_search_attributes
from turnwise.settings import Settings
from turnwise.store import Store
from turnwise.tools import default_tools


@dataclass(frozen=True, slots=True)
class Parts:
    settings: Settings
    temporal: Client
    store: Store
    engines: Engines
    metrics: Metrics = field(default_factory=Metrics)

    @property
    def turnwise(self) -> Turnwise:
        return Turnwise(self.temporal, self.store, self.engines, task_queue=self.settings.task_queue)


@contextlib.asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Parts]:
    """What all processes that serve have in common."""
    with traced() as plugins:
        temporal = await connect_temporal(settings, plugins)
        if settings.database_url is None:
            make_data_dir(settings)
        metrics = Metrics()
        store = Store(settings.store_url, metrics)
        metrics.count_watchers(store.watchers)
        try:
            await store.open()
            await ensure_search_attributes(temporal)
            async with store.ticking():
                yield Parts(settings, temporal, store, default_engines(), metrics)
        except Unavailable as error:
            raise SetupError(error.message) from error
        finally:
            await store.close()


@contextlib.asynccontextmanager
async def working(parts: Parts) -> AsyncIterator[None]:
    task_queue = parts.settings.task_queue
    tools = default_tools(parts.settings)
    presence = Presence(parts.store, task_queue, parts.settings.recovery)
    worker = build_worker(
        parts.temporal,
        parts.store,
        parts.engines,
        task_queue=task_queue,
        tools=tools,
        presence=presence,
        grace=timedelta(seconds=parts.settings.grace_sec),
    )
    try:
        async with presence.shown(lambda moment: start_recovery(parts.temporal, task_queue, moment)), worker:
            yield
    finally:
        await tools.close()


def make_data_dir(settings: Settings) -> None:
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(f"The data folder {settings.data_dir} cannot be made: {error.strerror}.") from error
    if not os.access(settings.data_dir, os.W_OK | os.X_OK):
        raise SetupError(f"The data folder {settings.data_dir} cannot be written; set TURNWISE_DATA_DIR.")

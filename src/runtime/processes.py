"""What `turnwise up`, `turnwise worker` and `turnwise api` run: the parts, put together and taken apart in order."""

import asyncio
import contextlib
import fcntl
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import timedelta

import uvicorn
from temporalio.client import Client

from turnwise.activities import Presence
from turnwise.api.app import create_app
from turnwise.api.services import Services
from turnwise.client import Turnwise
from turnwise.connection import connect_temporal
from turnwise.engines import Engines, default_engines
from turnwise.errors import SetupError, Unavailable
from turnwise.runtime.recovery import start_recovery
from turnwise.runtime.temporal_server import ServerOptions, embedded_temporal, require_free_port
from turnwise.runtime.worker import build_worker, ensure_search_attributes
from turnwise.settings import Settings
from turnwise.store import Store

API_SHUTDOWN_SEC = 5


@dataclass(frozen=True, slots=True)
class Parts:
    """What every process of Turnwise is made of."""

    settings: Settings
    temporal: Client
    store: Store
    engines: Engines

    @property
    def turnwise(self) -> Turnwise:
        return Turnwise(self.temporal, self.store, self.engines, task_queue=self.settings.task_queue)


@contextlib.asynccontextmanager
async def whole(settings: Settings) -> AsyncIterator[Parts]:
    """Everything in one process: embedded Temporal unless somebody else runs one, a worker, the API."""
    require_free_port(settings.api_host, settings.api_port, "TURNWISE_API_PORT")
    async with contextlib.AsyncExitStack() as stack:
        if not settings.external_temporal:
            stack.enter_context(_own_data_dir(settings))
            options = ServerOptions(settings.temporal_port, settings.temporal_ui_port, settings.data_dir)
            await stack.enter_async_context(embedded_temporal(options))
        parts = await stack.enter_async_context(connected(settings))
        await stack.enter_async_context(working(parts))
        await stack.enter_async_context(serving(parts))
        yield parts


@contextlib.asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Parts]:
    temporal = await connect_temporal(settings)
    if settings.database_url is None:
        _make_data_dir(settings)
    store = Store(settings.store_url)
    try:
        await store.open()
        await ensure_search_attributes(temporal)
        yield Parts(settings, temporal, store, default_engines())
    except Unavailable as error:
        raise SetupError(error.message) from error
    finally:
        await store.close()


@contextlib.asynccontextmanager
async def working(parts: Parts) -> AsyncIterator[None]:
    task_queue = parts.settings.task_queue
    presence = Presence(parts.store, task_queue, parts.settings.recovery)
    worker = build_worker(
        parts.temporal,
        parts.store,
        parts.engines,
        task_queue=task_queue,
        presence=presence,
        grace=timedelta(seconds=parts.settings.grace_sec),
    )
    async with presence.shown(lambda moment: start_recovery(parts.temporal, task_queue, moment)), worker:
        yield


@contextlib.asynccontextmanager
async def serving(parts: Parts) -> AsyncIterator[None]:
    settings = parts.settings
    require_free_port(settings.api_host, settings.api_port, "TURNWISE_API_PORT")
    services = Services(parts.turnwise, settings.ui_url, parts.temporal.namespace)
    config = uvicorn.Config(
        create_app(services, settings.allowed_hosts),
        host=settings.api_host,
        port=settings.api_port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=API_SHUTDOWN_SEC,
    )
    server = _ApiServer(config, parts.store)
    serving = asyncio.create_task(server.serve())
    try:
        await asyncio.wait({serving, asyncio.create_task(server.listening.wait())}, return_when="FIRST_COMPLETED")
        yield
    finally:
        server.should_exit = True
        await serving


class _ApiServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, store: Store) -> None:
        super().__init__(config)
        self._store = store
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the process's, which stops its parts in order."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._store.end_watches()
        await super().shutdown(sockets)


def _make_data_dir(settings: Settings) -> None:
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(f"The data folder {settings.data_dir} cannot be made: {error.strerror}.") from error


@contextlib.contextmanager
def _own_data_dir(settings: Settings) -> Iterator[None]:
    """Two servers on the same files would destroy them."""
    _make_data_dir(settings)
    try:
        lock = (settings.data_dir / "lock").open("w")
    except OSError as error:
        raise SetupError(f"The data folder {settings.data_dir} cannot be written: {error.strerror}.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SetupError(f"Another `turnwise up` is using {settings.data_dir}; set TURNWISE_DATA_DIR.") from error
        yield

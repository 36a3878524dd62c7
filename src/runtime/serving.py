"""The API as a part of a process: it serves until its block ends."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn

from turnwise.api.app import create_app
from turnwise.api.services import Services
from turnwise.runtime.ports import require_free_port
from turnwise.runtime.processes import Parts
from turnwise.store import Store

API_SHUTDOWN_SEC = 5


@contextlib.asynccontextmanager
async def serving(parts: Parts) -> AsyncIterator[None]:
    settings = parts.settings
    require_free_port(settings.api_host, settings.api_port, "TURNWISE_API_PORT")
    services = Services(parts.turnwise, settings.ui_url, parts.temporal.namespace, parts.metrics)
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

"""The API of the Turnwise side."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import uvicorn

from bench.turnwise_runs import TurnwiseSide
from turnwise.api.app import create_app
from turnwise.api.services import Services
from turnwise.runtime.temporal_server import HOST

BACKLOG = 2048


@contextlib.asynccontextmanager
async def served(side: TurnwiseSide) -> AsyncIterator[str]:
    """The real application on a real socket, in the worker's process, as `turnwise up` has it."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        services = Services(turnwise=side.turnwise, temporal_ui=None, namespace=side.temporal.namespace)
        app = create_app(services, [HOST])
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False, backlog=BACKLOG))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://{HOST}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving

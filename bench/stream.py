"""How soon an event that Turnwise stores is at a client of the HTTP API."""

import asyncio
import contextlib
import socket
from asyncio.subprocess import Process
from collections.abc import AsyncIterator

import orjson
import uvicorn

from bench.child import child, next_line
from bench.engine import StreamingEngine
from bench.measures import STREAM, Measure, percentile
from bench.turnwise_runs import TurnwiseSide
from turnwise.api.app import create_app
from turnwise.api.services import Services
from turnwise.runtime.temporal_server import HOST


async def measure_stream(side: TurnwiseSide, runs: int) -> list[Measure]:
    times: list[float] = []
    async with _api(side) as address, child("bench.sse_client") as client:
        for _ in range(runs):
            times += await _followed_run(side, address, client)
    return [
        Measure("stored event to SSE client, median", "ms", percentile(times, 50), target=STREAM),
        Measure("stored event to SSE client, p95", "ms", percentile(times, 95)),
    ]


async def _followed_run(side: TurnwiseSide, address: str, client: Process) -> list[float]:
    run = await side.turnwise.start("Stream", engine=StreamingEngine.name)
    assert client.stdin is not None
    client.stdin.write(f"{address}/v1/runs/{run.id}/events?cursor=0\n".encode())
    while (line := await next_line(client)) == "connected":
        pass
    times: list[float] = orjson.loads(line)
    return times


@contextlib.asynccontextmanager
async def _api(side: TurnwiseSide) -> AsyncIterator[str]:
    """The real application on a real socket, in the worker's process, as `turnwise up` has it."""
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        services = Services(turnwise=side.turnwise, temporal_ui=None, namespace=side.temporal.namespace)
        server = uvicorn.Server(uvicorn.Config(create_app(services, [HOST]), log_level="warning", access_log=False))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://{HOST}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving

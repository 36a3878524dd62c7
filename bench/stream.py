"""How soon an event that Turnwise stores is at a client of the HTTP API."""

from asyncio.subprocess import Process

import orjson

from bench.api import served
from bench.child import child, next_line
from bench.engine import StreamingEngine
from bench.measures import STREAM, Measure, percentile
from bench.turnwise_runs import TurnwiseSide


async def measure_stream(side: TurnwiseSide, runs: int) -> list[Measure]:
    times: list[float] = []
    async with served(side) as address, child("bench.sse_client") as client:
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

"""What a worker's memory grows by for runs that wait. Each side's worker is alone in a process of its own."""

import asyncio
from asyncio.subprocess import Process
from dataclasses import dataclass

import psutil

from bench.child import child, next_line
from bench.measures import MEMORY, Measure
from bench.sides import Side
from turnwise.settings import Settings

WARM_UP_RUNS = 100
"""Waiting before the first look, so that what a worker loads once is not counted as the runs'."""
STARTS_AT_ONCE = 50
SETTLE_SEC = 2.0
PATIENCE_SEC = 300.0
"""For a run that never asks: without it the benchmark would wait forever."""


@dataclass(frozen=True, slots=True)
class Memory:
    per_run: float
    total: float


async def measure_memory(bare: Side, turnwise: Side, settings: Settings, runs: int) -> list[Measure]:
    of_bare = await _memory(bare, "bare", settings, runs)
    of_turnwise = await _memory(turnwise, "turnwise", settings, runs)
    waiting = f"{runs:,} runs waiting"
    return [
        Measure(f"memory per run, {waiting}", "kB", of_turnwise.per_run / 1e3, of_bare.per_run / 1e3, MEMORY),
        Measure(f"memory of the worker, {waiting}", "MB", of_turnwise.total / 1e6, of_bare.total / 1e6, MEMORY),
    ]


async def _memory(side: Side, kind: str, settings: Settings, runs: int) -> Memory:
    async with child("bench.worker_process", kind, str(settings.temporal_port), str(settings.data_dir)) as process:
        await next_line(process)
        before = await _resident(side, process, WARM_UP_RUNS)
        after = await _resident(side, process, runs - WARM_UP_RUNS)
        return Memory((after - before) / (runs - WARM_UP_RUNS), after)


async def _resident(side: Side, process: Process, runs: int) -> int:
    """Starts runs and returns the worker's memory when all of them wait."""
    limit = asyncio.Semaphore(STARTS_AT_ONCE)

    async def start() -> None:
        async with limit:
            await side.start()

    async with asyncio.timeout(PATIENCE_SEC), asyncio.TaskGroup() as starts:
        for _ in range(runs):
            starts.create_task(start())
        for _ in range(runs):
            await next_line(process)
    await asyncio.sleep(SETTLE_SEC)
    resident: int = psutil.Process(process.pid).memory_info().rss
    return resident

"""How long people wait: for the question, and after their reply for the end. One run at a time."""

import asyncio
import time
from dataclasses import dataclass, field

from bench.measures import LATENCY, Measure, percentile
from bench.sides import Side, whole_run

PAUSE_SEC = 0.03
"""Lets the server and the worker finish what nobody waits for, so that it does not count for what comes next."""


@dataclass(slots=True)
class Times:
    question: list[float] = field(default_factory=list)
    completed: list[float] = field(default_factory=list)


async def measure_latency(bare: Side, turnwise: Side, rounds: int, warm_up: int) -> list[Measure]:
    """The sides alternate, so that whatever else the machine does meets both."""
    times = {bare.name: Times(), turnwise.name: Times()}
    for _ in range(warm_up):
        await whole_run(bare)
        await whole_run(turnwise)
    for number in range(rounds):
        for side in (bare, turnwise) if number % 2 else (turnwise, bare):
            await _one_run(side, times[side.name])
    return _measures(times[bare.name], times[turnwise.name])


async def _one_run(side: Side, times: Times) -> None:
    await asyncio.sleep(PAUSE_SEC)
    began = time.perf_counter()
    run = await side.start()
    await run.until_asked()
    times.question.append(_ms_since(began))
    await asyncio.sleep(PAUSE_SEC)
    began = time.perf_counter()
    await run.reply_until_completed()
    times.completed.append(_ms_since(began))


def _ms_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def _measures(bare: Times, turnwise: Times) -> list[Measure]:
    spans = (
        ("start to question", bare.question, turnwise.question),
        ("reply to completed", bare.completed, turnwise.completed),
    )
    return [
        Measure(f"{span}, {label}", "ms", percentile(of_turnwise, percent), percentile(of_bare, percent), LATENCY)
        for span, of_bare, of_turnwise in spans
        for label, percent in (("median", 50), ("p95", 95))
    ]

"""How many whole runs a second, with many at once."""

import asyncio
import statistics
import time

from bench.measures import THROUGHPUT, Measure
from bench.sides import Side, whole_run

AT_ONCE = 50


async def measure_throughput(bare: Side, turnwise: Side, rounds: int, runs_each: int) -> Measure:
    """The median of rounds in which the sides alternate; `runs_each` is what each of the fifty does in a round."""
    rates: dict[str, list[float]] = {bare.name: [], turnwise.name: []}
    for number in range(rounds):
        for side in (bare, turnwise) if number % 2 else (turnwise, bare):
            rates[side.name].append(await _rate(side, runs_each))
    return Measure(
        f"runs per second, {AT_ONCE} at once",
        "/s",
        statistics.median(rates[turnwise.name]),
        statistics.median(rates[bare.name]),
        THROUGHPUT,
    )


async def _rate(side: Side, runs_each: int) -> float:
    async def one_after_another() -> None:
        for _ in range(runs_each):
            await whole_run(side)

    began = time.perf_counter()
    await asyncio.gather(*(one_after_another() for _ in range(AT_ONCE)))
    return AT_ONCE * runs_each / (time.perf_counter() - began)

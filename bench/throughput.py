"""How many whole runs a second, with many at once, and how many of them do not come to their end."""

import asyncio
import statistics
import time
from dataclasses import dataclass, field

from temporalio.exceptions import TemporalError

from bench.measures import NONE_FAILED, THROUGHPUT, Measure
from bench.sides import RunBroken, Side, whole_run
from turnwise.errors import TurnwiseError

AT_ONCE = 50


@dataclass(slots=True)
class Tally:
    rates: list[float] = field(default_factory=list)
    failed: int = 0


async def measure_throughput(bare: Side, turnwise: Side, rounds: int, runs_each: int) -> list[Measure]:
    """The median of rounds in which the sides alternate; `runs_each` is what each of the fifty does in a round."""
    tallies = {bare.name: Tally(), turnwise.name: Tally()}
    for number in range(rounds):
        for side in (bare, turnwise) if number % 2 else (turnwise, bare):
            await _one_round(side, runs_each, tallies[side.name])
    of_bare, of_turnwise = tallies[bare.name], tallies[turnwise.name]
    at_once = f"{AT_ONCE} at once"
    return [
        Measure(
            f"runs per second, {at_once}",
            "/s",
            statistics.median(of_turnwise.rates),
            statistics.median(of_bare.rates),
            THROUGHPUT,
        ),
        Measure(f"failed runs, {at_once}", "", of_turnwise.failed, of_bare.failed, NONE_FAILED),
    ]


async def _one_round(side: Side, runs_each: int, tally: Tally) -> None:
    failed = 0

    async def one_after_another() -> None:
        nonlocal failed
        for _ in range(runs_each):
            try:
                await whole_run(side)
            except (RunBroken, TurnwiseError, TemporalError):
                failed += 1

    began = time.perf_counter()
    await asyncio.gather(*(one_after_another() for _ in range(AT_ONCE)))
    tally.rates.append((AT_ONCE * runs_each - failed) / (time.perf_counter() - began))
    tally.failed += failed

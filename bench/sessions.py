"""What a session costs when it has grown: a fork of a long transcript, a prompt after a thousand others."""

import statistics
import time

from bench.engine import ShortEngine
from bench.measures import LATENCY, Measure
from turnwise.client import AgentSession, Turnwise
from turnwise.fcmp.jsonvalue import JsonObject

FEW_ENTRIES = 10
MANY_ENTRIES = 10_000
WINDOW = 20
"""Prompts of which the median is taken: around the tenth, and at the end."""


async def measure_sessions(turnwise: Turnwise, prompts: int, forks: int) -> list[Measure]:
    return [await _forks(turnwise, forks), await _prompts(turnwise, prompts)]


async def _forks(turnwise: Turnwise, rounds: int) -> Measure:
    short, long = [await _with_entries(turnwise, count) for count in (FEW_ENTRIES, MANY_ENTRIES)]
    times: dict[str, list[float]] = {short.id: [], long.id: []}
    for number in range(rounds + 1):
        for session in (short, long):
            began = time.perf_counter()
            fork = await session.fork()
            if number:  # the first one warms up
                times[session.id].append(_ms_since(began))
            await fork.close()
    of_few, of_many = statistics.median(times[short.id]), statistics.median(times[long.id])
    name = f"fork of {MANY_ENTRIES:,} entries, beside one of {FEW_ENTRIES}"
    return Measure(name, "ms", of_many, of_few, LATENCY)


async def _prompts(turnwise: Turnwise, count: int) -> Measure:
    session = await turnwise.create_session(engine=ShortEngine.name)
    times = []
    for number in range(count):
        began = time.perf_counter()
        await session.prompt(f"Prompt {number}")
        times.append(_ms_since(began))
    await session.close()
    early, late = statistics.median(times[:WINDOW]), statistics.median(times[-WINDOW:])
    return Measure(f"prompt {count:,} of a session, beside the tenth", "ms", late, early, LATENCY)


async def _with_entries(turnwise: Turnwise, count: int) -> AgentSession:
    session = await turnwise.create_session(engine=ShortEngine.name)
    entry: JsonObject = {"kind": "message", "role": "user", "text": "Something was said."}
    await session.resume([entry] * count)
    return session


def _ms_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000

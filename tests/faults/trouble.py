"""The sequence of faults: for each victim its own, drawn from the seed, so that they overlap as they do in life."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.faults.victims import Blow, Victim

QUIET_SEC = {"worker": (2.0, 8.0), "api": (1.0, 5.0), "temporal": (2.0, 10.0), "database": (2.0, 8.0)}
"""How long each kind is left in peace between two faults."""
AWAY_SEC = (0.2, 4.0)


@dataclass(frozen=True, slots=True)
class Fault:
    quiet: float
    blow: Blow
    away: float


class Faults:
    """An endless sequence, the same for the same seed and name."""

    def __init__(self, seed: int, name: str, victim: Victim) -> None:
        # Not a secret: a seed that reproduces.
        self._random = Random(f"{seed} {name}")  # noqa: S311
        self._quiet = QUIET_SEC[victim.kind]
        self._blows = victim.blows

    def next(self) -> Fault:
        draw = self._random
        return Fault(draw.uniform(*self._quiet), draw.choice(self._blows), draw.uniform(*AWAY_SEC))


async def make_trouble(victims: Sequence[Victim], seed: int, seconds: float) -> Counter[str]:
    """For so long; afterwards every victim is back. Returns what was done, by kind."""
    done: Counter[str] = Counter()
    until = asyncio.get_running_loop().time() + seconds
    async with asyncio.TaskGroup() as tasks:
        for number, victim in enumerate(victims):
            faults = Faults(seed, f"{victim.kind} {number}", victim)
            tasks.create_task(_trouble(victim, faults, until, done))
    return done


async def _trouble(victim: Victim, faults: Faults, until: float, done: Counter[str]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        fault = faults.next()
        if loop.time() + fault.quiet >= until:
            return
        await asyncio.sleep(fault.quiet)
        await victim.strike(fault.blow)
        done[f"{victim.kind} {fault.blow.value}"] += 1
        await asyncio.sleep(fault.away)
        await victim.restore()

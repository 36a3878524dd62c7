"""One round of the suite: everything is started, loaded, struck, brought back, drained and judged."""

import asyncio
import contextlib
import uuid
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.faults.journeys import JOURNEYS, Journey
from tests.faults.report import Report
from tests.faults.stage import DatabaseKind, Stage, staged
from tests.faults.talks import Talk
from tests.faults.trouble import make_trouble
from tests.faults.users import User
from tests.faults.verdict import judge
from tests.faults.watchers import Over

BETWEEN_STARTS_SEC = (0.0, 0.8)
RUNS_PER_SESSION = 8
DRAIN_SEC = 90.0


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    seconds: float
    database: DatabaseKind


async def play(plan: Plan, folder: Path) -> Report:
    async with staged(plan.database, folder) as stage:
        load = Load(plan, stage)
        loading = asyncio.create_task(load.play())
        faults = await make_trouble(stage.victims, plan.seed, plan.seconds)
        load.calm.set()
        lost = [f"{name}: it is stuck" for name in await loading]
        for user, journey in load.users.items():
            lost += [f"{user.name}: {each}" for each in await judge(journey, user, stage.http, stage.temporal)]
        for talk in load.talks:
            lost += [f"{talk.name}: {each}" for each in await talk.judge(stage.temporal)]
    return Report.of(plan.seed, faults, list(load.users), load.talks, lost)


class Load:
    """Runs and sessions, started one after the other until all is calm."""

    def __init__(self, plan: Plan, stage: Stage) -> None:
        self._seed = plan.seed
        self._stage = stage
        self._name = uuid.uuid4().hex[:8]
        self._draw = self._random("load")
        self._deck: list[Journey] = []
        self.calm = asyncio.Event()
        self.users: dict[User, Journey] = {}
        self.talks: list[Talk] = []

    async def play(self) -> list[str]:
        """To the end of the last of them; returns the names of those that do not come to their end."""
        tasks: list[asyncio.Task[None]] = []
        while not self.calm.is_set():
            tasks.append(self._run())
            if len(self.users) % RUNS_PER_SESSION == 1:
                tasks.append(self._session())
            await asyncio.sleep(self._draw.uniform(*BETWEEN_STARTS_SEC))
        done, left = await asyncio.wait(tasks, timeout=DRAIN_SEC)
        for task in left:
            task.cancel()
        for task in done:
            task.result()
        return [task.get_name() for task in left]

    def _run(self) -> asyncio.Task[None]:
        self._deck = self._deck or self._draw.sample(JOURNEYS, len(JOURNEYS))  # every kind comes up
        journey = self._deck.pop()
        name = f"{self._name} {len(self.users) + 1}: {journey.name}"
        user = User(self._stage.http, self._stage.temporal, name, self._random(f"run {len(self.users)}"), self.calm)
        self.users[user] = journey
        return asyncio.create_task(_played(journey, user), name=name)

    def _session(self) -> asyncio.Task[None]:
        name = f"{self._name} session {len(self.talks) + 1}"
        talk = Talk(self._stage.http, name, self._random(f"session {len(self.talks)}"))
        self.talks.append(talk)
        return asyncio.create_task(talk.play(), name=name)

    def _random(self, what: str) -> Random:
        return Random(f"{self._seed} {what}")  # noqa: S311 (a seed that reproduces)


async def _played(journey: Journey, user: User) -> None:
    with contextlib.suppress(Over):
        await journey.play(user)
    await user.until_over()

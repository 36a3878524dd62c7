"""Workers as processes of their own, which tests kill, pause and stop."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from tests.world import World, until

TURNWISE = Path(sys.executable).parent / "turnwise"


class WorkerProcess:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.pid = process.pid

    async def kill(self) -> None:
        """As the kernel or a power switch would."""
        self._process.kill()
        await self._process.wait()

    async def stop(self) -> None:
        """As an orchestrator would."""
        self._process.terminate()
        await self._process.wait()

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    async def end(self) -> None:
        if self._process.returncode is None:
            self.resume()
            await self.kill()


@contextlib.asynccontextmanager
async def workers(world: World, store_url: str, **settings: str) -> AsyncIterator["Workers"]:
    crew = Workers(world, store_url, settings)
    try:
        yield crew
    finally:
        await crew.end()


class Workers:
    """Starts workers on the world's queue and database, and ends all that are left."""

    def __init__(self, world: World, store_url: str, settings: dict[str, str]) -> None:
        self._world = world
        self._processes: list[WorkerProcess] = []
        self._environment = {
            **os.environ,
            "TEMPORAL_ADDRESS": world.temporal.service_client.config.target_host,
            "TURNWISE_DATABASE_URL": store_url,
            "TURNWISE_TASK_QUEUE": world.task_queue,
            **{f"TURNWISE_{name.upper()}": value for name, value in settings.items()},
        }

    async def start(self) -> WorkerProcess:
        """Returns when the worker serves."""
        before = await self._serving()
        process = await asyncio.create_subprocess_exec(
            TURNWISE, "worker", env=self._environment, stdout=asyncio.subprocess.DEVNULL
        )
        worker = WorkerProcess(process)
        self._processes.append(worker)
        await until(self._serving, lambda serving: bool(serving - before))
        return worker

    async def _serving(self) -> set[str]:
        return await self._world.store.serving_workers(self._world.task_queue)

    async def end(self) -> None:
        for process in self._processes:
            await process.end()

"""What the suite strikes: real processes, each kept running by somebody, as in production."""

import asyncio
import contextlib
import os
import signal
import sysconfig
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Protocol

import psutil

from tests.postgres import Postgres, Shutdown

TURNWISE = Path(sysconfig.get_path("scripts")) / "turnwise"
START_AGAIN_SEC = 0.3


class Blow(StrEnum):
    KILL = "kill"
    """SIGKILL; for PostgreSQL its immediate shutdown."""
    STOP = "stop"
    """SIGTERM; for PostgreSQL its fast shutdown."""
    PAUSE = "pause"
    """SIGSTOP, and when it comes back SIGCONT."""


class Victim(Protocol):
    kind: ClassVar[str]
    blows: ClassVar[tuple[Blow, ...]]

    async def strike(self, blow: Blow) -> None: ...

    async def restore(self) -> None:
        """Brings it back. Returns when that is under way, not when it is done."""


class TurnwiseProcess:
    """`turnwise worker` or `turnwise api`. Whoever runs it starts it again when it ends by itself."""

    kind: ClassVar[str] = "process"
    blows: ClassVar[tuple[Blow, ...]] = (Blow.KILL, Blow.KILL, Blow.STOP, Blow.PAUSE)

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self._environment = environment
        self._log = log
        self._process: Process | None = None
        self._keeper: asyncio.Task[None] | None = None

    async def strike(self, blow: Blow) -> None:
        if blow is Blow.PAUSE:
            self._send(signal.SIGSTOP)
            return
        await self._dismiss()
        self._send(signal.SIGKILL if blow is Blow.KILL else signal.SIGTERM)
        if self._process is not None:
            await self._process.wait()

    async def restore(self) -> None:
        self._send(signal.SIGCONT)
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep())

    async def end(self) -> None:
        self._send(signal.SIGCONT)
        await self.strike(Blow.KILL)

    async def _keep(self) -> None:
        while True:
            with self._log.open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    TURNWISE, self.kind, env=dict(self._environment), stdin=DEVNULL, stdout=log, stderr=STDOUT
                )
            await self._process.wait()
            await asyncio.sleep(START_AGAIN_SEC)

    async def _dismiss(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._keeper
            self._keeper = None

    def _send(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(number)


class WorkerVictim(TurnwiseProcess):
    kind = "worker"


class ApiVictim(TurnwiseProcess):
    kind = "api"


class TemporalVictim:
    """The embedded server: a child of this process, which starts it again on the same files."""

    kind: ClassVar[str] = "temporal"
    blows: ClassVar[tuple[Blow, ...]] = (Blow.KILL, Blow.STOP, Blow.PAUSE)
    _signals: ClassVar[dict[Blow, signal.Signals]] = {
        Blow.KILL: signal.SIGKILL,
        Blow.STOP: signal.SIGTERM,
        Blow.PAUSE: signal.SIGSTOP,
    }

    def __init__(self, port: int) -> None:
        self._port = str(port)

    async def strike(self, blow: Blow) -> None:
        self._send(self._signals[blow])

    async def restore(self) -> None:
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                if "start-dev" in child.cmdline() and self._port in child.cmdline():
                    os.kill(child.pid, number)


class PostgresVictim:
    kind: ClassVar[str] = "database"
    blows: ClassVar[tuple[Blow, ...]] = (Blow.KILL, Blow.STOP)

    def __init__(self, postgres: Postgres) -> None:
        self._postgres = postgres

    async def strike(self, blow: Blow) -> None:
        await self._postgres.stop(Shutdown.IMMEDIATE if blow is Blow.KILL else Shutdown.FAST)

    async def restore(self) -> None:
        await self._postgres.start()

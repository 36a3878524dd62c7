"""Everything that a round of the suite needs, as real processes: Temporal, a database, the API and two workers."""

import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import httpx
from temporalio.client import Client

from tests.faults.victims import ApiVictim, PostgresVictim, TemporalVictim, TurnwiseProcess, Victim, WorkerVictim
from tests.ports import free_port
from tests.postgres import postgres
from tests.world import until
from turnwise.connection import connect_temporal
from turnwise.runtime.temporal_server import ServerOptions, embedded_temporal
from turnwise.settings import Settings

WORKERS = 2
TIMEOUT = httpx.Timeout(8.0, connect=2.0)


class DatabaseKind(StrEnum):
    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"


@dataclass(frozen=True, slots=True)
class Stage:
    http: httpx.AsyncClient
    temporal: Client
    victims: Sequence[Victim]

    def victim(self, kind: str) -> Victim:
        return next(victim for victim in self.victims if victim.kind == kind)


@contextlib.asynccontextmanager
async def staged(database: DatabaseKind, folder: Path) -> AsyncIterator[Stage]:
    options = ServerOptions(free_port(), free_port(), folder)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(embedded_temporal(options))
        others: list[Victim] = [TemporalVictim(options.port)]
        url = f"sqlite:///{folder / 'turnwise.db'}"
        if database is DatabaseKind.POSTGRESQL:
            server = stack.enter_context(postgres(folder / "pg"))
            others.append(PostgresVictim(server))
            url = server.url
        api_port = free_port()
        environment = {
            **os.environ,
            "TEMPORAL_ADDRESS": f"127.0.0.1:{options.port}",
            "TURNWISE_DATABASE_URL": url,
            "TURNWISE_DATA_DIR": str(folder),
            "TURNWISE_API_PORT": str(api_port),
            "TURNWISE_GRACE_SEC": "1",
        }
        processes: list[TurnwiseProcess] = [ApiVictim(environment, folder / "api.log")]
        processes += [WorkerVictim(environment, folder / f"worker{number}.log") for number in range(WORKERS)]
        for process in processes:
            stack.push_async_callback(process.end)
            await process.restore()
        limits = httpx.Limits(max_connections=None)
        http = await stack.enter_async_context(
            httpx.AsyncClient(base_url=f"http://127.0.0.1:{api_port}", timeout=TIMEOUT, limits=limits)
        )
        await until(lambda: _is_ready(http), bool)
        temporal = await connect_temporal(Settings(temporal_port=options.port))
        yield Stage(http, temporal, [*processes, *others])


async def _is_ready(http: httpx.AsyncClient) -> bool:
    try:
        return (await http.get("/readyz")).status_code == 200
    except httpx.TransportError:
        return False

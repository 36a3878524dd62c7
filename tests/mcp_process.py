"""MCP servers that tests start, stop and start again, and the configurations that name them."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from pydantic import JsonValue

from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.tools import NativeTools, Tools, ToolServers
from turnwise.tools.config import Config

ROOT = Path(__file__).parent.parent
STDIO: JsonObject = {
    "command": sys.executable,
    "args": ["-m", "tests.mcp_server", "stdio"],
    "env": {"PYTHONPATH": str(ROOT)},
}


def listing(said: Path, **env: JsonValue) -> JsonObject:
    """A server that says what the file says."""
    arguments: list[JsonValue] = ["-m", "tests.mcp_listing_server", str(said)]
    return {"command": sys.executable, "args": arguments, "env": {"PYTHONPATH": str(ROOT), **env}}


def config_file(folder: Path, **servers: JsonObject) -> Path:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


@contextlib.asynccontextmanager
async def tools_of(config: Config, *, timeout_sec: float = 30, start_sec: float = 30) -> AsyncIterator[Tools]:
    """Only those of the servers, which are ended afterwards."""
    tools = Tools(NativeTools(), ToolServers(config, start_sec=start_sec), timeout_sec=timeout_sec)
    try:
        yield tools
    finally:
        await tools.close()


class HttpServerProcess:
    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._port = 0
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/mcp"

    async def start(self) -> None:
        """Returns when it listens; after the first time at the same port as before."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.mcp_server",
            self._kind,
            str(self._port),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert self._process.stdout is not None
        self._port = int(await self._process.stdout.readline())

    async def kill(self) -> None:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


@contextlib.asynccontextmanager
async def http_server(kind: str = "http") -> AsyncIterator[HttpServerProcess]:
    server = HttpServerProcess(kind)
    await server.start()
    try:
        yield server
    finally:
        await server.kill()

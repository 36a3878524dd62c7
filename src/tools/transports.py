"""How a server is reached: as a process of ours, over its standard input and output, or over HTTP."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, TextIO

import httpx2
import structlog
from mcp.client import Transport
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from turnwise.tools.config import HttpServer, Server, StdioServer

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

CONNECT_SEC = 30.0
GOODBYE_SEC = 2.0
LAST_WORDS_SEC = 1.0

log = structlog.get_logger()

Redact = Callable[[str], str]


def transport(name: str, server: Server, redact: Redact, on_session_lost: Callable[[], None]) -> Transport:
    if isinstance(server, StdioServer):
        return _over_stdio(name, server, redact)
    return _over_http(server, on_session_lost)


@contextlib.asynccontextmanager
async def _over_stdio(name: str, server: StdioServer, redact: Redact) -> "AsyncIterator[TransportStreams]":
    process = StdioServerParameters(command=server.command, args=server.args, env=server.env)
    async with _logged(name, redact) as errors, stdio_client(process, errlog=errors) as streams:
        errors.close()  # the server has its own copy; the log ends when that one does
        yield streams


@contextlib.asynccontextmanager
async def _over_http(server: HttpServer, on_session_lost: Callable[[], None]) -> "AsyncIterator[TransportStreams]":
    async def look(response: httpx2.Response) -> None:
        if response.status_code == 404 and "mcp-session-id" in response.request.headers:
            on_session_lost()

    async def hurry(request: httpx2.Request) -> None:
        if request.method == "DELETE":  # the end of our session; a server that hangs must not hold up our own end
            request.extensions["timeout"] = httpx2.Timeout(GOODBYE_SEC).as_dict()

    # No limit to reading: how long an answer may take is the caller's to say.
    timeout = httpx2.Timeout(CONNECT_SEC, read=None)
    async with (
        httpx2.AsyncClient(
            headers=server.headers, timeout=timeout, event_hooks={"request": [hurry], "response": [look]}
        ) as http,
        streamable_http_client(server.url, http_client=http) as streams,
    ):
        yield streams


@contextlib.asynccontextmanager
async def _logged(name: str, redact: Redact) -> AsyncIterator[TextIO]:
    """A file whose lines appear in the log, at debug level: what a server says about itself is not for users."""
    read_end, write_end = os.pipe()
    lines = asyncio.StreamReader()
    with os.fdopen(write_end, "w") as errors:
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(read_end, "rb")
        )
        logging = asyncio.create_task(_log(name, lines, redact))
        try:
            yield errors
        finally:
            errors.close()
            await asyncio.wait({logging}, timeout=LAST_WORDS_SEC)
            logging.cancel()
            pipe.close()


async def _log(name: str, lines: asyncio.StreamReader, redact: Redact) -> None:
    while True:
        try:
            line = await lines.readline()
        except ValueError:  # a line longer than anybody would read
            continue
        if not line:
            return
        log.debug("tool_server.stderr", server=name, line=redact(line.decode(errors="replace").rstrip()))

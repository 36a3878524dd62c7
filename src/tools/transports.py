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
from turnwise.wording.texts import one_line

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

CONNECT_SEC = 30.0
GOODBYE_SEC = 2.0
LAST_WORDS_SEC = 1.0
LAST_WORDS_LENGTH = 200

log = structlog.get_logger()

Redact = Callable[[str], str]


class ErrorOutput:
    """What a server writes to its standard error. It goes to the log, at debug level: it is not for users, except for
    the last words of a server that dies."""

    def __init__(self, name: str, redact: Redact) -> None:
        self._name = name
        self._redact = redact
        self.last_words = ""

    def take(self, line: bytes) -> None:
        said = self._redact(line.decode(errors="replace").rstrip())
        log.debug("tool_server.stderr", server=self._name, line=said)
        self.last_words = one_line(said, LAST_WORDS_LENGTH) or self.last_words


def transport(server: Server, errors: ErrorOutput, on_session_lost: Callable[[], None]) -> Transport:
    if isinstance(server, StdioServer):
        return _over_stdio(server, errors)
    return _over_http(server, on_session_lost)


@contextlib.asynccontextmanager
async def _over_stdio(server: StdioServer, output: ErrorOutput) -> "AsyncIterator[TransportStreams]":
    process = StdioServerParameters(command=server.command, args=server.args, env=server.env)
    async with _read_by(output) as errors, stdio_client(process, errlog=errors) as streams:
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
async def _read_by(output: ErrorOutput) -> AsyncIterator[TextIO]:
    """A file whose lines it takes."""
    read_end, write_end = os.pipe()
    lines = asyncio.StreamReader()
    with os.fdopen(write_end, "w") as errors:
        pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(read_end, "rb")
        )
        reading = asyncio.create_task(_read(lines, output))
        try:
            yield errors
        finally:
            errors.close()
            await asyncio.wait({reading}, timeout=LAST_WORDS_SEC)
            reading.cancel()
            pipe.close()


async def _read(lines: asyncio.StreamReader, output: ErrorOutput) -> None:
    while True:
        try:
            line = await lines.readline()
        except ValueError:  # a line longer than anybody would read
            continue
        if not line:
            return
        output.take(line)

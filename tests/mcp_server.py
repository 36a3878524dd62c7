"""A real MCP server for tests, a process of its own: `python -m tests.mcp_server stdio`, or `http PORT`, or, as servers
were before the protocol knew how to do without sessions, `http-with-sessions PORT`."""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

server = MCPServer("test")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers. It does so at once."""
    return a + b


@server.tool(structured_output=False)
def shout(text: str) -> str:
    """Says it louder."""
    print(f"shouting {text}", file=sys.stderr, flush=True)  # noqa: T201
    return text.upper()


@server.tool()
def refuse(reason: str) -> str:
    """Fails, and says why."""
    raise ToolError(reason)


@server.tool()
def draw() -> Image:
    """A picture, of one byte."""
    return Image(data=b"x", format="png")


@server.tool()
def repeat(text: str, times: int) -> str:
    """A text as long as you like."""
    return text * times


@server.tool()
def reveal(variable: str) -> str:
    """Says what it should keep to itself, in its error and in its log."""
    secret = os.environ[variable]
    print(f"{variable} is {secret}", file=sys.stderr, flush=True)  # noqa: T201
    raise ToolError(f"{variable} is {secret}")


@server.tool()
def reveal_request(context: Context) -> str:
    """Says how it was asked, in its error."""
    request = context.request_context.request
    assert request is not None
    raise ToolError(f"{request.url.path} {request.url.query} {dict(request.headers)}")


@server.tool()
def note(file: str) -> int:
    """Leaves a line in a file; returns the id of the process."""
    _note(file)
    return os.getpid()


@server.tool()
def die(file: str) -> str:
    """Ends the process in the middle of the call."""
    _note(file)
    os._exit(1)


@server.tool()
def freeze(file: str) -> str:
    """Stops the process as a whole: it answers nobody any more."""
    _note(file)
    os.kill(os.getpid(), signal.SIGSTOP)
    return "thawed"


@server.tool()
async def wait(started: str, stopped: str) -> str:
    """Never returns; leaves a line when it starts and one when it was told to stop."""
    _note(started)
    try:
        await asyncio.Event().wait()
    finally:
        _note(stopped)
    return ""


def _note(file: str) -> None:
    with Path(file).open("a") as notes:
        notes.write(f"{os.getpid()}\n")


class WithSessions:
    """Knows no version of the protocol without sessions. At `/forget` it forgets those that it has, as if another
    server had taken its place: what is under way goes on, and nobody is known any more."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._known: set[bytes] = set()
        self._forgotten: set[bytes] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(scope)(scope, receive, send)

    def _answer(self, scope: Scope) -> ASGIApp:
        headers = dict(scope.get("headers", []))
        session = headers.get(b"mcp-session-id")
        if scope.get("path") == "/forget":
            self._forgotten |= self._known
            return Response(status_code=204)
        if session in self._forgotten:
            return Response(status_code=404)
        if headers.get(b"mcp-protocol-version", b"") >= b"2026":
            return Response(status_code=400)
        if session is not None:
            self._known.add(session)
        return self._app


def serve_http(port: int, *, with_sessions: bool) -> None:
    """Says that it listens in one line: its port."""
    app: ASGIApp = server.streamable_http_app()
    listener = socket.create_server(("127.0.0.1", port))
    print(listener.getsockname()[1], flush=True)  # noqa: T201
    config = uvicorn.Config(WithSessions(app) if with_sessions else app, log_config=None)
    asyncio.run(uvicorn.Server(config).serve([listener]))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["stdio"]:
            server.run()
        case ["http", port]:
            serve_http(int(port), with_sessions=False)
        case ["http-with-sessions", port]:
            serve_http(int(port), with_sessions=True)

"""One life of a connection to an MCP server.

The SDK wants a connection to be opened and closed by the same task, so each has a task of its own for that. Calls are
made from the tasks of their callers: to cancel one cancels it on the server, and touches nothing else.
"""

import asyncio

import structlog
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, CallToolResult, Implementation, Tool

from turnwise.errors import ToolServerUnavailable
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.tools.config import Config
from turnwise.tools.listening import Overheard
from turnwise.tools.outcomes import told
from turnwise.tools.transports import ErrorOutput, transport

MAX_PAGES = 100
MAX_LISTED = 1000
"""How many tools a server may have; more is a mistake, or a joke."""
SIGN_OF_LIFE_SEC = 5.0
OURSELVES = Implementation(name="turnwise", version="0")

log = structlog.get_logger()


class Connection:
    def __init__(self, name: str, config: Config, start_sec: float) -> None:
        self._name = name
        self._config = config
        self._start_sec = start_sec
        self._client: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._client.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._over = asyncio.Event()
        self._examination: asyncio.Task[None] | None = None
        self._session_lost = False
        self.life = asyncio.create_task(self._live())

    @property
    def over(self) -> bool:
        return self._over.is_set()

    async def tools(self) -> list[Tool]:
        client = await asyncio.shield(self._client)
        page = await client.list_tools()
        tools = list(page.tools)
        for _ in range(MAX_PAGES):
            if page.next_cursor is None or len(tools) > MAX_LISTED:
                break
            page = await client.list_tools(cursor=page.next_cursor)
            tools += page.tools
        if page.next_cursor is not None or len(tools) > MAX_LISTED:
            raise ToolServerUnavailable(
                f"The tool server '{self._name}' lists tools without an end: more than {MAX_LISTED}, or "
                f"on more than {MAX_PAGES} pages."
            )
        return tools

    async def call(self, tool: str, arguments: JsonObject) -> CallToolResult:
        client = await asyncio.shield(self._client)
        return await client.call_tool(tool, arguments)

    def was_refused(self, error: Exception) -> bool:
        """Whether the server does not know us any more, and so did not do what it was asked: it may be asked again.

        A call that only ended with the connection may have been carried out, and is not such a one.
        """
        return self._session_lost and isinstance(error, MCPError) and error.code != CONNECTION_CLOSED

    def examine(self) -> None:
        """After a call that timed out: the tool may be slow, or the server hangs. Then the next call gets another."""
        connected = self._client.done() and self._client.exception() is None
        if connected and not self.over and self._examination is None:
            self._examination = asyncio.create_task(self._examine(self._client.result()))

    def end(self) -> None:
        self._over.set()
        if not self._client.done():
            self._fail("it was told to stop")
            self.life.cancel()

    async def _live(self) -> None:
        deadline = asyncio.get_running_loop().call_later(self._start_sec, self._too_late)
        server = self._config.servers[self._name]
        errors = ErrorOutput(self._name, self._config.redacted)
        line = transport(server, errors, self._lose_session)
        try:
            async with Client(Overheard(line, self._over.set), client_info=OURSELVES, cache=None) as client:
                deadline.cancel()
                self._client.set_result(client)
                await self._over.wait()
        except asyncio.CancelledError:  # by ourselves: the reason is given
            pass
        except Exception as error:
            last_words = f" (its last words: {errors.last_words})" if errors.last_words else ""
            self._fail(f"{self._config.redacted(reason_of(error))}{last_words}")
        finally:
            deadline.cancel()
            self._over.set()
            if self._examination is not None:
                await self._examination

    async def _examine(self, client: Client) -> None:
        try:
            async with asyncio.timeout(SIGN_OF_LIFE_SEC):
                await client.list_tools()
        except TimeoutError:
            log.warning("tool_server.hangs", server=self._name)
            self.end()
        except Exception as error:  # an answer as well
            log.debug("tool_server.examined", server=self._name, answer=self._config.redacted(reason_of(error)))
        self._examination = None

    def _too_late(self) -> None:
        self._fail(f"it did not answer within {self._start_sec:g} s")
        self.life.cancel()

    def _fail(self, reason: str) -> None:
        if not self._client.done():
            self._client.set_exception(
                ToolServerUnavailable(f"The tool server '{self._name}' is not available: {reason}.")
            )

    def _lose_session(self) -> None:
        self._session_lost = True


def reason_of(error: BaseException) -> str:
    """Why there is no connection, or none any more; it may hold secrets."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError):
        return "it has gone before it answered" if error.code == CONNECTION_CLOSED else error.message
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return told(error)

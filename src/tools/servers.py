"""The MCP servers of this worker: one live connection each, opened when it is first needed, and again after it died."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from pydantic import JsonValue, ValidationError

from turnwise.descriptors import ToolBinding, ToolDescriptor, ToolSource
from turnwise.errors import ToolServerUnavailable, ToolUnknown, ToolUnusable, first_fault
from turnwise.fcmp.graphemes import clipped
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.tools.config import Config
from turnwise.tools.outcomes import CallFailed

if TYPE_CHECKING:
    from mcp_types import CallToolResult, Tool

    from turnwise.tools.connection import Connection

START_SEC = 30.0
KNOWN_LENGTH = 1000
SHOWN_NAME_LENGTH = 100

T = TypeVar("T")


class ToolServers:
    def __init__(self, config: Config | None = None, *, start_sec: float = START_SEC) -> None:
        self._config = config or Config()
        self._start_sec = start_sec
        self._current: dict[str, Connection] = {}
        self._living: set[Connection] = set()
        self._closed = False
        if self._config.servers:
            # The SDK takes a second and 30 MB to load: not in the middle of a turn, and not where nobody needs it.
            import turnwise.tools.connection  # noqa: F401

    async def bindings(self, server: str, name: str | None) -> list[ToolBinding]:
        """What the server offers: one tool, or all of them."""
        self._require(server)
        try:
            async with asyncio.timeout(self._start_sec):
                tools = await self._asked(server, lambda connection: connection.tools())
        except ToolServerUnavailable:
            raise
        except TimeoutError:
            waited = f"it did not answer within {self._start_sec:g} s"
            raise ToolServerUnavailable(f"The tool server '{server}' does not tell its tools: {waited}.") from None
        except Exception as error:
            # Without its cause: that would go into Temporal's history with whatever secrets it holds.
            reason = self._config.redacted(_reason(error))
            raise ToolServerUnavailable(f"The tool server '{server}' does not tell its tools: {reason}.") from None
        found = {tool.name: tool for tool in tools if name in (None, tool.name)}
        if name is not None and not found:
            known = clipped(", ".join(sorted(tool.name for tool in tools)), KNOWN_LENGTH)
            raise ToolUnknown(f"The tool server '{server}' has no tool '{name}'. It has: {known}.")
        return [_binding(server, tool) for tool in found.values()]

    async def call(self, server: str, tool: str, arguments: JsonObject, timeout_sec: float) -> JsonValue:
        """Raises CallFailed for whatever goes wrong, in words that hold no secret."""
        try:
            self._require(server)
            async with asyncio.timeout(timeout_sec) as clock:
                result = await self._asked(server, lambda connection: connection.call(tool, arguments))
        except (ToolUnknown, ToolServerUnavailable) as error:
            raise CallFailed(error.message) from None
        except Exception as error:
            if clock.expired():
                self._current[server].examine()
                raise CallFailed(f"The tool '{tool}' did not finish within {timeout_sec:g} s.") from None
            reason = self._config.redacted(_reason(error))
            raise CallFailed(f"The tool server '{server}' gave no result: {reason}.") from None
        if result.is_error:
            raise CallFailed(self._config.redacted(_text(result)) or "The tool failed without saying why.")
        return _value(result)

    async def close(self) -> None:
        self._closed = True
        for connection in self._living:
            connection.end()
        if self._living:
            await asyncio.wait([connection.life for connection in self._living])

    async def _asked(self, server: str, ask: "Callable[[Connection], Awaitable[T]]") -> T:
        connection = self._connection(server)
        try:
            return await ask(connection)
        except Exception as error:
            if not connection.was_refused(error):
                raise
        connection.end()
        return await ask(self._connection(server))

    def _connection(self, server: str) -> "Connection":
        from turnwise.tools.connection import Connection

        current = self._current.get(server)
        if current is None or current.over:
            if self._closed:
                raise ToolServerUnavailable(f"The tool server '{server}' is not available: the worker is stopping.")
            current = self._current[server] = Connection(server, self._config, self._start_sec)
            self._living.add(current)
            current.life.add_done_callback(lambda _: self._living.discard(current))
        return current

    def _require(self, server: str) -> None:
        if server not in self._config.servers:
            known = ", ".join(sorted(self._config.servers)) or "none"
            raise ToolUnknown(f"There is no tool server '{server}'. Known here: {known}.")


def _binding(server: str, tool: "Tool") -> ToolBinding:
    about = tool.description or tool.title or ""
    try:
        descriptor = ToolDescriptor.of(tool.name, about, tool.input_schema, ToolSource.MCP)
    except ValueError as error:
        fault = first_fault(error) if isinstance(error, ValidationError) else str(error)
        name = clipped(tool.name, SHOWN_NAME_LENGTH)
        raise ToolUnusable(f"The tool {name!r} of the server '{server}' cannot be used: {fault}.") from None
    return ToolBinding(descriptor=descriptor, server=server, remote_name=tool.name)


def _value(result: "CallToolResult") -> JsonValue:
    """What the server means for programs, if it says so; else a lone text as it is, and anything else as its parts."""
    if result.structured_content is not None:
        structured: JsonValue = result.structured_content
        return structured
    if len(result.content) == 1 and result.content[0].type == "text":
        return result.content[0].text
    return [part.model_dump(mode="json", by_alias=True, exclude_none=True) for part in result.content]


def _text(result: "CallToolResult") -> str:
    return "\n".join(part.text for part in result.content if part.type == "text")


def _reason(error: Exception) -> str:
    from turnwise.tools.connection import reason_of

    return reason_of(error)

"""An ear at a transport: whether anything can still come from the server."""

import contextvars
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mcp.shared.message import SessionMessage

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream, Transport, TransportStreams

    Messages = ReadStream[SessionMessage | Exception]


class Overheard(AbstractAsyncContextManager["TransportStreams"]):
    """A transport that tells of the end of what comes in."""

    def __init__(self, inner: "Transport", on_end: Callable[[], None]) -> None:
        self._inner = inner
        self._on_end = on_end

    async def __aenter__(self) -> "TransportStreams":
        messages, write = await self._inner.__aenter__()
        return _Overheard(messages, self._on_end), write

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)


class _Overheard:
    def __init__(self, inner: "Messages", on_end: Callable[[], None]) -> None:
        self._inner = inner
        self._on_end = on_end

    @property
    def last_context(self) -> contextvars.Context | None:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self._inner.receive()
        except BaseException:
            self._on_end()
            raise

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self._inner.__anext__()
        except BaseException:  # it ended, it broke, or nobody listens any more
            self._on_end()
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)

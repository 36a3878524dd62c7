"""All that happens to a conversation on a terminal, in one order: frames of its stream, lines typed, Ctrl-C."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from turnwise.cli.keyboard import Typed
from turnwise.store.watching import Frame


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Ctrl-C."""


Happening = Frame | Typed | Interrupt


class Happenings:
    def __init__(self) -> None:
        self._inbox: asyncio.Queue[Happening | None] = asyncio.Queue()
        self._pump: asyncio.Task[None] | None = None
        self._interrupted = False

    def add(self, happening: Typed | Interrupt) -> None:
        self._inbox.put_nowait(happening)

    async def next(self) -> Happening | None:
        """None when the stream has ended; raises what broke it."""
        happening = await self._inbox.get()
        if isinstance(happening, Interrupt):
            self._interrupted = False
        if happening is None and self._pump is not None:
            await self._pump
        return happening

    @contextlib.asynccontextmanager
    async def following(self, frames: AsyncIterator[Frame]) -> AsyncIterator[None]:
        self._pump = asyncio.create_task(self._pumped(frames))
        try:
            yield
        finally:
            self._pump.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._pump

    @contextlib.contextmanager
    def interrupts(self) -> Iterator[None]:
        """Ctrl-C is something that happens, and not the end of the command."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        loop.add_signal_handler(signal.SIGINT, self._interrupt, task)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    def _interrupt(self, task: "asyncio.Task[object]") -> None:
        if self._interrupted:
            task.cancel()  # the one before is not dealt with yet: something hangs
        else:
            self._interrupted = True
            self.add(Interrupt())

    async def _pumped(self, frames: AsyncIterator[Frame]) -> None:
        try:
            async for frame in frames:
                self._inbox.put_nowait(frame)
        finally:
            self._inbox.put_nowait(None)

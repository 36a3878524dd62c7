"""Finishing something although we were told to stop."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")


async def uninterrupted(work: Awaitable[T], on_cancel: Callable[[], object] = lambda: None) -> T:
    """Awaits `work` to its end; each cancellation that arrives meanwhile calls `on_cancel` instead of stopping it."""
    task = asyncio.ensure_future(work)
    while True:
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            on_cancel()

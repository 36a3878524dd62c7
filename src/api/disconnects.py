"""Requests that wait for long."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from fastapi import Request
from starlette.requests import ClientDisconnect

T = TypeVar("T")

LOOK_SEC = 2.0


async def while_connected(request: Request, work: Awaitable[T]) -> T:
    """Gives `work` up when nobody is there any more to hear of it: a run may take weeks."""
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=LOOK_SEC)
            if not task.done() and await request.is_disconnected():
                raise ClientDisconnect
        return task.result()
    finally:
        task.cancel()

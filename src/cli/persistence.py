"""What a person has typed is not lost because something is away: it is sent again, under the same id."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from rich.text import Text

from turnwise.cli.screen import Screen
from turnwise.errors import Unavailable

SEND_AGAIN_SEC = 1.0

T = TypeVar("T")


async def persistently(send: Callable[[], Awaitable[T]], screen: Screen) -> T:
    while True:
        try:
            return await send()
        except Unavailable as error:
            screen.print(Text(f"  {error.message} Sending it again …", style="warn"))
            await asyncio.sleep(SEND_AGAIN_SEC)

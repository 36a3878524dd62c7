"""Going on through outages: the stream from the last event seen, and what the person has sent under its own id."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from turnwise.adapters.tui.conversations import Conversation
from turnwise.errors import Unavailable
from turnwise.store.records import StoredEvent
from turnwise.store.watching import Frame

RETRY_SEC = 1.0

T = TypeVar("T")
Tell = Callable[[str], None]


async def through_outages(send: Callable[[], Awaitable[T]], tell: Tell) -> T:
    while True:
        try:
            return await send()
        except Unavailable as error:
            tell(error.message)
            await asyncio.sleep(RETRY_SEC)


async def followed(conversation: Conversation, tell: Tell) -> AsyncIterator[Frame]:
    """With nothing lost and nothing repeated; a snapshot comes first, and again after each outage."""
    cursor = await through_outages(conversation.beginning, tell)
    while True:
        try:
            async for frame in conversation.frames(cursor):
                if isinstance(frame, StoredEvent):
                    cursor = frame.seq
                yield frame
            return
        except Unavailable as error:
            tell(error.message)
            await asyncio.sleep(RETRY_SEC)

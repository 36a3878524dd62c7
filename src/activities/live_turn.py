"""A turn while it lives in this process.

It outlives the Temporal activity that started it: should the server lose sight of it (an outage, a missed heartbeat),
the next attempt of the activity finds it here and takes it up again.
"""

import asyncio
import time
from collections.abc import Coroutine

from turnwise.activities.writer import TurnWriter
from turnwise.cancellation import uninterrupted
from turnwise.errors import ProtocolSchemaViolation
from turnwise.fcmp.events import ErrorInfo, OutputStatus
from turnwise.fcmp.jsonvalue import json_bytes
from turnwise.store.records import Asked, Failed, Succeeded, TurnEnding, TurnResult

STOP_GRACE_SEC = 10.0
INLINE_MAX_BYTES = 16 * 1024
"""What is larger goes to the store, and its reference through Temporal's history."""


class LiveTurn:
    def __init__(self, playing: Coroutine[None, None, TurnResult], writer: TurnWriter) -> None:
        self._playing = asyncio.create_task(playing)
        self._over = asyncio.Event()
        self._playing.add_done_callback(self._came_to_an_end)
        self._writer = writer
        self._whole = asyncio.create_task(self._to_the_end())
        self._stopped_as: TurnEnding | None = None
        self.started = time.monotonic()
        self.watchers = 0

    def _came_to_an_end(self, playing: asyncio.Task[TurnResult]) -> None:
        if not playing.cancelled():
            playing.exception()  # of an engine that was left to itself, nobody else asks for it
        self._over.set()

    async def result(self) -> TurnResult:
        """Waits for the turn's end; to be canceled here does not touch the turn."""
        self.watchers += 1
        try:
            return await asyncio.shield(self._whole)
        finally:
            self.watchers -= 1

    async def stop(self, ending: TurnEnding) -> TurnResult:
        """Tells the engine to stop and waits until it has. If it came to an end by itself, that end is the truth.

        An engine that does not stop in time is left to itself: it can write nothing after its turn was closed.
        """
        self._stopped_as = ending
        self._playing.cancel()
        asyncio.get_running_loop().call_later(STOP_GRACE_SEC, self._over.set)
        return await uninterrupted(self.result())

    async def _to_the_end(self) -> TurnResult:
        await self._over.wait()
        stopped = self._stopped_as if not self._playing.done() or self._playing.cancelled() else None
        try:
            return await self._finished(TurnResult(ending=stopped) if stopped else self._playing.result())
        except ProtocolSchemaViolation as error:  # of the last words of the engine, which nobody will be able to read
            return TurnResult(ending=Failed(error=ErrorInfo(code=error.code, message=error.message)))

    async def _finished(self, result: TurnResult) -> TurnResult:
        """Writes the rest, and makes the result small enough for Temporal's history."""
        match result.ending:
            case Asked(question=question, handle=handle) as ending:
                await self._writer.finish(OutputStatus.COMPLETED)
                if len(json_bytes(handle)) > INLINE_MAX_BYTES:
                    ending = Asked(question=question, handle_ref=await self._writer.store(handle))
                return TurnResult(ending=ending, usage=result.usage)
            case Succeeded():
                message = await self._writer.finish(OutputStatus.COMPLETED)
                if message is None:
                    return result
                output = message.text if len(message.text.encode()) <= INLINE_MAX_BYTES else None
                return TurnResult(ending=Succeeded(message_id=message.message_id, output=output), usage=result.usage)
            case _:
                await self._writer.finish(OutputStatus.INTERRUPTED)
                return result

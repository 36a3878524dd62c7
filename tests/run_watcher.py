"""Follows a run frame by frame, and a whole run that is worth following."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from tests.stored_runs import CANCELED, StoredRun
from turnwise.fcmp.events import FcmpEvent
from turnwise.fcmp.ordering import violations
from turnwise.statechart import Event
from turnwise.store import Store
from turnwise.store.changes import SLOW_POLL_SEC
from turnwise.store.records import StoredEvent
from turnwise.store.watching import Delta, Frame, Idle, Snapshot, StatusChanged

PATIENCE_SEC = 30.0
"""How long a test waits for what must come."""
AT_ONCE_SEC = SLOW_POLL_SEC / 2
"""Sooner than the slow poll would have found it: somebody must have told the watcher."""


class Watcher:
    """Reads frames one by one, passing over "nothing new" and the status, which has tests of its own."""

    def __init__(self, store: Store, run: StoredRun, cursor: int = 0) -> None:
        self._frames = store.watch(run.run_id, cursor)

    async def next(self, within: float = PATIENCE_SEC) -> Frame:
        async with asyncio.timeout(within):
            while isinstance(frame := await anext(self._frames), Idle | StatusChanged):
                pass
        return frame

    async def event(self, within: float = PATIENCE_SEC) -> int:
        frame = await self.next(within)
        assert isinstance(frame, StoredEvent), frame
        return frame.seq

    async def delta(self, within: float = PATIENCE_SEC) -> Delta:
        frame = await self.next(within)
        assert isinstance(frame, Delta), frame
        return frame

    async def start(self) -> Snapshot:
        frame = await self.next()
        assert isinstance(frame, Snapshot), frame
        return frame

    async def rest(self) -> list[Frame]:
        """All that comes until the run ends."""
        frames: list[Frame] = []
        with contextlib.suppress(StopAsyncIteration):
            while True:
                frames.append(await self.next())
        return frames

    async def leave(self) -> None:
        assert hasattr(self._frames, "aclose")
        await self._frames.aclose()


@contextlib.asynccontextmanager
async def watching(store: Store, run: StoredRun, cursor: int = 0) -> AsyncIterator[Watcher]:
    watcher = Watcher(store, run, cursor)
    try:
        yield watcher
    finally:
        await watcher.leave()


def seqs(frames: list[Frame]) -> list[int]:
    return [frame.seq for frame in frames if isinstance(frame, StoredEvent)]


async def play(run: StoredRun) -> None:
    """A whole run: text, a question, a reply, more text, the end."""
    await run.open_turn()
    for text in ("Let", "Let me", "Let me ask 🎨"):
        await run.type(text, "m1")
    await run.say("Let me ask 🎨.")
    await run.ask()
    await run.answer()
    await run.open_turn()
    for text in ("It", "It is", "It is blue"):
        await run.type(text, "m2")
    await run.close(Event.RUN_CANCELED, CANCELED)


async def tells(frames: list[Frame], run: StoredRun) -> bool:
    """Whether the frames are the whole log, with deltas that build up the text of the message that follows them."""
    texts: dict[str, str] = {}
    for frame in frames:
        match frame:
            case Delta(message_id, offset, text):
                assert offset == len(texts.get(message_id, "")), "nothing is sent twice"
                texts[message_id] = texts.get(message_id, "") + text
            case StoredEvent():
                event = FcmpEvent.model_validate_json(frame.body)
                if written := texts.pop(str(event.data.get("message_id")), None):
                    assert str(event.data["text"]).startswith(written)
    assert texts == {}, "no text follows the message that it belongs to"
    log = await run.log()
    assert violations(log) == []
    return [frame for frame in frames if isinstance(frame, StoredEvent)] == await run.store.events(run.run_id)

"""Follows the status of something that is watched, change by change."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from turnwise.status import Reason, Status, StatusView
from turnwise.store.watching import Frame, SessionSnapshot, Snapshot, StatusChanged

PATIENCE_SEC = 30.0

Shown = tuple[Status, Reason]


def shown(view: StatusView) -> Shown:
    return view.status, view.reason


class StatusWatcher:
    def __init__(self, frames: AsyncIterator[Frame]) -> None:
        self._frames = frames

    async def first(self) -> StatusView:
        """What the snapshot says."""
        found = _of_snapshot(await anext(self._frames))
        assert found is not None
        return found

    async def next(self) -> StatusView:
        async with asyncio.timeout(PATIENCE_SEC):
            while not isinstance(frame := await anext(self._frames), StatusChanged):
                pass
        return frame.status

    async def until(self, status: Status) -> StatusView:
        """Which it may have when the watcher comes: then the snapshot says so, and no change follows."""
        async with asyncio.timeout(PATIENCE_SEC):
            async for frame in self._frames:
                seen = frame.status if isinstance(frame, StatusChanged) else _of_snapshot(frame)
                if seen is not None and seen.status is status:
                    return seen
        raise AssertionError(f"what was watched ended without being {status}")

    async def rest(self) -> list[StatusView]:
        """Of something that has ended, or will."""
        async with asyncio.timeout(PATIENCE_SEC):
            return [frame.status async for frame in self._frames if isinstance(frame, StatusChanged)]

    async def leave(self) -> None:
        assert hasattr(self._frames, "aclose")
        await self._frames.aclose()


def _of_snapshot(frame: Frame) -> StatusView | None:
    match frame:
        case Snapshot(run=run):
            return run.status
        case SessionSnapshot(session=session):
            return session.status
    return None


@contextlib.asynccontextmanager
async def watching_status(frames: AsyncIterator[Frame]) -> AsyncIterator[StatusWatcher]:
    watcher = StatusWatcher(frames)
    try:
        yield watcher
    finally:
        await watcher.leave()

"""This worker among the others: it shows that it lives, sees who does not, and finds out whether it starts alone."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime

import structlog

from turnwise.errors import Unavailable
from turnwise.fcmp.jsonvalue import iso
from turnwise.runs import Recovery
from turnwise.store import Store

BEAT_SEC = 0.5
SILENT_BEATS = 4
"""A worker whose beats have not grown during so many of our own is dead, or as good as dead: nobody lets it write.

Counted in beats and not in seconds: while the database is held up, nobody beats, and nobody has died of it.
"""

log = structlog.get_logger()


class Presence:
    def __init__(self, store: Store, task_queue: str, recovery: Recovery = Recovery.RECONCILE) -> None:
        self.worker_id = uuid.uuid4().hex
        self.recovery = recovery
        self.restarted_at: str | None = None
        """When this worker came up and found no other: all that was under way before was interrupted."""
        self.settled = asyncio.Event()
        """Set once it is known whether this start is a restart."""
        self._store = store
        self._task_queue = task_queue
        self._beats = 0
        self._beaten = asyncio.Condition()
        self._seen: dict[str, tuple[int, int]] = {}
        """The beats of each worker, and at which of our own beats they were seen to grow."""

    @contextlib.asynccontextmanager
    async def shown(self, on_restart: Callable[[str], Awaitable[None]]) -> AsyncIterator[None]:
        """Beats until the block ends; calls `on_restart` with the moment of it, should this start be one."""
        came_up = iso(datetime.now(UTC))
        silent = await self._store.join(self.worker_id, self._task_queue)
        beating = asyncio.create_task(self._beat())
        settling = asyncio.create_task(self._settle(came_up, silent, on_restart))
        try:
            yield
        finally:
            for task in (settling, beating):
                task.cancel()
            await asyncio.gather(settling, beating, return_exceptions=True)
            with contextlib.suppress(Unavailable):
                await self._store.leave(self.worker_id)

    def has_died(self, worker_id: str) -> bool:
        """Whether that worker was seen to fall silent, or has left, or was never seen at all."""
        seen = self._seen.get(worker_id)
        return seen is None or self._beats - seen[1] >= SILENT_BEATS

    async def _settle(
        self, came_up: str, silent: Mapping[str, int], on_restart: Callable[[str], Awaitable[None]]
    ) -> None:
        if silent:
            # Killed workers leave their last beat behind; only time tells them from living ones.
            async with self._beaten:
                await self._beaten.wait_for(lambda: self._beats > SILENT_BEATS)
        if await self._serve(silent):
            self.restarted_at = came_up  # since then it has taken messages: what they changed was not interrupted
            log.warning("worker.restarted", task_queue=self._task_queue, recovery=self.recovery.value)
        self.settled.set()
        if self.restarted_at is not None:
            await on_restart(self.restarted_at)

    async def _serve(self, silent: Mapping[str, int]) -> bool:
        """Until the database has an answer: no turn begins before."""
        while True:
            try:
                return await self._store.serve(self.worker_id, self._task_queue, silent)
            except Exception as error:
                log.warning("worker.not_settled", reason=str(error))
                await asyncio.sleep(BEAT_SEC)

    async def _beat(self) -> None:
        while True:
            try:
                alive = await self._store.beat(self.worker_id, self._task_queue)
            except Exception as error:  # whatever it is, to fall silent would be worse
                log.warning("worker.beat_missed", reason=str(error))
            else:
                async with self._beaten:
                    self._observe(alive)
                    self._beaten.notify_all()
            await asyncio.sleep(BEAT_SEC)

    def _observe(self, alive: Mapping[str, int]) -> None:
        self._beats += 1
        self._seen = {
            worker: self._seen[worker] if self._seen.get(worker, (None,))[0] == beats else (beats, self._beats)
            for worker, beats in alive.items()
        }

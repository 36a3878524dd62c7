"""The clock of the statuses: what time alone changes. Any process may keep it, any number at once.

A run that is due is looked at anew under its lock: of several clocks one changes it, the others find it changed.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import structlog
from sqlalchemy import Connection, select

from turnwise.errors import Unavailable
from turnwise.fcmp.jsonvalue import iso
from turnwise.store.changes import RECONNECT_SEC
from turnwise.store.locked_run import LockedRun
from turnwise.store.tables import runs
from turnwise.store.topics import run_topic
from turnwise.store.transactions import Transactions

LONGEST_SLEEP_SEC = 0.25
"""So late at most is noticed what has become due sooner than all that was known."""
BATCH = 100

_SOONEST = (
    select(runs.c.run_id, runs.c.status_due_at)
    .where(runs.c.status_due_at.is_not(None))
    .order_by(runs.c.status_due_at)
    .limit(BATCH)
)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Look:
    due: list[str]
    """Runs whose status may have changed by now."""
    sleep_sec: float


@contextlib.asynccontextmanager
async def ticking(transactions: Transactions) -> AsyncIterator[None]:
    clock = asyncio.create_task(_keep(transactions))
    try:
        yield
    finally:
        clock.cancel()
        await asyncio.gather(clock, return_exceptions=True)


async def _keep(transactions: Transactions) -> None:
    while True:
        try:
            look = await transactions.read(_look)
            for run_id in look.due:
                await transactions.change(run_topic(run_id), partial(_pass_time, run_id))
            await asyncio.sleep(look.sleep_sec)
        except Unavailable as error:
            log.warning("status.clock_delayed", reason=error.message)
            await asyncio.sleep(RECONNECT_SEC)


def _pass_time(run_id: str, connection: Connection) -> None:
    LockedRun.load(connection, run_id).pass_time()


def _look(connection: Connection) -> Look:
    now = datetime.now(UTC)
    rows = connection.execute(_SOONEST).all()
    due = [row.run_id for row in rows if row.status_due_at <= iso(now)]
    if len(due) == BATCH:
        return Look(due, 0)
    if len(due) == len(rows):
        return Look(due, LONGEST_SLEEP_SEC)
    ahead = datetime.fromisoformat(rows[len(due)].status_due_at) - now
    return Look(due, min(ahead.total_seconds(), LONGEST_SLEEP_SEC))

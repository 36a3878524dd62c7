"""Following a run: replay from a cursor, then live, with nothing lost and nothing repeated."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from turnwise.errors import CursorInvalid, Unavailable
from turnwise.statechart import TERMINAL
from turnwise.store import queries
from turnwise.store.changes import RECONNECT_SEC, Changes
from turnwise.store.database import Database
from turnwise.store.records import Glance, LiveMessage, RunView, StoredEvent

BATCH = 500


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where the run stands at the moment of connecting. Events after `cursor` follow."""

    run: RunView
    cursor: int
    message: LiveMessage | None


@dataclass(frozen=True, slots=True)
class Delta:
    """More text of the message being written; `offset` counts Unicode code points."""

    message_id: str
    offset: int
    text: str


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing new for a while; the run lives."""


Frame = Snapshot | StoredEvent | Delta | Idle


async def watch(database: Database, changes: Changes, run_id: str, cursor: int) -> AsyncIterator[Frame]:
    """Ends after the last event of a run that has ended, and when the process is about to stop."""
    with changes.subscribe(run_id) as subscription:
        run, look = await database.read(
            lambda c: (queries.get_run(c, run_id), queries.glance(c, run_id, cursor, BATCH))
        )
        if not 0 <= cursor <= run.last_seq:
            raise CursorInvalid(f"The cursor must lie between 0 and {run.last_seq}.", last_seq=run.last_seq)
        yield Snapshot(run, cursor, look.live)
        sent = look.live
        while True:
            for event in look.events:
                yield event
                cursor = event.seq
            if cursor < look.last_seq:
                look = await _look_again(database, run_id, cursor)
                continue
            if look.state in TERMINAL:
                return
            delta = _delta(sent, look.live)
            if delta is not None:
                sent = look.live
                yield delta
            elif not look.events:
                yield Idle()
            if subscription.ended:
                return
            look = _pushed(await subscription.wait(), look, cursor) or await _look_again(database, run_id, cursor)


def _pushed(news: list[Glance], before: Glance, cursor: int) -> Glance | None:
    """The news of this process as one look, without asking the database; None when they do not join up."""
    state, events, live = before.state, list[StoredEvent](), before.live
    for each in news:
        if each.last_seq < cursor:
            continue  # a look at the database has overtaken it
        following = [event for event in each.events if event.seq > cursor]
        if each.last_seq != cursor + len(following):
            return None
        if following and live is not before.live:
            return None  # more text, and then an event that may be the end of just this text
        state, cursor, live = each.state, each.last_seq, each.live or live
        events += following
    return Glance(state, cursor, events, live) if news else None


async def _look_again(database: Database, run_id: str, cursor: int) -> Glance:
    """A watcher outlives its database being away for a while."""
    while True:
        try:
            return await database.read(lambda connection: queries.glance(connection, run_id, cursor, BATCH))
        except Unavailable:
            await asyncio.sleep(RECONNECT_SEC)


def _delta(sent: LiveMessage | None, live: LiveMessage | None) -> Delta | None:
    if live is None:
        return None
    offset = len(sent.text) if sent is not None and sent.message_id == live.message_id else 0
    return Delta(live.message_id, offset, live.text[offset:]) if len(live.text) > offset else None

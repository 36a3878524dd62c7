"""Following a run or a session: replay from a cursor, then live, with nothing lost and nothing repeated."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from turnwise.errors import CursorInvalid, Unavailable
from turnwise.sessions import PendingItem, SessionView
from turnwise.status import StatusView
from turnwise.store import queries, session_queries, sessions
from turnwise.store.changes import RECONNECT_SEC, Changes
from turnwise.store.looks import Looks
from turnwise.store.records import Glance, LiveMessage, RunView, StoredEvent
from turnwise.store.topics import Topic, run_topic, session_topic

BATCH = 500


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Where the run stands at the moment of connecting. Events after `cursor` follow."""

    run: RunView
    cursor: int
    message: LiveMessage | None


@dataclass(frozen=True, slots=True)
class SessionSnapshot:
    """Where a session stands at the moment of connecting."""

    session: SessionView
    run: RunView | None
    """The prompt being executed."""
    queue: list[PendingItem]
    """The prompts that wait."""
    cursor: int
    message: LiveMessage | None


@dataclass(frozen=True, slots=True)
class QueueChanged:
    """The prompts that wait in a session now."""

    items: list[PendingItem]


@dataclass(frozen=True, slots=True)
class Delta:
    """More text of the message being written; `offset` counts Unicode code points."""

    message_id: str
    offset: int
    text: str
    run_id: str | None = None
    """In a session: whose message it is."""


@dataclass(frozen=True, slots=True)
class StatusChanged:
    """What people are to be shown from now on."""

    status: StatusView


@dataclass(frozen=True, slots=True)
class Idle:
    """That is all for now."""


Frame = Snapshot | SessionSnapshot | StoredEvent | Delta | QueueChanged | StatusChanged | Idle

Look = Callable[[Connection, str, int, int], Glance]


@dataclass(frozen=True, slots=True)
class Watched:
    """What is watched, and how to look at it from a cursor."""

    topic: Topic
    open: Callable[[Connection, str, int, Glance], Snapshot | SessionSnapshot]
    look: Look


def watched_run(run_id: str) -> Watched:
    return Watched(run_topic(run_id), _run_snapshot, queries.glance)


def watched_session(session_id: str) -> Watched:
    return Watched(session_topic(session_id), _session_snapshot, session_queries.glance)


async def watch(looks: Looks, changes: Changes, watched: Watched, cursor: int) -> AsyncIterator[Frame]:
    """Ends after the last event of what has ended, and when the process is about to stop."""

    def first_look(connection: Connection) -> tuple[Snapshot | SessionSnapshot, Glance]:
        look = watched.look(connection, watched.topic.id, cursor, BATCH)
        if not 0 <= cursor <= look.last_seq:
            raise CursorInvalid(f"The cursor must lie between 0 and {look.last_seq}.", last_seq=look.last_seq)
        return watched.open(connection, watched.topic.id, cursor, look), look

    with changes.subscribe(watched.topic) as subscription:
        snapshot, look = await looks.database.read(first_look)
        yield snapshot
        sent, queue, status = look.live, look.queue, look.status
        following = deque[Glance]()
        while True:
            for event in look.events:
                yield event
                cursor = event.seq
            if look.queue is not None and look.queue != queue:
                queue = look.queue
                yield QueueChanged(queue)
            if cursor < look.last_seq:
                look = await _look_again(looks, watched, cursor)
                following.clear()
                continue
            delta = None if look.over else _delta(sent, look.live)
            if delta is not None:
                sent = look.live
                yield delta
            changed = _status_change(status, look.status)
            if changed is not None:
                status = look.status
                yield changed
            if look.over:
                return
            while not following:
                if subscription.ended:
                    return
                yield Idle()
                news = _joined(await subscription.wait(), look, cursor)
                following.extend([await _look_again(looks, watched, cursor)] if news is None else news)
            look = following.popleft()


def _run_snapshot(connection: Connection, run_id: str, cursor: int, look: Glance) -> Snapshot:
    return Snapshot(queries.get_run(connection, run_id), cursor, look.live)


def _session_snapshot(connection: Connection, session_id: str, cursor: int, look: Glance) -> SessionSnapshot:
    session = sessions.get_session(connection, session_id)
    run = queries.get_run(connection, session.active_run_id) if session.active_run_id else None
    return SessionSnapshot(session, run, look.queue or [], cursor, look.live)


def _joined(news: list[Glance], before: Glance, cursor: int) -> list[Glance] | None:
    """The news of this process as looks of our own, without asking the database; None when it must be asked."""
    if not news:
        return None
    looks: list[Glance] = []
    for each in news:
        if each.version <= before.version:
            continue  # a look at the database has overtaken it
        events = [event for event in each.events if event.seq > cursor]
        if each.last_seq != cursor + len(events):
            return None
        look = replace(each, events=events, live=each.live or before.live, status=each.status or before.status)
        if looks and not events and not looks[-1].events and _status_change(before.status, look.status) is None:
            looks.pop()  # only more of the same text
        looks.append(look)
        before, cursor = look, each.last_seq
    return looks


async def _look_again(looks: Looks, watched: Watched, cursor: int) -> Glance:
    """A watcher outlives its database being away for a while."""
    while True:
        try:
            return await looks.look(
                watched.topic, cursor, lambda connection: watched.look(connection, watched.topic.id, cursor, BATCH)
            )
        except Unavailable:
            await asyncio.sleep(RECONNECT_SEC)


def _status_change(sent: StatusView | None, status: StatusView | None) -> StatusChanged | None:
    if status is None or (sent is not None and not status.differs(sent)):
        return None
    return StatusChanged(status)


def _delta(sent: LiveMessage | None, live: LiveMessage | None) -> Delta | None:
    if live is None:
        return None
    same = sent is not None and (sent.run_id, sent.message_id) == (live.run_id, live.message_id)
    offset = len(sent.text) if sent is not None and same else 0
    return Delta(live.message_id, offset, live.text[offset:], live.run_id) if len(live.text) > offset else None

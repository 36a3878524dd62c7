"""Reading a session: its stream, its transcript, and what people ask of both."""

from sqlalchemy import Connection, bindparam, select

from turnwise.errors import PromptCanceled, SessionNotFound
from turnwise.fcmp.events import EventType, FcmpEvent
from turnwise.sessions import (
    EventSource,
    ForkableMessage,
    IndexedEntry,
    PendingBreakdown,
    PendingItem,
    PromptResult,
    Role,
    SessionStats,
    TranscriptEvent,
    TranscriptEventType,
    events_of,
)
from turnwise.statechart import State
from turnwise.store import queries, session_items, sessions, transcripts
from turnwise.store.queries import live_message, read_events
from turnwise.store.records import Glance, StoredEvent
from turnwise.store.statuses import STATUS, session_status_of
from turnwise.store.tables import events, live_messages, runs, session_events
from turnwise.store.tables import sessions as table

ANSWER_BATCH = 10

_GLANCE = (
    select(table, *STATUS, live_messages.c.message_id, live_messages.c.text_json)
    .outerjoin(live_messages, live_messages.c.run_id == table.c.active_run_id)
    .outerjoin(runs, runs.c.run_id == table.c.newest_run_id)
    .where(table.c.session_id == bindparam("session"))
)
_EVENTS = (
    select(session_events.c.session_seq, events.c.body)
    .join(events, (events.c.run_id == session_events.c.run_id) & (events.c.seq == session_events.c.seq))
    .where(session_events.c.session_id == bindparam("session"), session_events.c.session_seq > bindparam("after"))
    .order_by(session_events.c.session_seq)
    .limit(bindparam("limit"))
)


def glance(connection: Connection, session_id: str, after: int, limit: int) -> Glance:
    row = connection.execute(_GLANCE, {"session": session_id}).mappings().one_or_none()
    if row is None:
        raise SessionNotFound(f"There is no session '{session_id}'.")
    return Glance(
        over=row["closed_at"] is not None,
        last_seq=row["last_seq"],
        events=read_stream(connection, session_id, after, limit) if row["last_seq"] > after else [],
        live=live_message(row["message_id"], row["text_json"], row["active_run_id"]),
        status=session_status_of(row),
        version=row["version"],
        queue=session_items.queue(connection, session_id),
    )


def read_stream(connection: Connection, session_id: str, after: int, limit: int) -> list[StoredEvent]:
    rows = connection.execute(_EVENTS, {"session": session_id, "after": after, "limit": limit})
    return [StoredEvent(seq=row.session_seq, body=row.body) for row in rows]


def transcript(connection: Connection, session_id: str, first: int, limit: int) -> list[IndexedEntry]:
    return transcripts.read_entries(connection, sessions.load_row(connection, session_id), first, limit)


def forkable(connection: Connection, session_id: str) -> list[ForkableMessage]:
    return transcripts.forkable_messages(connection, sessions.load_row(connection, session_id))


def transcript_events(connection: Connection, session_id: str, first: int, limit: int) -> list[TranscriptEvent]:
    """Those of the entries, and after the last of them the message that is being written."""
    found = [event for entry in transcript(connection, session_id, first, limit) for event in events_of(entry)]
    look = glance(connection, session_id, 0, 0)
    total = sessions.load_row(connection, session_id)["entry_count"]
    if look.live is not None and first + limit >= total:
        data = {"role": Role.ASSISTANT.value, "text": look.live.text, "status": "writing", "run_id": look.live.run_id}
        writing = TranscriptEvent(
            type=TranscriptEventType.MESSAGE, source=EventSource.SESSION, entry_index=None, data=data
        )
        found.append(writing)
    return found


def stats(connection: Connection, session_id: str) -> SessionStats:
    row = sessions.load_row(connection, session_id)
    queued: PendingBreakdown = session_items.breakdown(connection, session_id)
    return SessionStats(
        **sessions.counts(connection, session_id).model_dump(),
        total_entries=row["entry_count"],
        pending_messages=queued.prompt_follow_up + queued.steer + queued.follow_up,
        pending_breakdown=queued,
        last_updated_at=row["last_updated_at"],
    )


def pending(connection: Connection, session_id: str, length: int, *, include_resolved: bool) -> list[PendingItem]:
    sessions.load_row(connection, session_id)
    return session_items.pending(connection, session_id, length, include_resolved=include_resolved)


def prompt_result(connection: Connection, session_id: str, prompt_id: str) -> PromptResult | None:
    """None while the prompt has not ended; raises PromptCanceled when it was removed from the queue."""
    item = session_items.load(connection, session_id, prompt_id)
    if item is None:
        raise PromptCanceled("The prompt was removed from the queue before it started.")
    if item.state is None:
        return None
    text = _answer(connection, item.run_id) if item.state is State.SUCCEEDED else None
    run_id = item.run_id if item.started else None
    return PromptResult(prompt_id=prompt_id, run_id=run_id, state=item.state, text=text, error=item.error)


def _answer(connection: Connection, run_id: str) -> str | None:
    """The text of the message that the run was completed with, read from the log's end."""
    last = queries.get_run(connection, run_id).last_seq
    wanted: object = None
    for after in range(last - ANSWER_BATCH, -ANSWER_BATCH, -ANSWER_BATCH):
        for stored in reversed(read_events(connection, run_id, max(after, 0), ANSWER_BATCH, after + ANSWER_BATCH)):
            event = FcmpEvent.model_validate_json(stored.body)
            if event.type is EventType.COMPLETED:
                wanted = event.data["message_id"]
                if wanted is None:
                    return None
            elif event.type is EventType.MESSAGE_FINAL and event.data["message_id"] == wanted:
                return str(event.data["text"])
    return None

"""A session from inside one of its runs: one order of events over all runs, and the transcript that grows with them."""

from datetime import datetime
from typing import Self

import orjson
from sqlalchemy import Connection, RowMapping, bindparam, insert, select, update

from turnwise.fcmp.events import (
    AutoDecided,
    ConversationStarted,
    EventData,
    MessageFinal,
    ReplyAccepted,
    ToolCall,
    ToolResult,
)
from turnwise.fcmp.jsonvalue import iso
from turnwise.fcmp.questions import OpenQuestion
from turnwise.sessions import Entry, MessageEntry, Role, ToolCallEntry, ToolOutputEntry
from turnwise.status import StatusView
from turnwise.store.records import Glance, LiveMessage, StoredEvent
from turnwise.store.tables import session_events, sessions
from turnwise.store.topics import leave_news, session_topic
from turnwise.store.transcripts import Branch

_LOAD = select(sessions).where(sessions.c.session_id == bindparam("session")).with_for_update()
_ADD_EVENTS = insert(session_events)
_SAVE = (
    update(sessions)
    .where(sessions.c.session_id == bindparam("session"))
    .values(
        last_seq=bindparam("seq"),
        version=sessions.c.version + 1,
        entry_count=bindparam("entries"),
        counts=bindparam("new_counts"),
        last_updated_at=bindparam("at"),
    )
)
_TOUCH = (
    update(sessions)
    .where(sessions.c.session_id == bindparam("session"), sessions.c.closed_at.is_(None))
    .values(version=sessions.c.version + 1)
    .returning(sessions.c.last_seq, sessions.c.version)
)


class Conversation:
    """Holds the lock of the session's row, after that of its run's: what makes `session_seq` contiguous."""

    def __init__(self, connection: Connection, row: RowMapping, run_id: str, now: datetime) -> None:
        self._connection = connection
        self._session_id: str = row["session_id"]
        self._over = row["closed_at"] is not None
        self._run_id = run_id
        self._now = iso(now)
        self._version: int = row["version"] + 1
        self._before: int = row["last_seq"]
        self._seq: int = self._before
        self._branch = Branch.of(row)

    @classmethod
    def load(cls, connection: Connection, session_id: str, run_id: str, now: datetime) -> Self | None:
        row = connection.execute(_LOAD, {"session": session_id}).mappings().one_or_none()
        return cls(connection, row, run_id, now) if row is not None else None

    def next_seq(self) -> int:
        self._seq += 1
        return self._seq

    def hear(self, data: EventData) -> None:
        """What was said becomes an entry of the transcript."""
        entry = _entry(data)
        if entry is not None:
            entry.run_id, entry.ts = self._run_id, self._now
            self._branch.add(entry, is_prompt=isinstance(data, ConversationStarted))

    def save(self, published: list[StoredEvent], status: StatusView) -> None:
        events = [
            StoredEvent(seq, event.body)
            for seq, event in zip(range(self._before + 1, self._seq + 1), published, strict=True)
        ]
        if events:
            rows = [
                {"session_id": self._session_id, "session_seq": event.seq, "run_id": self._run_id, "seq": of_run.seq}
                for event, of_run in zip(events, published, strict=True)
            ]
            self._connection.execute(_ADD_EVENTS, rows)
        self._branch.save(self._connection)
        self._connection.execute(
            _SAVE,
            {
                "session": self._session_id,
                "seq": self._seq,
                "entries": self._branch.length,
                "new_counts": self._branch.counts.model_dump_json(),
                "at": self._now,
            },
        )
        self._leave_news(events, status)

    def show(self, status: StatusView) -> None:
        """Nothing was said; the status of the run alone has changed."""
        self._connection.execute(_TOUCH, {"session": self._session_id})
        self._leave_news([], status)

    def _leave_news(self, events: list[StoredEvent], status: StatusView) -> None:
        """A closed session is closed, whatever its run does."""
        shown = None if self._over else status
        glance = Glance(self._over, self._seq, events, None, shown, self._version)
        leave_news(self._connection, session_topic(self._session_id), glance)


def touch_session(connection: Connection, session_id: str, message: LiveMessage, status: StatusView) -> None:
    """More text of the message being written."""
    row = connection.execute(_TOUCH, {"session": session_id}).one_or_none()
    if row is not None:
        glance = Glance(False, row.last_seq, [], message, status, row.version)
        leave_news(connection, session_topic(session_id), glance)


def _entry(data: EventData) -> Entry | None:
    match data:
        case ConversationStarted(prompt=prompt):
            return MessageEntry(role=Role.USER, text=prompt)
        case MessageFinal(text=text, status=status):
            return MessageEntry(role=Role.ASSISTANT, text=text, status=status.value)
        case OpenQuestion(prompt=prompt, interaction_id=interaction_id):
            return MessageEntry(role=Role.ASSISTANT, text=prompt, interaction_id=interaction_id)
        case ReplyAccepted(response=response, interaction_id=interaction_id):
            return MessageEntry(role=Role.USER, text=_text(response), interaction_id=interaction_id)
        case AutoDecided(response=response, interaction_id=interaction_id):
            decided = f" It was decided: {_text(response)}" if response is not None else " Decide by yourself."
            text = f"Nobody replied before the deadline.{decided}"
            return MessageEntry(role=Role.SYSTEM, text=text, interaction_id=interaction_id)
        case ToolCall(call_id=call_id, name=name, arguments=arguments):
            return ToolCallEntry(call_id=call_id, name=name, arguments=arguments)
        case ToolResult(call_id=call_id, name=name, status=tool_status, result=result):
            return ToolOutputEntry(call_id=call_id, name=name, status=tool_status, result=result)
    return None


def _text(response: object) -> str:
    return response if isinstance(response, str) else orjson.dumps(response).decode()

"""Reading: runs as people look at them, and slices of the log."""

from collections.abc import Mapping, Sequence

import orjson
from pydantic import BaseModel
from sqlalchemy import Connection, RowMapping, Select, bindparam, func, select, tuple_

from turnwise.errors import RunNotFound
from turnwise.fcmp.events import ErrorInfo, Mode
from turnwise.fcmp.questions import OpenQuestion
from turnwise.statechart import TERMINAL, State
from turnwise.store.pages import decode_cursor, encode_cursor
from turnwise.store.records import AuditRecord, Glance, LiveMessage, RunPage, RunView, StoredEvent
from turnwise.store.statuses import STATUS, status_of
from turnwise.store.tables import audit, events, interactions, live_messages, runs, sessions
from turnwise.store.topics import Subject, Topic

PREVIEW_LENGTH = 200

_GLANCE = (
    select(
        runs.c.state,
        runs.c.last_seq,
        runs.c.version,
        runs.c.run_id,
        runs.c.session_id,
        *STATUS,
        live_messages.c.message_id,
        live_messages.c.text_json,
    )
    .outerjoin(live_messages, live_messages.c.run_id == runs.c.run_id)
    .where(runs.c.run_id == bindparam("run"))
)
_EVENTS = (
    select(events.c.seq, events.c.body)
    .where(events.c.run_id == bindparam("run"), events.c.seq > bindparam("after"), events.c.seq <= bindparam("to"))
    .order_by(events.c.seq)
    .limit(bindparam("limit"))
)
_END_OF_LOG = 2**31 - 1


class _ShownInput(BaseModel):
    """What people are shown of an input; the engine's options, which may be large, are skipped unread."""

    prompt: str
    mode: Mode
    interactive_require_user_reply: bool
    session_timeout_sec: float
    max_attempts: int | None


def _views() -> Select[tuple[object, ...]]:
    pending = (interactions.c.run_id == runs.c.run_id) & (
        interactions.c.interaction_id == runs.c.pending_interaction_id
    )
    return select(runs, interactions.c.question.label("pending_question")).outerjoin(interactions, pending)


_RUN = _views().where(runs.c.run_id == bindparam("run"))


def get_run(connection: Connection, run_id: str) -> RunView:
    row = connection.execute(_RUN, {"run": run_id}).mappings().one_or_none()
    if row is None:
        raise RunNotFound(f"There is no run '{run_id}'.")
    return _view(row)


def list_runs(connection: Connection, state: State | None, limit: int, cursor: str | None) -> RunPage:
    """Newest first; the cursor names the last run of the page before."""
    query = _views().order_by(runs.c.created_at.desc(), runs.c.run_id.desc()).limit(limit + 1)
    if state is not None:
        query = query.where(runs.c.state == state.value)
    if cursor is not None:
        query = query.where(tuple_(runs.c.created_at, runs.c.run_id) < tuple_(*decode_cursor(cursor)))
    rows = connection.execute(query).mappings().all()
    page = [_view(row) for row in rows[:limit]]
    more = len(rows) > limit
    return RunPage(runs=page, next_cursor=encode_cursor(page[-1].created_at, page[-1].run_id) if more else None)


def count_runs(connection: Connection) -> Mapping[State, int]:
    rows = connection.execute(select(runs.c.state, func.count().label("number")).group_by(runs.c.state))
    return {State(row.state): row.number for row in rows}


def read_events(
    connection: Connection, run_id: str, after: int, limit: int, to: int | None = None
) -> list[StoredEvent]:
    to = _END_OF_LOG if to is None else to
    rows = connection.execute(_EVENTS, {"run": run_id, "after": after, "to": to, "limit": limit})
    return [StoredEvent(seq=row.seq, body=row.body) for row in rows]


def read_audit(connection: Connection, run_id: str, after: int, limit: int) -> list[AuditRecord]:
    get_run(connection, run_id)
    query = select(audit).where(audit.c.run_id == run_id, audit.c.seq > after).order_by(audit.c.seq).limit(limit)
    return [AuditRecord(**{**row, "data": orjson.loads(row["data"])}) for row in connection.execute(query).mappings()]


def read_versions(connection: Connection, topics: Sequence[Topic]) -> Mapping[Topic, int]:
    found: dict[Topic, int] = {}
    for subject, key, version in (
        (Subject.RUN, runs.c.run_id, runs.c.version),
        (Subject.SESSION, sessions.c.session_id, sessions.c.version),
    ):
        ids = [topic.id for topic in topics if topic.subject is subject]
        rows = connection.execute(select(key, version).where(key.in_(ids))) if ids else ()
        found |= {Topic(subject, row[0]): row[1] for row in rows}
    return found


def glance(connection: Connection, run_id: str, after: int, limit: int) -> Glance:
    row = connection.execute(_GLANCE, {"run": run_id}).mappings().one_or_none()
    if row is None:
        raise RunNotFound(f"There is no run '{run_id}'.")
    return Glance(
        over=State(row["state"]) in TERMINAL,
        last_seq=row["last_seq"],
        events=read_events(connection, run_id, after, limit) if row["last_seq"] > after else [],
        live=live_message(row["message_id"], row["text_json"]),
        status=status_of(row),
        version=row["version"],
    )


def live_message(message_id: str | None, text_json: str | None, run_id: str | None = None) -> LiveMessage | None:
    if message_id is None or text_json is None:
        return None
    return LiveMessage(message_id=message_id, text=orjson.loads(text_json), run_id=run_id)


def _view(row: RowMapping) -> RunView:
    shown = _ShownInput.model_validate_json(row["input"])
    error = ErrorInfo(code=row["error_code"], message=row["error_message"]) if row["error_code"] else None
    question = row["pending_question"]
    return RunView(
        run_id=row["run_id"],
        session_id=row["session_id"],
        engine=row["engine"],
        mode=shown.mode,
        interactive_require_user_reply=shown.interactive_require_user_reply,
        session_timeout_sec=shown.session_timeout_sec,
        max_attempts=shown.max_attempts,
        accepted_ttl_sec=row["accepted_ttl_sec"],
        stall_after_sec=row["stall_after_sec"],
        prompt_preview=shown.prompt[:PREVIEW_LENGTH],
        state=row["state"],
        status=status_of(row),
        attempt=row["attempt"],
        pending=OpenQuestion.model_validate_json(question) if question else None,
        error=error,
        recovery_state=row["recovery_state"],
        recovered_at=row["recovered_at"],
        recovery_reason=row["recovery_reason"],
        auto_decision_count=row["auto_decision_count"],
        last_seq=row["last_seq"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        ended_at=row["ended_at"],
    )

"""Reading: runs as people look at them, and slices of the log."""

import base64
import binascii
from collections.abc import Mapping, Sequence

import orjson
from sqlalchemy import Connection, RowMapping, Select, bindparam, select, tuple_

from turnwise.errors import CursorInvalid, RunNotFound
from turnwise.fcmp.events import ErrorInfo
from turnwise.fcmp.questions import OpenQuestion
from turnwise.runs import RunInput
from turnwise.statechart import State
from turnwise.store.records import AuditRecord, Glance, LiveMessage, RunPage, RunView, StoredEvent
from turnwise.store.tables import audit, events, interactions, live_messages, runs

PREVIEW_LENGTH = 200

_GLANCE = (
    select(runs.c.state, runs.c.last_seq, live_messages.c.message_id, live_messages.c.text_json)
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
        query = query.where(tuple_(runs.c.created_at, runs.c.run_id) < tuple_(*_decode(cursor)))
    rows = connection.execute(query).mappings().all()
    page = [_view(row) for row in rows[:limit]]
    more = len(rows) > limit
    return RunPage(runs=page, next_cursor=_encode(page[-1].created_at, page[-1].run_id) if more else None)


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


def read_versions(connection: Connection, run_ids: Sequence[str]) -> Mapping[str, int]:
    rows = connection.execute(select(runs.c.run_id, runs.c.version).where(runs.c.run_id.in_(run_ids)))
    return {row.run_id: row.version for row in rows}


def glance(connection: Connection, run_id: str, after: int, limit: int) -> Glance:
    row = connection.execute(_GLANCE, {"run": run_id}).one_or_none()
    if row is None:
        raise RunNotFound(f"There is no run '{run_id}'.")
    new = read_events(connection, run_id, after, limit) if row.last_seq > after else []
    return Glance(State(row.state), row.last_seq, new, _live(row.message_id, row.text_json))


def _live(message_id: str | None, text_json: str | None) -> LiveMessage | None:
    if message_id is None or text_json is None:
        return None
    return LiveMessage(message_id=message_id, text=orjson.loads(text_json))


def _view(row: RowMapping) -> RunView:
    run_input = RunInput.model_validate_json(row["input"])
    error = ErrorInfo(code=row["error_code"], message=row["error_message"]) if row["error_code"] else None
    question = row["pending_question"]
    return RunView(
        run_id=row["run_id"],
        session_id=row["session_id"],
        engine=row["engine"],
        mode=run_input.mode,
        interactive_require_user_reply=run_input.interactive_require_user_reply,
        session_timeout_sec=run_input.session_timeout_sec,
        max_attempts=run_input.max_attempts,
        prompt_preview=run_input.prompt[:PREVIEW_LENGTH],
        state=row["state"],
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


def _encode(created_at: str, run_id: str) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([created_at, run_id])).decode()


def _decode(cursor: str) -> tuple[str, str]:
    try:
        created_at, run_id = orjson.loads(base64.urlsafe_b64decode(cursor.encode()))
    except (binascii.Error, UnicodeError, ValueError, TypeError) as error:
        raise CursorInvalid("This is not a cursor that a list of runs has given.") from error
    if not (isinstance(created_at, str) and isinstance(run_id, str)) or "\0" in created_at + run_id:
        raise CursorInvalid("This is not a cursor that a list of runs has given.")
    return created_at, run_id

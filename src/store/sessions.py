"""Sessions: how they enter the store, what people see of them, and how they end."""

import uuid
from datetime import UTC, datetime

import orjson
from pydantic import BaseModel
from sqlalchemy import Connection, RowMapping, bindparam, func, select, tuple_, update

from turnwise.errors import IdempotencyKeyReused, SessionClosed, SessionIdTaken, SessionNotFound
from turnwise.fcmp.graphemes import preview
from turnwise.fcmp.jsonvalue import iso
from turnwise.runs import RunSettings
from turnwise.sessions import (
    PREVIEW_LENGTH,
    Counts,
    Entry,
    ItemStatus,
    MessageEntry,
    Origin,
    Role,
    SessionContent,
    SessionInput,
    SessionPage,
    SessionState,
    SessionView,
    parse_entry,
)
from turnwise.statechart import State
from turnwise.store import session_items, transcripts
from turnwise.store.blobs import load_blob
from turnwise.store.pages import decode_cursor, encode_cursor
from turnwise.store.session_tools import copy_tools
from turnwise.store.statuses import STATUS, session_status_of
from turnwise.store.tables import entries, runs, sessions
from turnwise.store.tables import session_items as items
from turnwise.store.topics import leave_news, session_topic
from turnwise.store.transcripts import Branch
from turnwise.store.upserts import InsertMissing

_ROW = select(sessions).where(sessions.c.session_id == bindparam("session"))
_LOCKED = _ROW.with_for_update()
_ADD = InsertMissing(sessions)
_QUEUED = (
    select(func.count())
    .select_from(items)
    .where(items.c.session_id == sessions.c.session_id, items.c.status == ItemStatus.QUEUED.value)
    .scalar_subquery()
    .label("queued")
)
_ACTIVATE = (
    update(sessions)
    .where(sessions.c.session_id == bindparam("session"))
    .values(active_run_id=bindparam("run"), newest_run_id=bindparam("run"))
)
_FIRST_PROMPT = (
    select(entries.c.body)
    .where(entries.c.branch == sessions.c.branch, entries.c.is_prompt.is_(True))
    .order_by(entries.c.entry_index)
    .limit(1)
    .scalar_subquery()
    .label("first_prompt")
)
_VIEWS = select(sessions, *STATUS, runs.c.state.label("run_state"), _QUEUED, _FIRST_PROMPT).outerjoin(
    runs, runs.c.run_id == sessions.c.newest_run_id
)
_VIEW = _VIEWS.where(sessions.c.session_id == bindparam("session"))


class SessionRegistration(BaseModel):
    session_id: str
    execution_id: str
    """The first Temporal execution of the session: the same through continue-as-new, another when the id is reused."""
    input: SessionInput
    request_digest: str | None = None
    task_queue: str | None = None


def create(connection: Connection, new: SessionRegistration) -> None:
    """Repeating it changes nothing."""
    settings = new.input
    if settings.content_ref is not None:
        content = SessionContent.model_validate_json(load_blob(connection, settings.content_ref))
        settings = settings.model_copy(update={"engine_options": content.engine_options})
    origin = settings.origin
    segments = origin.lineage if origin else []
    row = {
        "session_id": new.session_id,
        "execution_id": new.execution_id,
        "task_queue": new.task_queue,
        "defaults": RunSettings(**settings.model_dump(include=set(RunSettings.model_fields))).model_dump_json(),
        "request_digest": new.request_digest,
        "parent_session_id": origin.session_id if origin else None,
        "lineage": orjson.dumps([segment.model_dump() for segment in segments]).decode(),
        "branch": uuid.uuid4().hex,
        "entry_count": segments[-1].length if segments else 0,
        "counts": transcripts.counts_at_end(connection, segments).model_dump_json(),
        "last_seq": 0,
        "version": 0,
        "created_at": iso(datetime.now(UTC)),
    }
    if not _ADD(connection, row):
        known = load_row(connection, new.session_id)
        if known["execution_id"] != new.execution_id:
            raise SessionIdTaken(f"'{new.session_id}' is the id of an earlier session.")
    elif origin is not None:
        copy_tools(connection, origin.session_id, new.session_id)


def load_row(connection: Connection, session_id: str) -> RowMapping:
    return _found(connection.execute(_ROW, {"session": session_id}).mappings().one_or_none(), session_id)


def session_settings(connection: Connection, session_id: str) -> RunSettings:
    return RunSettings.model_validate_json(load_row(connection, session_id)["defaults"])


def lock_open(connection: Connection, session_id: str) -> RowMapping:
    """The session's row, held until the transaction ends; refuses a session that is closed."""
    row = lock(connection, session_id)
    if row["closed_at"] is not None:
        raise SessionClosed("The session is closed.")
    return row


def known_request(connection: Connection, session_id: str, digest: str) -> bool:
    """Whether an Idempotency-Key's session exists; refuses a key that was first used for something else."""
    row = connection.execute(_ROW, {"session": session_id}).mappings().one_or_none()
    if row is None:
        return False
    if row["request_digest"] not in (None, digest):
        raise IdempotencyKeyReused("This Idempotency-Key was used before, for a different request.")
    return True


def get_session(connection: Connection, session_id: str) -> SessionView:
    return _view(_found(connection.execute(_VIEW, {"session": session_id}).mappings().one_or_none(), session_id))


def list_sessions(connection: Connection, limit: int, cursor: str | None) -> SessionPage:
    """Newest first; the cursor names the last session of the page before."""
    query = _VIEWS.order_by(sessions.c.created_at.desc(), sessions.c.session_id.desc()).limit(limit + 1)
    if cursor is not None:
        query = query.where(tuple_(sessions.c.created_at, sessions.c.session_id) < tuple_(*decode_cursor(cursor)))
    page = [_view(row) for row in connection.execute(query).mappings()]
    more = len(page) > limit
    page = page[:limit]
    return SessionPage(
        sessions=page, next_cursor=encode_cursor(page[-1].created_at, page[-1].session_id) if more else None
    )


def counts(connection: Connection, session_id: str) -> Counts:
    return Counts.model_validate_json(load_row(connection, session_id)["counts"])


def origin_of_fork(connection: Connection, session_id: str, at: int | None) -> Origin:
    row = load_row(connection, session_id)
    return Origin(session_id=session_id, lineage=transcripts.forked_lineage(connection, row, at))


def replace_transcript(connection: Connection, session_id: str, entries: list[Entry]) -> None:
    """On a branch of its own: what forks share with the session stays as it was."""
    lock_open(connection, session_id)
    branch = Branch(uuid.uuid4().hex, 0, Counts())
    for entry in entries:
        asked_by_user = isinstance(entry, MessageEntry) and entry.role is Role.USER and entry.interaction_id is None
        branch.add(entry, is_prompt=asked_by_user)
    branch.save(connection)
    change(
        connection,
        session_id,
        lineage="[]",
        branch=branch.name,
        entry_count=branch.length,
        counts=branch.counts.model_dump_json(),
        last_updated_at=iso(datetime.now(UTC)),
    )


def begin_prompt(connection: Connection, session_id: str, prompt_id: str, run_id: str) -> None:
    """The prompt's run exists now."""
    session_items.begin(connection, session_id, prompt_id)
    connection.execute(_ACTIVATE, {"session": session_id, "run": run_id})
    leave_news(connection, session_topic(session_id), None)  # the queue is shorter


def release(connection: Connection, session_id: str, prompt_ids: list[str]) -> None:
    """These prompts have ended; the session works on none of them any more. The next one may have begun already."""
    active = lock(connection, session_id)["active_run_id"]
    ended = {item.run_id for each in prompt_ids if (item := session_items.load(connection, session_id, each))}
    change(connection, session_id, active_run_id=None if active in ended else active)


def change(connection: Connection, session_id: str, **columns: object) -> None:
    """Whoever watches the session looks at it anew."""
    connection.execute(
        update(sessions).where(sessions.c.session_id == session_id).values(version=sessions.c.version + 1, **columns)
    )
    leave_news(connection, session_topic(session_id), None)


def lock(connection: Connection, session_id: str) -> RowMapping:
    """The session's row, held until the transaction ends."""
    return _found(connection.execute(_LOCKED, {"session": session_id}).mappings().one_or_none(), session_id)


def _found(row: RowMapping | None, session_id: str) -> RowMapping:
    if row is None:
        raise SessionNotFound(f"There is no session '{session_id}'.")
    return row


def _view(row: RowMapping) -> SessionView:
    settings = RunSettings.model_validate_json(row["defaults"])
    return SessionView(
        session_id=row["session_id"],
        state=SessionState.CLOSED if row["closed_at"] else SessionState.OPEN,
        status=session_status_of(row),
        engine=settings.engine,
        mode=settings.mode,
        interactive_require_user_reply=settings.interactive_require_user_reply,
        session_timeout_sec=settings.session_timeout_sec,
        max_attempts=settings.max_attempts,
        accepted_ttl_sec=settings.accepted_ttl_sec,
        stall_after_sec=settings.stall_after_sec,
        parent_session_id=row["parent_session_id"],
        prompt_preview=_preview(row["first_prompt"]),
        active_run_id=row["active_run_id"],
        run_state=State(row["run_state"]) if row["active_run_id"] else None,
        total_entries=row["entry_count"],
        pending_messages=row["queued"],
        last_seq=row["last_seq"],
        created_at=row["created_at"],
        last_updated_at=row["last_updated_at"],
        closed_at=row["closed_at"],
    )


def _preview(prompt: str | None) -> str:
    entry = parse_entry(prompt) if prompt is not None else None
    return preview(entry.text, PREVIEW_LENGTH) if isinstance(entry, MessageEntry) else ""

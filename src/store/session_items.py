"""The prompts of a session: queued, executed, remembered for a while."""

import orjson
from pydantic import BaseModel
from sqlalchemy import Connection, RowMapping, bindparam, delete, func, select, update

from turnwise.fcmp.events import ErrorInfo
from turnwise.fcmp.graphemes import MAX_CODE_POINTS, preview
from turnwise.fcmp.jsonvalue import json_text
from turnwise.runs import RunContent, RunInput
from turnwise.sessions import (
    HISTORY_LENGTH,
    MAX_PREVIEW_LENGTH,
    PREVIEW_LENGTH,
    QUEUED_SOURCES,
    ItemEnd,
    ItemSource,
    ItemStatus,
    PendingBreakdown,
    PendingItem,
    StoredItem,
)
from turnwise.statechart import State
from turnwise.store.blobs import load_blob
from turnwise.store.tables import runs, session_items
from turnwise.store.upserts import InsertMissing

_KEPT_TEXT = MAX_PREVIEW_LENGTH * MAX_CODE_POINTS

_c = session_items.c
_OF_SESSION = _c.session_id == bindparam("session")
_ONE = _OF_SESSION & (_c.prompt_id == bindparam("prompt"))
_ADD = InsertMissing(session_items)
_LAST_POSITION = select(func.coalesce(func.max(_c.position), 0)).where(_OF_SESSION)
_LAST_END = select(func.coalesce(func.max(_c.ended), 0)).where(_OF_SESSION)
_LOAD = select(session_items).where(_ONE)
_BEGIN = update(session_items).where(_ONE).values(status=ItemStatus.ACTIVE.value, started=True)
_END = (
    update(session_items)
    .where(_ONE, _c.ended.is_(None))
    .values(
        status=bindparam("end"),
        state=bindparam("run_state"),
        error_code=bindparam("code"),
        error_message=bindparam("message"),
        ended=bindparam("number"),
    )
)
_QUEUED = select(session_items).where(_OF_SESSION, _c.status == ItemStatus.QUEUED.value).order_by(_c.position)
_WAS_QUEUED = _c.source.in_([source.value for source in QUEUED_SOURCES])
_HISTORY = (
    select(session_items).where(_OF_SESSION, _c.ended.is_not(None), _c.shown, _WAS_QUEUED).order_by(_c.ended.desc())
).limit(HISTORY_LENGTH)
_UNENDED = select(_c.prompt_id).where(_OF_SESSION, _c.ended.is_(None)).order_by(_c.position)
_ANNOUNCED = (
    select(runs.c.run_id)
    .join(session_items, _c.run_id == runs.c.run_id)
    .where(_ONE, runs.c.execution_id.is_(None), runs.c.ended_at.is_(None))
)
_BREAKDOWN = (
    select(_c.source, func.count().label("number"))
    .where(_OF_SESSION, _c.status == ItemStatus.QUEUED.value)
    .group_by(_c.source)
)
_REMOVE = delete(session_items).where(_ONE, _c.status == ItemStatus.QUEUED.value)
_FORGET = update(session_items).where(_OF_SESSION, _c.ended.is_not(None)).values(shown=False)
_TRIM = delete(session_items).where(_OF_SESSION, _c.ended <= bindparam("until"))
REMEMBERED = 1000
"""Prompts that ended, shown or not: whoever waits for one of them must still find it."""


class NewItem(BaseModel):
    session_id: str
    prompt_id: str
    source: ItemSource
    text: str
    content_ref: str | None
    """Where the whole text is stored when it is long."""
    run_id: str
    task_queue: str
    starts: RunInput | None
    """The run that it starts at once; None when it waits in the queue."""


def add(connection: Connection, item: NewItem) -> StoredItem:
    """Repeating it changes nothing. Returns what is stored under the prompt's id."""
    position: int = connection.execute(_LAST_POSITION, {"session": item.session_id}).scalar_one()
    text = item.text
    if item.content_ref is not None:
        text = RunContent.model_validate_json(load_blob(connection, item.content_ref)).prompt
    _ADD(
        connection,
        {
            "session_id": item.session_id,
            "prompt_id": item.prompt_id,
            "position": position + 1,
            "source": item.source.value,
            "status": (ItemStatus.ACTIVE if item.starts else ItemStatus.QUEUED).value,
            "text_json": json_text(text[:_KEPT_TEXT]),
            "shown": True,
            "started": False,
            "run_id": item.run_id,
        },
    )
    stored = load(connection, item.session_id, item.prompt_id)
    assert stored is not None
    return stored


def load(connection: Connection, session_id: str, prompt_id: str) -> StoredItem | None:
    row = connection.execute(_LOAD, {"session": session_id, "prompt": prompt_id}).mappings().one_or_none()
    if row is None:
        return None
    return StoredItem(
        prompt_id=prompt_id,
        source=row["source"],
        status=row["status"],
        run_id=row["run_id"],
        started=row["started"],
        state=row["state"],
        error=_error(row),
    )


def begin(connection: Connection, session_id: str, prompt_id: str) -> None:
    connection.execute(_BEGIN, {"session": session_id, "prompt": prompt_id})


def end(connection: Connection, session_id: str, ends: list[ItemEnd]) -> None:
    """In the order given. An item that has ended, or was removed, stays so."""
    number: int = connection.execute(_LAST_END, {"session": session_id}).scalar_one()
    for each in ends:
        number += 1
        status = ItemStatus.RESOLVED if each.state is State.SUCCEEDED else ItemStatus.FAILED
        connection.execute(
            _END,
            {
                "session": session_id,
                "prompt": each.prompt_id,
                "end": status.value,
                "run_state": each.state.value,
                "code": each.error.code if each.error else None,
                "message": each.error.message if each.error else None,
                "number": number,
            },
        )
    connection.execute(_TRIM, {"session": session_id, "until": number - REMEMBERED})


def unended(connection: Connection, session_id: str) -> list[str]:
    """The prompts that nobody has ended yet."""
    return list(connection.execute(_UNENDED, {"session": session_id}).scalars())


def announced_run(connection: Connection, session_id: str, prompt_id: str) -> str | None:
    """The prompt's run, if it is in the store and has no execution yet."""
    run_id: str | None = connection.execute(_ANNOUNCED, {"session": session_id, "prompt": prompt_id}).scalar()
    return run_id


def queue(connection: Connection, session_id: str) -> list[PendingItem]:
    return pending(connection, session_id, PREVIEW_LENGTH, include_resolved=False)


def pending(connection: Connection, session_id: str, length: int, *, include_resolved: bool) -> list[PendingItem]:
    """What left the queue first, oldest first, then what is in it."""
    history = connection.execute(_HISTORY, {"session": session_id}).mappings().all() if include_resolved else []
    queued = connection.execute(_QUEUED, {"session": session_id}).mappings().all()
    return [_pending(row, length) for row in [*reversed(history), *queued]]


def breakdown(connection: Connection, session_id: str) -> PendingBreakdown:
    rows = connection.execute(_BREAKDOWN, {"session": session_id})
    return PendingBreakdown(**{row.source: row.number for row in rows})


def remove(connection: Connection, session_id: str, prompt_ids: list[str]) -> int:
    """Out of the queue; how many there were."""
    return sum(connection.execute(_REMOVE, {"session": session_id, "prompt": each}).rowcount for each in prompt_ids)


def forget_history(connection: Connection, session_id: str) -> int:
    """How many items that people could see are forgotten."""
    seen = len(connection.execute(_HISTORY, {"session": session_id}).all())
    connection.execute(_FORGET, {"session": session_id})
    return seen


def _pending(row: RowMapping, length: int) -> PendingItem:
    return PendingItem(
        prompt_id=row["prompt_id"],
        source=row["source"],
        text_preview=preview(orjson.loads(row["text_json"]), length),
        status=row["status"],
        run_id=row["run_id"] if row["started"] else None,
        error=_error(row),
    )


def _error(row: RowMapping) -> ErrorInfo | None:
    return ErrorInfo(code=row["error_code"], message=row["error_message"]) if row["error_code"] else None

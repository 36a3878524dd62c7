"""A run as Server-Sent Events: `snapshot`, then `chat_event`, `delta`, `status` and `heartbeat` frames."""

import time
from collections.abc import AsyncIterator

from fastapi.responses import StreamingResponse
from pydantic import JsonValue

from turnwise.fcmp.jsonvalue import JsonObject, json_text
from turnwise.sessions import PendingItem
from turnwise.store.records import StoredEvent
from turnwise.store.watching import Delta, Frame, Idle, QueueChanged, SessionSnapshot, Snapshot, StatusChanged

HEARTBEAT_SEC = 10.0
MAX_UNSENT_BYTES = 64 * 1024
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


async def stream(frames: AsyncIterator[Frame]) -> StreamingResponse:
    """Takes the first frame before answering: an unknown run or a bad cursor is an error, not a broken stream."""
    first = await anext(frames)
    return StreamingResponse(_encoded(first, frames), media_type="text/event-stream", headers=HEADERS)


async def _encoded(first: Frame, frames: AsyncIterator[Frame]) -> AsyncIterator[bytes]:
    """What comes at once goes out at once: with hundreds of watchers, a write costs more than what is written."""
    yield _frame(first)
    sent_at = time.monotonic()
    ready = bytearray()
    async for frame in frames:
        if not isinstance(frame, Idle):
            ready += _frame(frame)
            if len(ready) < MAX_UNSENT_BYTES:
                continue
        elif not ready:
            if time.monotonic() - sent_at < HEARTBEAT_SEC:
                continue
            ready += _frame(frame)
        yield bytes(ready)
        ready.clear()
        sent_at = time.monotonic()
    if ready:
        yield bytes(ready)


def _frame(frame: Frame) -> bytes:
    match frame:
        case StoredEvent(seq=seq, body=body):
            return f"id: {seq}\nevent: chat_event\ndata: {body}\n\n".encode()
        case Snapshot():
            return _named("snapshot", _snapshot(frame))
        case SessionSnapshot():
            return _named("snapshot", _session_snapshot(frame))
        case Delta(message_id, offset, text, run_id):
            of_run: JsonObject = {"run_id": run_id} if run_id is not None else {}
            return _named("delta", {"message_id": message_id, "offset": offset, "text": text, **of_run})
        case StatusChanged(status):
            return _named("status", status.model_dump(mode="json"))
        case QueueChanged(items):
            return _named("queue", {"items": _queue(items)})
        case Idle():
            return _named("heartbeat", {"ts": int(time.time() * 1000)})


def _named(event: str, data: JsonObject) -> bytes:
    return f"event: {event}\ndata: {json_text(data)}\n\n".encode()


def _snapshot(snapshot: Snapshot) -> JsonObject:
    run = snapshot.run
    return {
        "run_id": run.run_id,
        "state": run.state.value,
        "status": run.status.model_dump(mode="json"),
        "attempt": run.attempt,
        "cursor": snapshot.cursor,
        "last_seq": run.last_seq,
        "pending": run.pending.model_dump(mode="json") if run.pending else None,
        "message": snapshot.message.model_dump(exclude_none=True) if snapshot.message else None,
    }


def _queue(items: list[PendingItem]) -> list[JsonValue]:
    return [item.model_dump(mode="json") for item in items]


def _session_snapshot(snapshot: SessionSnapshot) -> JsonObject:
    session, run = snapshot.session, snapshot.run
    return {
        "session_id": session.session_id,
        "state": session.state.value,
        "status": session.status.model_dump(mode="json"),
        "active_run_id": session.active_run_id,
        "run_state": run.state.value if run else None,
        "cursor": snapshot.cursor,
        "last_seq": session.last_seq,
        "total_entries": session.total_entries,
        "queue": _queue(snapshot.queue),
        "pending": run.pending.model_dump(mode="json") if run and run.pending else None,
        "message": snapshot.message.model_dump(exclude_none=True) if snapshot.message else None,
    }

"""A run as Server-Sent Events: `snapshot`, then `chat_event`, `delta` and `heartbeat` frames."""

import time
from collections.abc import AsyncIterator

from fastapi.responses import StreamingResponse

from turnwise.fcmp.jsonvalue import JsonObject, json_text
from turnwise.store.records import StoredEvent
from turnwise.store.watching import Delta, Frame, Idle, Snapshot

HEARTBEAT_SEC = 10.0
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


async def stream(frames: AsyncIterator[Frame]) -> StreamingResponse:
    """Takes the first frame before answering: an unknown run or a bad cursor is an error, not a broken stream."""
    first = await anext(frames)
    return StreamingResponse(_encoded(first, frames), media_type="text/event-stream", headers=HEADERS)


async def _encoded(first: Frame, frames: AsyncIterator[Frame]) -> AsyncIterator[bytes]:
    yield _frame(first)
    sent_at = time.monotonic()
    async for frame in frames:
        if isinstance(frame, Idle) and time.monotonic() - sent_at < HEARTBEAT_SEC:
            continue
        yield _frame(frame)
        sent_at = time.monotonic()


def _frame(frame: Frame) -> bytes:
    match frame:
        case StoredEvent(seq=seq, body=body):
            return f"id: {seq}\nevent: chat_event\ndata: {body}\n\n".encode()
        case Snapshot():
            return _named("snapshot", _snapshot(frame))
        case Delta(message_id, offset, text):
            return _named("delta", {"message_id": message_id, "offset": offset, "text": text})
        case Idle():
            return _named("heartbeat", {"ts": int(time.time() * 1000)})


def _named(event: str, data: JsonObject) -> bytes:
    return f"event: {event}\ndata: {json_text(data)}\n\n".encode()


def _snapshot(snapshot: Snapshot) -> JsonObject:
    run = snapshot.run
    return {
        "run_id": run.run_id,
        "state": run.state.value,
        "attempt": run.attempt,
        "cursor": snapshot.cursor,
        "last_seq": run.last_seq,
        "pending": run.pending.model_dump(mode="json") if run.pending else None,
        "message": snapshot.message.model_dump() if snapshot.message else None,
    }

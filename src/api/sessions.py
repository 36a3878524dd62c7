"""`/v1/sessions`: create, prompt, queue, fork, resume, watch, close."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from turnwise.api.dependencies import MAX_SEQ, IdempotencyKey, LastEventId, OneSession, Seq, With, resumed_at
from turnwise.api.disconnects import while_connected
from turnwise.api.problems import responses
from turnwise.api.services import Services
from turnwise.api.session_models import (
    ForkableMessages,
    ForkRequest,
    MessageRequest,
    Pending,
    PromptBody,
    ResumeRequest,
    SessionDetail,
    SessionList,
    Transcript,
    TranscriptEvents,
)
from turnwise.api.sse import stream
from turnwise.client import AgentSession
from turnwise.sessions import (
    MAX_PREVIEW_LENGTH,
    PREVIEW_LENGTH,
    Cleared,
    PromptReceipt,
    PromptResult,
    SessionRequest,
    SessionStats,
)
from turnwise.status import StatusView

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])

FirstEntry = Annotated[int, Query(ge=0, le=MAX_SEQ, description="The index of the first entry wanted.")]
Limit = Annotated[int, Query(ge=1, le=1000)]


@router.post("", status_code=201, responses=responses(400, 413, 422, 503))
async def create_session(
    request: SessionRequest, with_: With, response: Response, idempotency_key: IdempotencyKey = None
) -> SessionDetail:
    session = await with_.turnwise.create_session_with(request, idempotency_key=idempotency_key)
    return await _created(session, with_, response)


@router.get("", responses=responses(422, 503))
async def list_sessions(
    with_: With,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=4000)] = None,
) -> SessionList:
    """Newest first."""
    page = await with_.turnwise.sessions(limit, cursor)
    found = [SessionDetail.of(each, with_.ui_url(each.session_id)) for each in page.sessions]
    return SessionList(sessions=found, next_cursor=page.next_cursor)


@router.get("/{session_id}", responses=responses(404, 422, 503))
async def get_session(session: OneSession, with_: With) -> SessionDetail:
    return await _detail(session, with_)


@router.get("/{session_id}/status", responses=responses(404, 422, 503))
async def session_status(session: OneSession) -> StatusView:
    """What people are to be shown: of the newest prompt that was started, or that the session is closed."""
    return await session.status()


@router.post(
    "/{session_id}/prompt",
    status_code=202,
    responses={
        200: {"model": PromptResult, "description": "With `wait`: the prompt's own run has ended."},
        **responses(400, 404, 409, 413, 422, 503),
    },
)
async def prompt(
    session: OneSession, body: PromptBody, request: Request, response: Response
) -> PromptReceipt | PromptResult:
    """Executes a prompt. Without `wait` it is answered as soon as the prompt is durably accepted."""
    receipt = await session.submit(
        body.text,
        streaming_behavior=body.streaming_behavior,
        engine_options=body.engine_options,
        prompt_id=body.prompt_id,
    )
    if not body.wait:
        return receipt
    response.status_code = 200
    return await while_connected(request, session.result(receipt.prompt_id))


@router.post("/{session_id}/steer", status_code=202, responses=responses(400, 404, 409, 413, 422, 503))
async def steer(session: OneSession, body: MessageRequest) -> PromptReceipt:
    """Queues a prompt, or executes it at once if the session is idle."""
    return await session.steer(body.text, prompt_id=body.prompt_id)


@router.post("/{session_id}/follow-up", status_code=202, responses=responses(400, 404, 409, 413, 422, 503))
async def follow_up(session: OneSession, body: MessageRequest) -> PromptReceipt:
    """Like `steer`, under another name in the queue."""
    return await session.follow_up(body.text, prompt_id=body.prompt_id)


@router.post("/{session_id}/cancel", status_code=202, responses=responses(404, 409, 422, 503))
async def cancel_prompt(session: OneSession, with_: With) -> SessionDetail:
    """Asks the active prompt to stop, if there is one; what is queued behind it fails."""
    await session.cancel_active_prompt()
    return await _detail(session, with_)


@router.post("/{session_id}/fork", status_code=201, responses=responses(400, 404, 413, 422, 503))
async def fork(session: OneSession, body: ForkRequest, with_: With, response: Response) -> SessionDetail:
    """A new session that begins with what was said in this one."""
    return await _created(await session.fork(body.from_user_entry_index), with_, response)


@router.post("/{session_id}/resume", responses=responses(400, 404, 409, 413, 422, 503))
async def resume(session: OneSession, body: ResumeRequest, with_: With) -> SessionDetail:
    """Takes this transcript instead of the session's own."""
    await session.resume(body.entries)
    return await _detail(session, with_)


@router.post("/{session_id}/close", responses=responses(404, 409, 422, 503))
async def close(session: OneSession, with_: With) -> SessionDetail:
    """Cancels what is under way; the session is `closed` once that has really stopped."""
    view = await session.close()
    return SessionDetail.of(view, with_.ui_url(session.id))


@router.get("/{session_id}/transcript", responses=responses(404, 422, 503))
async def read_transcript(session: OneSession, from_entry: FirstEntry = 0, limit: Limit = 1000) -> Transcript:
    entries = [entry.wire() for entry in await session.transcript(from_entry, limit)]
    return Transcript(session_id=session.id, total_entries=(await session.view()).total_entries, entries=entries)


@router.get("/{session_id}/forkable-messages", responses=responses(404, 422, 503))
async def forkable_messages(session: OneSession) -> ForkableMessages:
    """The user's prompts, at each of which the session can be forked."""
    return ForkableMessages(messages=await session.forkable_user_messages())


@router.get("/{session_id}/pending", responses=responses(404, 422, 503))
async def pending(
    session: OneSession,
    max_length: Annotated[int, Query(ge=1, le=MAX_PREVIEW_LENGTH)] = PREVIEW_LENGTH,
    include_resolved: bool = False,
) -> Pending:
    """The queue in its order; before it, if asked for, what has left it lately."""
    return Pending(items=await session.pending_messages(max_length, include_resolved=include_resolved))


@router.delete("/{session_id}/pending/history", responses=responses(404, 422, 503))
async def clear_history(session: OneSession) -> Cleared:
    """Forgets what has left the queue; the queue itself stays."""
    return await session.clear_pending_history()


@router.delete("/{session_id}/pending", responses=responses(404, 409, 422, 503))
async def clear_pending(session: OneSession, cancel_active_prompt: bool = False) -> Cleared:
    """Empties the queue, and forgets what has left it."""
    return await session.clear_pending_state(cancel_active_prompt=cancel_active_prompt)


@router.get("/{session_id}/events", responses=responses(404, 422, 503))
async def read_events(session: OneSession, from_entry: FirstEntry = 0, limit: Limit = 1000) -> TranscriptEvents:
    """The transcript as structured events."""
    return TranscriptEvents(session_id=session.id, events=await session.events(from_entry, limit))


@router.get("/{session_id}/stats", responses=responses(404, 422, 503))
async def stats(session: OneSession) -> SessionStats:
    return await session.stats()


@router.get(
    "/{session_id}/stream",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}, **responses(404, 422, 503)},
)
async def watch_session(session: OneSession, cursor: Seq = 0, last_event_id: LastEventId = None) -> StreamingResponse:
    """Server-Sent Events over the whole conversation: one cursor across its runs, until the session is closed."""
    return await stream(session.frames(resumed_at(cursor, last_event_id)))


async def _created(session: AgentSession, with_: Services, response: Response) -> SessionDetail:
    response.headers["Location"] = f"/v1/sessions/{session.id}"
    return await _detail(session, with_)


async def _detail(session: AgentSession, with_: Services) -> SessionDetail:
    return SessionDetail.of(await session.view(), with_.ui_url(session.id))

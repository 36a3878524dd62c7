"""`/v1/runs`: start, look, watch, reply, cancel."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from turnwise.api.dependencies import MAX_SEQ, IdempotencyKey, LastEventId, OneRun, Seq, With, resumed_at
from turnwise.api.models import (
    AuditTrail,
    EventHistory,
    PendingInteraction,
    ReplyRequest,
    RunDetail,
    RunList,
)
from turnwise.api.problems import responses
from turnwise.api.services import Services
from turnwise.api.sse import stream
from turnwise.client import Run
from turnwise.errors import CursorInvalid
from turnwise.runs import RunInput, RunRequest
from turnwise.statechart import State
from turnwise.status import StatusView
from turnwise.workflows.replies import Receipt

router = APIRouter(prefix="/v1/runs", tags=["runs"])


@router.post("", status_code=201, responses=responses(400, 413, 422, 503))
async def start_run(
    request: RunRequest,
    with_: With,
    response: Response,
    idempotency_key: IdempotencyKey = None,
) -> RunDetail:
    run_input = RunInput(**request.model_dump())
    run = await with_.turnwise.start_input(run_input, idempotency_key=idempotency_key)
    response.headers["Location"] = f"/v1/runs/{run.id}"
    return await _detail(run, with_)


@router.get("", responses=responses(422, 503))
async def list_runs(
    with_: With,
    state: State | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(max_length=4000)] = None,
) -> RunList:
    """Newest first."""
    page = await with_.turnwise.runs(state, limit, cursor)
    return RunList(
        runs=[RunDetail.of(run, with_.ui_url(run.run_id)) for run in page.runs], next_cursor=page.next_cursor
    )


@router.get("/{run_id}", responses=responses(404, 422, 503))
async def get_run(run: OneRun, with_: With) -> RunDetail:
    return await _detail(run, with_)


@router.get("/{run_id}/status", responses=responses(404, 422, 503))
async def run_status(run: OneRun) -> StatusView:
    """What people are to be shown: derived from facts, the same for everyone."""
    return await run.status()


@router.get(
    "/{run_id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}, **responses(404, 422, 503)},
)
async def watch_run(
    run: OneRun,
    cursor: Seq = 0,
    last_event_id: LastEventId = None,
) -> StreamingResponse:
    """Server-Sent Events: a `snapshot`, then every event after the cursor, until the run ends."""
    return await stream(run.frames(resumed_at(cursor, last_event_id)))


@router.get("/{run_id}/events/history", responses=responses(404, 422, 503))
async def read_history(
    run: OneRun,
    from_seq: Annotated[int, Query(ge=1, le=MAX_SEQ)] = 1,
    to_seq: Annotated[int | None, Query(ge=1, le=MAX_SEQ)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
) -> EventHistory:
    if to_seq is not None and to_seq < from_seq:
        raise CursorInvalid("to_seq must not be smaller than from_seq.")
    events = await run.history(from_seq - 1, to_seq, limit)
    return EventHistory(run_id=run.id, last_seq=(await run.view()).last_seq, events=events)


@router.get("/{run_id}/audit", responses=responses(404, 422, 503))
async def read_audit(
    run: OneRun,
    from_seq: Annotated[int, Query(ge=1, le=MAX_SEQ)] = 1,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
) -> AuditTrail:
    """What happened inside the turns (`rasp/1.0`); watchers never get this."""
    return AuditTrail(run_id=run.id, records=await run.audit(from_seq - 1, limit))


@router.get("/{run_id}/interaction", responses=responses(404, 422, 503))
async def get_interaction(run: OneRun) -> PendingInteraction:
    view = await run.view()
    return PendingInteraction(run_id=run.id, state=view.state, pending=view.pending)


@router.post("/{run_id}/interaction/reply", responses=responses(400, 404, 409, 413, 422, 503))
async def reply(run: OneRun, request: ReplyRequest) -> Receipt:
    return await run.reply(request.interaction_id, request.response, reply_id=request.reply_id)


@router.post("/{run_id}/cancel", status_code=202, responses=responses(404, 409, 422, 503))
async def cancel(run: OneRun, with_: With) -> RunDetail:
    """Asks the run to stop. Its state says `canceled` once its turn has really stopped."""
    return RunDetail.of(await run.cancel(), with_.ui_url(run.id))


async def _detail(run: Run, with_: Services) -> RunDetail:
    return RunDetail.of(await run.view(), with_.ui_url(run.id))

"""A turn's life in the store: opened, written to, closed once. After it is closed, nobody writes for it."""

from collections.abc import Sequence
from datetime import UTC, datetime

import orjson
from sqlalchemy import Connection, bindparam, delete, insert, select, update

from turnwise.errors import TurnFenced, TurnInterrupted, TurnOwned
from turnwise.fcmp import factories
from turnwise.fcmp.events import DiagnosticWarning, MessageFinal, OutputStatus, ReplyAccepted
from turnwise.fcmp.jsonvalue import JsonObject, iso, json_text
from turnwise.fcmp.questions import OpenQuestion
from turnwise.statechart import TERMINAL, Event, State
from turnwise.status import Fact
from turnwise.store.blobs import load_blob
from turnwise.store.conversations import touch_session
from turnwise.store.interactions import load_interaction
from turnwise.store.locked_run import LockedRun
from turnwise.store.observing import deeds_of
from turnwise.store.records import AuditEntry, Glance, LiveMessage, Output, RecoveryState, TurnClosing, TurnContext
from turnwise.store.registration import Registration, register
from turnwise.store.statuses import STATUS, note_output
from turnwise.store.tables import interactions, live_messages, request_interactive_runtime, runs
from turnwise.store.topics import leave_news, run_topic
from turnwise.store.upserts import Upsert

_HANDLE = select(request_interactive_runtime.c.session_handle_json).where(
    request_interactive_runtime.c.request_id == bindparam("run")
)
_TOUCH_IF_OPEN = (
    update(runs)
    .where(
        runs.c.run_id == bindparam("run"),
        runs.c.attempt == bindparam("turn"),
        runs.c.closed_attempt < bindparam("turn"),
    )
    .values(version=runs.c.version + 1, last_activity_at=bindparam("now"))
    .returning(
        runs.c.run_id,
        runs.c.session_id,
        runs.c.prompt_id,
        runs.c.last_seq,
        runs.c.version,
        runs.c.accepted_ttl_sec,
        runs.c.stall_after_sec,
        *STATUS,
    )
)
_LIVE = select(live_messages).where(live_messages.c.run_id == bindparam("run"))
_DROP_LIVE = delete(live_messages).where(live_messages.c.run_id == bindparam("run"))
_PUT_LIVE = Upsert(live_messages, key=["run_id"])
_PUT_HANDLE = Upsert(request_interactive_runtime, key=["request_id"])
_ADD_QUESTION = insert(interactions)
BATCH = 500
_STARTABLE = (State.QUEUED, State.RUNNING)
"""Running when the turn before was interrupted and is run again."""


def open_turn(
    connection: Connection, run_id: str, attempt: int, owner: str, new: Registration | None, restarted_at: str | None
) -> TurnContext:
    """The turn starts now: TR-01, unless it continues an interrupted one. Repeating the call changes nothing.

    With `restarted_at`, a run that was queued before that moment is refused: the orchestrator was down since.
    """
    run = LockedRun.find(connection, run_id)
    if new is not None and (run is None or run.execution_id != new.execution_id):
        register(connection, new)
        run = None
    run = run or LockedRun.load(connection, run_id)
    if run.is_open(attempt) and run.turn_owner != owner:
        raise TurnOwned(f"Turn {attempt} of run '{run_id}' was opened by another worker.", owner=run.turn_owner)
    was_queued = run.state is State.QUEUED
    if not run.is_open(attempt):
        if attempt != run.attempt + 1 or attempt <= run.closed_attempt or run.state not in _STARTABLE:
            raise TurnFenced(f"Turn {attempt} of run '{run_id}' may not start: the run is past it.")
        if restarted_at is not None and was_queued and run.updated_at < restarted_at:
            raise TurnInterrupted("The orchestrator was down while the run was queued.")
        run.change(attempt=attempt, turn_owner=owner)
        if was_queued:
            run.apply(Event.TURN_STARTED, None, key=f"turn{attempt}.started")
        else:
            run.note(Fact.TURN_STARTED)
        run.record(AuditEntry(source="orchestrator", event="agent.turn_start", data={"engine": run.engine}))
        run.save()
    last = load_interaction(connection, run_id, run.interaction_count) if run.interaction_count else None
    if was_queued and last is not None and isinstance(last.resolution, ReplyAccepted):
        waited = run.now - datetime.fromisoformat(last.resolution.accepted_at)
        deeds_of(connection).resumed_after = waited.total_seconds()
    handle = connection.execute(_HANDLE, {"run": run_id}).scalar() if last else None
    return TurnContext(
        run_id=run_id,
        attempt=attempt,
        input=run.input(),
        question=last.question if last else None,
        resolution=last.resolution if last else None,
        handle=orjson.loads(handle) if handle else None,
        tools=run.tools(),
    )


def write_output(
    connection: Connection, run_id: str, attempt: int, outputs: list[Output], entries: list[AuditEntry]
) -> None:
    run = LockedRun.load(connection, run_id)
    _refuse_if_closed(run, attempt)
    fresh = [output for output in outputs if not run.has_written(_output_key(attempt, output))]
    if outputs and not fresh:
        return
    _publish_outputs(connection, run, attempt, fresh)
    for entry in entries:
        run.record(entry)
    run.save()


def write_live_text(connection: Connection, run_id: str, attempt: int, message: LiveMessage) -> None:
    """The text of the message being written, as far as it goes."""
    now = iso(datetime.now(UTC))
    run = connection.execute(_TOUCH_IF_OPEN, {"run": run_id, "turn": attempt, "now": now}).mappings().one_or_none()
    if run is None:
        raise TurnFenced(f"Turn {attempt} of run '{run_id}' is closed and may not write.")
    status, version = note_output(connection, run, now)
    leave_news(connection, run_topic(run_id), Glance(False, run["last_seq"], [], message, status, version))
    if run["prompt_id"] is not None:
        touch_session(connection, run["session_id"], message.model_copy(update={"run_id": run_id}), status)
    _PUT_LIVE(
        connection,
        {
            "run_id": run_id,
            "attempt": attempt,
            "message_id": message.message_id,
            "text_json": json_text(message.text),
        },
    )


def close_turn(connection: Connection, closing: TurnClosing) -> None:
    """Takes the transition that ends the turn, and shuts out whoever still wants to write for it."""
    run = LockedRun.load(connection, closing.run_id)
    if run.closed_attempt >= closing.attempt or run.state in TERMINAL:
        return
    if run.attempt == closing.attempt:
        finish_turn(connection, run, closing.event.value, closing.usage)
    if closing.question is not None:
        _ask(connection, run, closing.question, closing)
    if closing.error is not None:
        run.change(error_code=closing.error.code, error_message=closing.error.message)
        if closing.event is Event.RESTART_RECONCILE_FAILED:
            run.recovered(RecoveryState.FAILED_RECONCILED, closing.error.message)
    run.apply(closing.event, _cause(closing), key=f"turn{closing.attempt}.closed")
    run.change(closed_attempt=closing.attempt)
    run.save()


def abandon_turn(connection: Connection, run_id: str, attempt: int, warning: DiagnosticWarning) -> None:
    """Shuts an interrupted turn without ending the run: another attempt follows. Repeating it changes nothing."""
    run = LockedRun.load(connection, run_id)
    if run.closed_attempt >= attempt or run.state in TERMINAL:
        return
    finish_turn(connection, run, "interrupted", {})
    run.publish(warning, key=f"turn{attempt}.abandoned")
    run.change(closed_attempt=attempt)
    run.save()


def closed_turns(connection: Connection, of: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    closed: dict[str, int] = {}
    for start in range(0, len(of), BATCH):
        batch = [run_id for run_id, _ in of[start : start + BATCH]]
        rows = connection.execute(select(runs.c.run_id, runs.c.closed_attempt).where(runs.c.run_id.in_(batch)))
        closed.update((row.run_id, row.closed_attempt) for row in rows)
    return [(run_id, attempt) for run_id, attempt in of if closed.get(run_id, 0) >= attempt]


def finish_turn(connection: Connection, run: LockedRun, outcome: str, usage: JsonObject) -> None:
    """What is left to say of a turn, whichever way it ended."""
    _keep_unfinished_message(connection, run)
    data: JsonObject = {"outcome": outcome, "usage": usage}
    run.record(AuditEntry(source="orchestrator", event="agent.turn_complete", data=data))


def _cause(closing: TurnClosing) -> factories.Cause:
    if closing.question is not None:
        return factories.Asked(closing.question)
    if closing.error is not None:
        return factories.Failed(closing.error.code, closing.error.message)
    return factories.Completed(closing.message_id, closing.attempt)


def _ask(connection: Connection, run: LockedRun, question: OpenQuestion, closing: TurnClosing) -> None:
    connection.execute(
        _ADD_QUESTION,
        {
            "run_id": run.run_id,
            "interaction_id": question.interaction_id,
            "attempt": closing.attempt,
            "question": json_text(question.model_dump(mode="json")),
            "asked_at": iso(run.now),
        },
    )
    handle = load_blob(connection, closing.handle_ref) if closing.handle_ref else json_text(closing.handle)
    _PUT_HANDLE(
        connection,
        {
            "request_id": run.run_id,
            "effective_session_timeout_sec": run.input().session_timeout_sec,
            "session_handle_json": handle,
            "updated_at": iso(run.now),
        },
    )
    run.change(interaction_count=question.interaction_id, pending_interaction_id=question.interaction_id)


def _publish_outputs(connection: Connection, run: LockedRun, attempt: int, outputs: list[Output]) -> None:
    for output in outputs:
        if isinstance(output.data, MessageFinal):
            connection.execute(_DROP_LIVE, {"run": run.run_id})
        run.publish(output.data, key=_output_key(attempt, output))
        run.note(Fact.OUTPUT_WRITTEN)


def _keep_unfinished_message(connection: Connection, run: LockedRun) -> None:
    """People saw the sentence that the turn was writing when it ended: it stays in the log, marked as interrupted."""
    row = connection.execute(_LIVE, {"run": run.run_id}).one_or_none()
    if row is None:
        return
    connection.execute(_DROP_LIVE, {"run": run.run_id})
    message = MessageFinal(message_id=row.message_id, text=orjson.loads(row.text_json), status=OutputStatus.INTERRUPTED)
    run.publish(message, key=f"turn{run.attempt}.unfinished")


def _refuse_if_closed(run: LockedRun, attempt: int) -> None:
    if not run.is_open(attempt):
        raise TurnFenced(f"Turn {attempt} of run '{run.run_id}' is closed and may not write.")


def _output_key(attempt: int, output: Output) -> str:
    return f"turn{attempt}.output{output.ordinal}"

"""Which workers there are, and what a restart of the orchestrator finds in the store.

Whether a worker lives is told by its beats growing, not by a clock: machines disagree about the time.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, Table, bindparam, delete, func, insert, select, text, update

from turnwise.fcmp import factories
from turnwise.fcmp.events import ErrorInfo, ReplyAccepted
from turnwise.statechart import TERMINAL, Event, Facts, State
from turnwise.store.interactions import load_interaction
from turnwise.store.locked_run import LockedRun
from turnwise.store.records import RecoveryState
from turnwise.store.tables import request_interactive_runtime, runs, session_items, sessions, workers
from turnwise.store.turns import finish_turn

_BEAT = update(workers).where(workers.c.worker_id == bindparam("id")).values(beats=workers.c.beats + 1, left=False)
_SERVES = select(workers.c.serving, workers.c.restarted).where(workers.c.worker_id == bindparam("id"))
_BEATS = select(workers.c.worker_id, workers.c.beats).where(workers.c.left.is_(False))


def join(connection: Connection, worker_id: str, task_queue: str) -> Mapping[str, int]:
    """The beats of the workers that served this queue and have not left in order."""
    connection.execute(
        insert(workers).values(
            worker_id=worker_id, task_queue=task_queue, beats=0, serving=False, left=False, restarted=False
        )
    )
    return serving(connection, task_queue, but=worker_id)


def serve(connection: Connection, worker_id: str, task_queue: str, silent: Mapping[str, int]) -> bool:
    """Starts to serve. True when no other worker serves: all of `silent` still stand at the beats they had.

    The very first worker of a queue has restarted nothing. Repeating the call gives the same answer.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('turnwise.restart'))"))
    known = connection.execute(_SERVES, {"id": worker_id}).one()
    if known.serving:  # the answer to an earlier call was lost
        return bool(known.restarted)
    others = serving(connection, task_queue, but=worker_id)
    dead = [other for other, beats in others.items() if silent.get(other) == beats]
    of_queue = (workers.c.task_queue == task_queue) & (workers.c.worker_id != worker_id) & workers.c.serving.is_(True)
    had_any = connection.execute(select(func.count()).select_from(workers).where(of_queue)).scalar_one() > 0
    connection.execute(delete(workers).where(of_queue, workers.c.left.is_(True) | workers.c.worker_id.in_(dead)))
    restarted = had_any and len(dead) == len(others)
    serves = update(workers).where(workers.c.worker_id == worker_id).values(serving=True, restarted=restarted)
    connection.execute(serves)
    return restarted


def beat(connection: Connection, worker_id: str, task_queue: str) -> Mapping[str, int]:
    """Says that this worker lives; returns the beats of all that have not left in order."""
    if connection.execute(_BEAT, {"id": worker_id}).rowcount == 0:
        # It was paused for so long that others took it for dead; now it serves again, and they must know.
        row = {
            "worker_id": worker_id,
            "task_queue": task_queue,
            "beats": 1,
            "serving": True,
            "left": False,
            "restarted": False,
        }
        connection.execute(insert(workers).values(row))
    return {row.worker_id: row.beats for row in connection.execute(_BEATS)}


def leave(connection: Connection, worker_id: str) -> None:
    connection.execute(update(workers).where(workers.c.worker_id == worker_id).values(left=True))


def serving(connection: Connection, task_queue: str, but: str = "") -> Mapping[str, int]:
    """The workers of a queue that have not left in order, with their beats."""
    rows = connection.execute(
        select(workers.c.worker_id, workers.c.beats).where(
            workers.c.task_queue == task_queue,
            workers.c.worker_id != but,
            workers.c.serving.is_(True),
            workers.c.left.is_(False),
        )
    )
    return {row.worker_id: row.beats for row in rows}


@dataclass(frozen=True, slots=True)
class Unsettled:
    run_id: str
    state: State
    engine: str
    interaction_id: int | None
    question_is_open: bool
    handle: str | None
    """As stored; None when it is missing."""
    reply: ReplyAccepted | None
    """What a queued run goes on with: its workflow may not have been told before everything went down."""


def unsettled(connection: Connection, task_queue: str, before: str, after_run: str, limit: int) -> list[Unsettled]:
    """Runs that had not ended when the orchestrator came up, and that nothing has touched since.

    Without those that a session has announced and not begun: they are its own to settle.
    """
    states = [state.value for state in State if state not in TERMINAL]
    rows = connection.execute(
        select(
            runs.c.run_id,
            runs.c.state,
            runs.c.engine,
            runs.c.pending_interaction_id,
            runs.c.interaction_count,
            request_interactive_runtime.c.session_handle_json,
        )
        .outerjoin(request_interactive_runtime, request_interactive_runtime.c.request_id == runs.c.run_id)
        .where(
            runs.c.state.in_(states),
            runs.c.updated_at < before,
            runs.c.run_id > after_run,
            of_queue(runs, task_queue),
            runs.c.execution_id.is_not(None) | runs.c.prompt_id.is_(None),
        )
        .order_by(runs.c.run_id)
        .limit(limit)
    ).all()
    return [
        Unsettled(
            run_id=row.run_id,
            state=State(row.state),
            engine=row.engine,
            interaction_id=row.pending_interaction_id,
            question_is_open=_is_open(connection, row.run_id, row.pending_interaction_id),
            handle=row.session_handle_json,
            reply=_reply(connection, row.run_id, row.interaction_count) if row.state == State.QUEUED else None,
        )
        for row in rows
    ]


def preserve_wait(connection: Connection, run_id: str, restart_id: str, interaction_id: int) -> None:
    """TR-10: the question is published again. Repeating it changes nothing."""
    run = LockedRun.load(connection, run_id)
    key = f"restart.{restart_id}"
    interaction = load_interaction(connection, run_id, interaction_id)
    if run.state in TERMINAL or interaction is None or run.has_written(f"{key}/0"):
        return
    facts = Facts(pending_valid=True, handle_valid=True)
    run.apply(Event.RESTART_PRESERVE_WAITING, factories.Asked(interaction.question), key=key, facts=facts)
    run.recovered(RecoveryState.RECOVERED_WAITING, "The question and the engine's handle are still valid.")
    run.save()


def reconcile(connection: Connection, run_id: str, error: ErrorInfo) -> None:
    """TR-11, or TR-12 and TR-13 for a run whose workflow is gone: it failed. Repeating it changes nothing."""
    run = LockedRun.load(connection, run_id)
    if run.state in TERMINAL:
        return
    if run.state is State.RUNNING:
        finish_turn(connection, run, Event.RESTART_RECONCILE_FAILED.value, {})
    cause = factories.Failed(error.code, error.message)
    run.apply(Event.RESTART_RECONCILE_FAILED, cause, key="restart.reconciled")
    run.change(
        closed_attempt=run.attempt, pending_interaction_id=None, error_code=error.code, error_message=error.message
    )
    run.recovered(RecoveryState.FAILED_RECONCILED, error.message)
    run.save()


def unsure_sessions(connection: Connection, task_queue: str, before: str, after_session: str, limit: int) -> list[str]:
    """Open sessions with prompts of which the store alone does not tell whether anybody will execute them."""
    query = (
        select(sessions.c.session_id)
        .join(session_items, session_items.c.session_id == sessions.c.session_id)
        .outerjoin(runs, runs.c.run_id == session_items.c.run_id)
        .where(
            sessions.c.closed_at.is_(None),
            sessions.c.created_at < before,
            sessions.c.session_id > after_session,
            of_queue(sessions, task_queue),
            session_items.c.ended.is_(None),
            runs.c.execution_id.is_(None),
        )
        .distinct()
        .order_by(sessions.c.session_id)
        .limit(limit)
    )
    return list(connection.execute(query).scalars())


def of_queue(table: Table, task_queue: str) -> ColumnElement[bool]:
    """Several installations may share a database; of rows from before they did, nothing else is known."""
    return (table.c.task_queue == task_queue) | table.c.task_queue.is_(None)


def _reply(connection: Connection, run_id: str, interaction_id: int) -> ReplyAccepted | None:
    interaction = load_interaction(connection, run_id, interaction_id) if interaction_id else None
    resolution = interaction.resolution if interaction else None
    return resolution if isinstance(resolution, ReplyAccepted) else None


def _is_open(connection: Connection, run_id: str, interaction_id: int | None) -> bool:
    if interaction_id is None:
        return False
    interaction = load_interaction(connection, run_id, interaction_id)
    return interaction is not None and interaction.resolution is None

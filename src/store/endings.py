"""The end of a session's prompts, and of runs that were announced for them and never came to be executed.

A run's row is always locked before its session's.
"""

from collections.abc import Collection
from datetime import UTC, datetime

from sqlalchemy import Connection

from turnwise.errors import ORCHESTRATOR_RESTART_INTERRUPTED, RUN_CANCELED, SESSION_CLOSED
from turnwise.fcmp import factories
from turnwise.fcmp.events import ErrorInfo
from turnwise.fcmp.jsonvalue import iso
from turnwise.sessions import ItemEnd
from turnwise.statechart import TERMINAL, Event, State
from turnwise.store import session_items, sessions
from turnwise.store.locked_run import LockedRun
from turnwise.store.restarts import reconcile

LOST = ErrorInfo(
    code=ORCHESTRATOR_RESTART_INTERRUPTED, message="The orchestrator went down while the prompt was on its way."
)
CLOSED = ErrorInfo(code=SESSION_CLOSED, message="The session was closed.")


def end_prompts(connection: Connection, session_id: str, ends: list[ItemEnd]) -> None:
    """The active prompt has ended, and with it perhaps the whole queue. Repeating it changes nothing."""
    for each in ends:
        _end_announced_run(connection, session_id, each)
    sessions.lock(connection, session_id)
    session_items.end(connection, session_id, ends)
    sessions.release(connection, session_id, [each.prompt_id for each in ends])


def end_lost_prompts(connection: Connection, session_id: str, known: Collection[str]) -> None:
    """Prompts that are stored and that the session's workflow does not know: nobody would ever execute them."""
    lost = [each for each in session_items.unended(connection, session_id) if each not in known]
    if lost:
        end_prompts(connection, session_id, [ItemEnd(prompt_id=each, state=State.FAILED, error=LOST) for each in lost])


def close_session(connection: Connection, session_id: str) -> None:
    """Nothing follows, and whoever still waits for a prompt need not. Repeating it changes nothing."""
    if sessions.load_row(connection, session_id)["closed_at"] is not None:
        return
    left = session_items.unended(connection, session_id)
    end_prompts(connection, session_id, [ItemEnd(prompt_id=each, state=State.CANCELED, error=CLOSED) for each in left])
    sessions.change(connection, session_id, closed_at=iso(datetime.now(UTC)), active_run_id=None)


def _end_announced_run(connection: Connection, session_id: str, end: ItemEnd) -> None:
    run_id = session_items.announced_run(connection, session_id, end.prompt_id)
    if run_id is None:
        return
    message = end.error.message if end.error else CLOSED.message
    if end.state is State.FAILED:
        reconcile(connection, run_id, ErrorInfo(code=ORCHESTRATOR_RESTART_INTERRUPTED, message=message))
        return
    run = LockedRun.load(connection, run_id)
    if run.state in TERMINAL:
        return
    run.apply(Event.RUN_CANCELED, factories.Failed(RUN_CANCELED, message), key="announced.canceled")
    run.change(error_code=RUN_CANCELED, error_message=message)
    run.save()

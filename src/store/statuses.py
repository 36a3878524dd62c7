"""The truthful status as the store keeps it: columns of the run, written with the fact that moves them."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, update

from turnwise.fcmp.jsonvalue import iso
from turnwise.statechart import Event
from turnwise.status import Fact, Patience, Reason, Standing, Status, StatusView
from turnwise.store.observing import StatusChange, deeds_of
from turnwise.store.tables import runs

STATUS = (runs.c.status, runs.c.status_reason, runs.c.status_since, runs.c.last_activity_at)
COLUMNS = ("status", "status_reason", "status_since", "last_activity_at", "status_due_at")

SAVE = (
    update(runs)
    .where(runs.c.run_id == bindparam("run"))
    .values(version=runs.c.version + 1, **{name: bindparam(name) for name in COLUMNS})
)
REARM = update(runs).where(runs.c.run_id == bindparam("run")).values(status_due_at=bindparam("due"))

FACT_OF = {
    Event.TURN_STARTED: Fact.TURN_STARTED,
    Event.TURN_NEEDS_INPUT: Fact.QUESTION_ASKED,
    Event.REPLY_ACCEPTED: Fact.INPUT_ACCEPTED,
    Event.AUTO_DECIDE_TIMEOUT: Fact.QUESTION_DECIDED,
    Event.TURN_SUCCEEDED: Fact.RUN_SUCCEEDED,
    Event.TURN_FAILED: Fact.RUN_FAILED,
    Event.RUN_CANCELED: Fact.RUN_CANCELED,
    Event.RESTART_PRESERVE_WAITING: Fact.QUESTION_ASKED,
    Event.RESTART_RECONCILE_FAILED: Fact.RUN_FAILED,
}


RunRow = Mapping[str, Any] | RowMapping
"""Columns of a run by their names."""


def standing_of(run: RunRow) -> Standing:
    return Standing(Status(run["status"]), Reason(run["status_reason"]), run["status_since"], run["last_activity_at"])


def patience_of(run: RunRow) -> Patience:
    return Patience(run["accepted_ttl_sec"], run["stall_after_sec"])


def columns_of(standing: Standing, patience: Patience) -> Mapping[str, str | None]:
    due = standing.due(patience)
    return {
        "status": standing.status.value,
        "status_reason": standing.reason.value,
        "status_since": standing.since,
        "last_activity_at": standing.last_activity_at,
        "status_due_at": iso(due.at) if due else None,
    }


def status_of(run: RowMapping) -> StatusView:
    return StatusView.of(standing_of(run), session_id=run["session_id"], run_id=run["run_id"])


def session_status_of(session: RowMapping) -> StatusView:
    """From the row of a session together with the status of its newest run."""
    run_id, closed_at = session["newest_run_id"], session["closed_at"]
    standing = standing_of(session) if run_id else Standing.idle(session["created_at"])
    if closed_at is not None:
        standing, run_id = standing.after(Fact.SESSION_CLOSED, closed_at), None
    return StatusView.of(standing, session_id=session["session_id"], run_id=run_id)


def note_output(connection: Connection, run: RowMapping, now: str) -> tuple[StatusView, int]:
    """More text of the message being written, on a row that is locked: what the status and the version are then.

    The clock is not set anew twenty times a second: it finds out, when it looks, that there was output meanwhile.
    """
    before = standing_of(run)
    standing = before.after(Fact.OUTPUT_WRITTEN, now)
    view = StatusView.of(standing, session_id=run["session_id"], run_id=run["run_id"])
    if not standing.differs(before):
        return view, run["version"]
    connection.execute(SAVE, {"run": run["run_id"], **columns_of(standing, patience_of(run))})
    change = StatusChange(run["session_id"], run["run_id"], before.status, standing.status, standing.reason)
    deeds_of(connection).changes.append(change)
    return view, run["version"] + 1

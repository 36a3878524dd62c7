"""How a run enters the store: from the client that started it, or from its own workflow, whichever comes first."""

from datetime import UTC, datetime

from pydantic import BaseModel
from sqlalchemy import Connection, bindparam, select, update

from turnwise.errors import IdempotencyKeyReused, RunIdTaken
from turnwise.fcmp.events import ConversationStarted
from turnwise.fcmp.jsonvalue import iso, json_text
from turnwise.runs import RunContent, RunInput
from turnwise.statechart import State
from turnwise.status import Patience, Standing
from turnwise.store.blobs import load_blob
from turnwise.store.locked_run import LockedRun
from turnwise.store.records import RecoveryState
from turnwise.store.sessions import begin_prompt, session_settings
from turnwise.store.statuses import columns_of
from turnwise.store.tables import runs
from turnwise.store.upserts import InsertMissing

_KNOWN = select(runs.c.execution_id, runs.c.request_digest).where(runs.c.run_id == bindparam("run"))
_ADD_RUN = InsertMissing(runs)
_ADD_DIGEST = update(runs).where(runs.c.run_id == bindparam("run")).values(request_digest=bindparam("digest"))
_ADD_EXECUTION = update(runs).where(runs.c.run_id == bindparam("run")).values(execution_id=bindparam("execution"))


class Registration(BaseModel):
    run_id: str
    execution_id: str | None
    """The first Temporal execution of the run: the same through continue-as-new, another when the id is reused.
    None as long as a session has only announced the run."""
    input: RunInput
    request_digest: str | None = None
    task_queue: str | None = None


def register(connection: Connection, registration: Registration) -> bool:
    """Creates the run with its first event. False when it is there already."""
    if _matches_existing(connection, registration):
        return False
    run_input = _whole_input(connection, registration.input)
    now = iso(datetime.now(UTC))
    accepted = Standing.begun(now)
    row = {
        "run_id": registration.run_id,
        "execution_id": registration.execution_id,
        "task_queue": registration.task_queue,
        "session_id": run_input.session_id,
        "prompt_id": run_input.prompt_id,
        "engine": run_input.engine,
        "input": json_text(run_input.model_dump(mode="json")),
        "request_digest": registration.request_digest,
        "interactive_require_user_reply": run_input.interactive_require_user_reply,
        "state": State.QUEUED.value,
        "attempt": 0,
        "closed_attempt": 0,
        "interaction_count": 0,
        "auto_decision_count": 0,
        "last_seq": 0,
        "last_audit_seq": 0,
        "version": 0,
        "recovery_state": RecoveryState.NONE.value,
        "created_at": now,
        "updated_at": now,
        "accepted_ttl_sec": run_input.accepted_ttl_sec,
        "stall_after_sec": run_input.stall_after_sec,
        **columns_of(accepted, Patience(run_input.accepted_ttl_sec, run_input.stall_after_sec)),
    }
    if not _ADD_RUN(connection, row):  # the other writer was faster by a moment
        _matches_existing(connection, registration)
        return False
    run = LockedRun.created(connection, row)
    started = ConversationStarted(
        prompt=run_input.prompt,
        mode=run_input.mode,
        interactive_require_user_reply=run_input.interactive_require_user_reply,
        session_timeout_sec=run_input.session_timeout_sec,
    )
    run.publish(started, key="started")
    run.status_changed(None)
    if run_input.prompt_id is not None:
        begin_prompt(connection, str(run_input.session_id), run_input.prompt_id, registration.run_id)
    run.save()
    return True


def _matches_existing(connection: Connection, registration: Registration) -> bool:
    row = connection.execute(_KNOWN, {"run": registration.run_id}).one_or_none()
    if row is None:
        return False
    if row.execution_id is None:
        connection.execute(_ADD_EXECUTION, {"run": registration.run_id, "execution": registration.execution_id})
    elif registration.execution_id not in (None, row.execution_id):
        raise RunIdTaken(f"'{registration.run_id}' is the id of an earlier run; its log is not continued.")
    if row.request_digest is None and registration.request_digest is not None:
        connection.execute(_ADD_DIGEST, {"run": registration.run_id, "digest": registration.request_digest})
    return True


def check_digest(connection: Connection, run_id: str, digest: str) -> bool:
    """Whether an Idempotency-Key's run exists; refuses a key that was first used for something else."""
    row = connection.execute(_KNOWN, {"run": run_id}).one_or_none()
    if row is None:
        return False
    if row.request_digest not in (None, digest):
        raise IdempotencyKeyReused("This Idempotency-Key was used before, for a different request.")
    return True


def _whole_input(connection: Connection, run_input: RunInput) -> RunInput:
    found: dict[str, object] = {}
    if run_input.prompt_id is not None:
        settings = session_settings(connection, str(run_input.session_id))
        if run_input.options_of_session:
            found["engine_options"] = settings.engine_options
    if run_input.content_ref is not None:
        content = RunContent.model_validate_json(load_blob(connection, run_input.content_ref))
        found["prompt"] = content.prompt
        if content.engine_options is not None:
            found["engine_options"] = content.engine_options
    return run_input.model_copy(update=found) if found else run_input

"""Questions and their answers: each is resolved once."""

import orjson
from sqlalchemy import Connection, bindparam, select, update

from turnwise import errors
from turnwise.fcmp import factories
from turnwise.fcmp.events import AutoDecided, DiagnosticWarning
from turnwise.fcmp.jsonvalue import iso
from turnwise.statechart import TERMINAL, Event
from turnwise.store.locked_run import LockedRun
from turnwise.store.records import Interaction, Resolution
from turnwise.store.tables import interactions

_ONE = (interactions.c.run_id == bindparam("run")) & (interactions.c.interaction_id == bindparam("id"))
_LOAD = select(interactions).where(_ONE)
_RESOLVE = update(interactions).where(_ONE).values(resolution=bindparam("answer"), resolved_at=bindparam("at"))


def load_interaction(connection: Connection, run_id: str, interaction_id: int) -> Interaction | None:
    row = connection.execute(_LOAD, {"run": run_id, "id": interaction_id}).one_or_none()
    if row is None:
        return None
    return Interaction.model_validate(
        {
            "run_id": run_id,
            "question": orjson.loads(row.question),
            "asked_at": row.asked_at,
            "resolution": orjson.loads(row.resolution) if row.resolution else None,
        }
    )


def resolve(connection: Connection, run_id: str, resolution: Resolution) -> Resolution | None:
    """Takes TR-03 or TR-04. Returns what is committed: an earlier resolution if there is one, None if the run ended."""
    run = LockedRun.load(connection, run_id)
    interaction = load_interaction(connection, run_id, resolution.interaction_id)
    if interaction is not None and interaction.resolution is not None:
        return interaction.resolution
    if run.state in TERMINAL:
        return None
    decided = isinstance(resolution, AutoDecided)
    event = Event.AUTO_DECIDE_TIMEOUT if decided else Event.REPLY_ACCEPTED
    run.apply(event, factories.Answered(resolution), key=f"question{resolution.interaction_id}.resolved")
    row = {"run": run_id, "id": resolution.interaction_id, "answer": resolution.model_dump_json(), "at": iso(run.now)}
    connection.execute(_RESOLVE, row)
    run.change(pending_interaction_id=None)
    if decided:
        run.count_auto_decision()
    run.save()
    return resolution


def cancel_wait(connection: Connection, run_id: str, message: str) -> None:
    """TR-07: the run is canceled while it waits. Repeating it changes nothing."""
    run = LockedRun.load(connection, run_id)
    if run.state in TERMINAL:
        return
    cause = factories.Failed(errors.RUN_CANCELED, message)
    run.apply(Event.RUN_CANCELED, cause, key="wait.canceled")
    run.change(pending_interaction_id=None, error_code=cause.code, error_message=cause.message)
    run.save()


def warn(connection: Connection, run_id: str, key: str, warning: DiagnosticWarning) -> None:
    """Publishes a warning once; nothing follows a terminal state, not even a warning."""
    run = LockedRun.load(connection, run_id)
    if run.state in TERMINAL or run.has_written(key):
        return
    run.publish(warning, key=key)
    run.save()

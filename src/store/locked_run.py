"""One run inside one transaction. Every change of a run, its log and its audit trail goes through here."""

from datetime import UTC, datetime
from typing import Self

from sqlalchemy import Connection, RowMapping, bindparam, insert, select, update

from turnwise.errors import RunNotFound
from turnwise.fcmp.events import PROTOCOL_VERSION, TYPE_OF, EventData
from turnwise.fcmp.factories import Cause, transition_events
from turnwise.fcmp.jsonvalue import JsonObject, iso, json_text
from turnwise.fcmp.schema import validate
from turnwise.runs import RunInput
from turnwise.statechart import TERMINAL, Event, Facts, State, Transition, step
from turnwise.store.records import AuditEntry, Glance, RecoveryState, StoredEvent
from turnwise.store.tables import audit, events, runs

# Statements are built once: on the way of every transition, building one costs more than running it.
_LOAD = select(runs).where(runs.c.run_id == bindparam("run")).with_for_update()
_WRITTEN = select(events.c.seq).where(events.c.run_id == bindparam("run"), events.c.key == bindparam("key"))
_ADD_EVENTS = insert(events)
_ADD_AUDIT = insert(audit)
_MUTABLE = (
    "state",
    "attempt",
    "closed_attempt",
    "pending_interaction_id",
    "interaction_count",
    "auto_decision_count",
    "last_seq",
    "last_audit_seq",
    "version",
    "error_code",
    "error_message",
    "recovery_state",
    "updated_at",
    "ended_at",
    "turn_owner",
    "recovered_at",
    "recovery_reason",
)
_SAVE = update(runs).where(runs.c.run_id == bindparam("run")).values({name: bindparam(name) for name in _MUTABLE})

NEWS = "turnwise.news"
"""Where a transaction leaves, in its connection's info, what it will have published once it is committed."""


class LockedRun:
    """Holds the row's lock until the transaction ends, which is what makes `seq` contiguous."""

    def __init__(self, connection: Connection, row: RowMapping) -> None:
        self._connection = connection
        self._row = row
        self._values = {name: row[name] for name in _MUTABLE}
        self._new_events: list[dict[str, object]] = []
        self._published: list[StoredEvent] = []
        self._new_audit: list[dict[str, object]] = []
        self.run_id: str = row["run_id"]
        self.now = datetime.now(UTC)

    @classmethod
    def load(cls, connection: Connection, run_id: str) -> Self:
        row = connection.execute(_LOAD, {"run": run_id}).mappings().one_or_none()
        if row is None:
            raise RunNotFound(f"There is no run '{run_id}'.")
        return cls(connection, row)

    @property
    def state(self) -> State:
        return State(self._values["state"])

    @property
    def attempt(self) -> int:
        """The newest turn that was opened."""
        return int(self._values["attempt"])

    @property
    def closed_attempt(self) -> int:
        """The newest turn that was closed."""
        return int(self._values["closed_attempt"])

    @property
    def turn_owner(self) -> str | None:
        """The worker that opened the newest turn."""
        owner = self._values["turn_owner"]
        return str(owner) if owner is not None else None

    @property
    def updated_at(self) -> str:
        return str(self._row["updated_at"])

    @property
    def interaction_count(self) -> int:
        return int(self._values["interaction_count"])

    @property
    def engine(self) -> str:
        return str(self._row["engine"])

    @property
    def input(self) -> RunInput:
        return RunInput.model_validate_json(self._row["input"])

    def has_written(self, key: str) -> bool:
        return self._connection.execute(_WRITTEN, {"run": self.run_id, "key": key}).first() is not None

    def is_open(self, attempt: int) -> bool:
        """Whether the turn `attempt` may still write."""
        return self.attempt == attempt > self.closed_attempt and self.state is State.RUNNING

    def apply(self, event: Event, cause: Cause | None, *, key: str, facts: Facts | None = None) -> Transition:
        """Takes one transition of the statechart and publishes what belongs to it."""
        facts = facts or Facts(interactive_require_user_reply=self._row["interactive_require_user_reply"])
        transition = step(self.state, event, facts)
        self.change(state=transition.target.value)
        if transition.target in TERMINAL:
            self.change(ended_at=iso(self.now))
        for index, data in enumerate(transition_events(transition, self.now, cause)):
            self.publish(data, key=f"{key}/{index}")
        return transition

    def publish(self, data: EventData, *, key: str) -> None:
        seq = self._next("last_seq")
        event: JsonObject = {
            "protocol_version": PROTOCOL_VERSION,
            "run_id": self.run_id,
            "seq": seq,
            "ts": iso(self.now),
            "engine": self.engine,
            "type": TYPE_OF[type(data)].value,
            "data": data.model_dump(mode="json", by_alias=True),
            "meta": {"attempt": self.attempt},
        }
        validate(event)
        body = json_text(event)
        self._new_events.append({"run_id": self.run_id, "seq": seq, "key": key, "body": body})
        self._published.append(StoredEvent(seq, body))

    def record(self, entry: AuditEntry) -> None:
        """Adds to the audit trail, which no watcher sees."""
        self._new_audit.append(
            {
                "run_id": self.run_id,
                "seq": self._next("last_audit_seq"),
                "ts": iso(self.now),
                "attempt": self.attempt,
                "source": entry.source,
                "event": entry.event,
                "data": json_text(entry.data),
            }
        )

    def change(self, **columns: object) -> None:
        self._values.update(columns)

    def recovered(self, state: RecoveryState, reason: str) -> None:
        """A restart has touched this run."""
        self.change(recovery_state=state.value, recovered_at=iso(self.now), recovery_reason=reason)

    def count_auto_decision(self) -> None:
        self._next("auto_decision_count")

    def save(self) -> None:
        self._next("version")
        self.change(updated_at=iso(self.now))
        if self._new_events:
            self._connection.execute(_ADD_EVENTS, self._new_events)
        if self._new_audit:
            self._connection.execute(_ADD_AUDIT, self._new_audit)
        self._connection.execute(_SAVE, {"run": self.run_id, **self._values})
        self._connection.info[NEWS] = Glance(self.state, int(self._values["last_seq"]), self._published, None)

    def _next(self, counter: str) -> int:
        self._values[counter] += 1
        return int(self._values[counter])

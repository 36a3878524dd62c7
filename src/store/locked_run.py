"""One run inside one transaction. Every change of a run, its log and its audit trail goes through here."""

from datetime import UTC, datetime
from typing import Self

from sqlalchemy import Connection, bindparam, insert, select, update

from turnwise.descriptors import ToolBinding
from turnwise.errors import RunNotFound
from turnwise.fcmp.events import PROTOCOL_VERSION, TYPE_OF, EventData
from turnwise.fcmp.factories import Cause, transition_events
from turnwise.fcmp.jsonvalue import JsonObject, iso, json_text
from turnwise.fcmp.schema import validate
from turnwise.runs import RunInput
from turnwise.statechart import TERMINAL, Event, Facts, State, Transition, step
from turnwise.status import Fact, Status, StatusView
from turnwise.store.conversations import Conversation
from turnwise.store.observing import StatusChange, deeds_of
from turnwise.store.records import AuditEntry, Glance, RecoveryState, StoredEvent
from turnwise.store.session_tools import load_tools
from turnwise.store.statuses import COLUMNS, FACT_OF, REARM, SAVE, RunRow, columns_of, patience_of, standing_of
from turnwise.store.tables import audit, events, runs
from turnwise.store.topics import leave_news, run_topic

# Statements are built once: on the way of every transition, building one costs more than running it.
_LOADED = [column for column in runs.c if column is not runs.c.input]  # which may be large, and is seldom needed
_NAMES = [column.name for column in _LOADED]
_LOAD = select(*_LOADED).where(runs.c.run_id == bindparam("run")).with_for_update()
_INPUT = select(runs.c.input).where(runs.c.run_id == bindparam("run"))
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
    *COLUMNS,
)
_SAVE = update(runs).where(runs.c.run_id == bindparam("run")).values({name: bindparam(name) for name in _MUTABLE})


class LockedRun:
    """Holds the row's lock until the transaction ends, which is what makes `seq` contiguous."""

    def __init__(self, connection: Connection, row: RunRow) -> None:
        self._connection = connection
        self._row = row
        self._values = {name: row[name] for name in _MUTABLE}
        self._new_events: list[dict[str, object]] = []
        self._published: list[StoredEvent] = []
        self._new_audit: list[dict[str, object]] = []
        self.run_id: str = row["run_id"]
        self.now = datetime.now(UTC)
        self._at = iso(self.now)
        self._standing = standing_of(row)
        self._patience = patience_of(row)
        self._conversation = (
            Conversation.load(connection, row["session_id"], self.run_id, self.now)
            if row["prompt_id"] is not None
            else None
        )

    @classmethod
    def find(cls, connection: Connection, run_id: str) -> Self | None:
        row = connection.execute(_LOAD, {"run": run_id}).one_or_none()
        return cls(connection, dict(zip(_NAMES, row, strict=True))) if row is not None else None

    @classmethod
    def load(cls, connection: Connection, run_id: str) -> Self:
        run = cls.find(connection, run_id)
        if run is None:
            raise RunNotFound(f"There is no run '{run_id}'.")
        return run

    @classmethod
    def created(cls, connection: Connection, row: RunRow) -> Self:
        """One that this transaction has inserted."""
        return cls(connection, {**dict.fromkeys(_NAMES), **row})

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
    def execution_id(self) -> str | None:
        """The first Temporal execution of the run."""
        execution = self._row["execution_id"]
        return str(execution) if execution is not None else None

    @property
    def updated_at(self) -> str:
        return str(self._row["updated_at"])

    @property
    def interaction_count(self) -> int:
        return int(self._values["interaction_count"])

    @property
    def engine(self) -> str:
        return str(self._row["engine"])

    def input(self) -> RunInput:
        return RunInput.model_validate_json(self._connection.execute(_INPUT, {"run": self.run_id}).scalar_one())

    def tools(self) -> list[ToolBinding]:
        """Of the session, if the run is one of its prompts."""
        return load_tools(self._connection, str(self._row["session_id"])) if self._conversation else []

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
            self.change(ended_at=self._at)
        self.note(FACT_OF[event])
        for index, data in enumerate(transition_events(transition, self.now, cause)):
            self.publish(data, key=f"{key}/{index}", said_before=event is Event.RESTART_PRESERVE_WAITING)
        return transition

    def publish(self, data: EventData, *, key: str, said_before: bool = False) -> None:
        """Adds to the log, and unless it was `said_before` to the transcript of the run's session."""
        seq = self._next("last_seq")
        meta: JsonObject = {"attempt": self.attempt}
        if self._conversation is not None:
            meta["session_seq"] = self._conversation.next_seq()
        event: JsonObject = {
            "protocol_version": PROTOCOL_VERSION,
            "run_id": self.run_id,
            "seq": seq,
            "ts": self._at,
            "engine": self.engine,
            "type": TYPE_OF[type(data)].value,
            "data": data.model_dump(mode="json", by_alias=True),
            "meta": meta,
        }
        validate(event)
        body = json_text(event)
        self._new_events.append({"run_id": self.run_id, "seq": seq, "key": key, "body": body})
        self._published.append(StoredEvent(seq, body))
        if self._conversation is not None and not said_before:
            self._conversation.hear(data)

    def note(self, fact: Fact) -> None:
        """The one place where the status of a run moves."""
        before, self._standing = self._standing, self._standing.after(fact, self._at)
        if self._standing.differs(before):
            self.status_changed(before.status)

    def status_changed(self, before: Status | None) -> None:
        session_id, standing = self._row["session_id"], self._standing
        change = StatusChange(session_id, self.run_id, before, standing.status, standing.reason)
        deeds_of(self._connection).changes.append(change)

    def record(self, entry: AuditEntry) -> None:
        """Adds to the audit trail, which no watcher sees."""
        self._new_audit.append(
            {
                "run_id": self.run_id,
                "seq": self._next("last_audit_seq"),
                "ts": self._at,
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
        self.change(recovery_state=state.value, recovered_at=self._at, recovery_reason=reason)

    def count_auto_decision(self) -> None:
        self._next("auto_decision_count")

    def save(self) -> None:
        self._next("version")
        self.change(updated_at=self._at, **columns_of(self._standing, self._patience))
        if self._new_events:
            self._connection.execute(_ADD_EVENTS, self._new_events)
            deeds_of(self._connection).events += len(self._new_events)
        if self._new_audit:
            self._connection.execute(_ADD_AUDIT, self._new_audit)
        self._connection.execute(_SAVE, {"run": self.run_id, **self._values})
        self._leave_news()
        if self._conversation is not None:
            self._conversation.save(self._published, self._status())

    def pass_time(self) -> None:
        """What the clock alone has changed by now, without touching anything else of the run."""
        due = self._standing.due(self._patience)
        if due is None or due.at > self.now:
            self._connection.execute(REARM, {"run": self.run_id, "due": iso(due.at) if due else None})
            return
        self.note(due.fact)
        self._next("version")
        self._connection.execute(SAVE, {"run": self.run_id, **columns_of(self._standing, self._patience)})
        self._leave_news()
        if self._conversation is not None:
            self._conversation.show(self._status())

    def _leave_news(self) -> None:
        glance = Glance(
            over=self.state in TERMINAL,
            last_seq=int(self._values["last_seq"]),
            events=self._published,
            live=None,
            status=self._status(),
            version=int(self._values["version"]),
        )
        leave_news(self._connection, run_topic(self.run_id), glance)

    def _status(self) -> StatusView:
        return StatusView.of(self._standing, session_id=self._row["session_id"], run_id=self.run_id)

    def _next(self, counter: str) -> int:
        self._values[counter] += 1
        return int(self._values[counter])

"""What the store takes and gives: plain models, no SQL."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, Field, JsonValue

from turnwise.descriptors import ToolBinding
from turnwise.fcmp.events import AutoDecided, ErrorInfo, EventData, Mode, ReplyAccepted
from turnwise.fcmp.jsonvalue import Json, JsonObject
from turnwise.fcmp.questions import OpenQuestion, Question
from turnwise.runs import RunInput
from turnwise.sessions import PendingItem
from turnwise.statechart import Event, State
from turnwise.status import StatusView

Resolution = ReplyAccepted | AutoDecided


class RecoveryState(StrEnum):
    NONE = "none"
    RECOVERED_WAITING = "recovered_waiting"
    FAILED_RECONCILED = "failed_reconciled"


class RunView(BaseModel):
    """A run as people look at it."""

    run_id: str
    session_id: str | None
    engine: str
    mode: Mode
    interactive_require_user_reply: bool
    session_timeout_sec: float
    max_attempts: int | None
    accepted_ttl_sec: float
    stall_after_sec: float
    prompt_preview: str
    state: State
    status: StatusView
    attempt: int
    pending: OpenQuestion | None
    error: ErrorInfo | None
    recovery_state: RecoveryState
    recovered_at: str | None
    recovery_reason: str | None
    auto_decision_count: int
    last_seq: int
    created_at: str
    updated_at: str
    ended_at: str | None


class RunPage(BaseModel):
    runs: list[RunView]
    next_cursor: str | None


class TurnContext(BaseModel):
    """All that a turn needs to know."""

    run_id: str
    attempt: int
    input: RunInput
    question: OpenQuestion | None
    """The question that the previous turn asked."""
    resolution: Resolution | None
    """How that question was resolved."""
    handle: JsonValue
    tools: list[ToolBinding] = []
    """What the run's session has registered."""


class Asked(BaseModel):
    kind: Literal["asked"] = "asked"
    question: Question
    handle: Json = None
    handle_ref: str | None = None
    """Where the handle is stored when it is too large for Temporal's history."""


class Succeeded(BaseModel):
    kind: Literal["succeeded"] = "succeeded"
    message_id: str | None
    output: str | None = None
    """The answer's text, unless it is too long for Temporal's history."""


class Failed(BaseModel):
    kind: Literal["failed"] = "failed"
    error: ErrorInfo


class Canceled(BaseModel):
    kind: Literal["canceled"] = "canceled"
    message: str = "The run was canceled."


class Interrupted(BaseModel):
    """The process that ran the turn is gone or going."""

    kind: Literal["interrupted"] = "interrupted"
    error: ErrorInfo


TurnEnding = Asked | Succeeded | Failed | Canceled | Interrupted


class TurnResult(BaseModel):
    """What a turn reports to its workflow."""

    ending: TurnEnding = Field(discriminator="kind")
    usage: JsonObject = {}
    redrive: bool = False
    """Of an interrupted turn: whether it shall be run again, as a new attempt."""


class TurnClosing(BaseModel):
    """What the workflow makes of a turn's ending: the transition to take, and what belongs to it."""

    run_id: str
    attempt: int
    event: Event
    question: OpenQuestion | None = None
    handle: JsonValue = None
    handle_ref: str | None = None
    message_id: str | None = None
    error: ErrorInfo | None = None
    usage: JsonObject = {}


class Output(BaseModel):
    """One piece of a turn's output, numbered within the turn so that a repeated write is recognised."""

    ordinal: int
    data: EventData


class AuditEntry(BaseModel):
    source: str
    event: str
    data: JsonObject


class AuditRecord(AuditEntry):
    protocol_version: Literal["rasp/1.0"] = "rasp/1.0"
    run_id: str
    seq: int
    ts: str
    attempt: int


class LiveMessage(BaseModel):
    message_id: str
    text: str
    run_id: str | None = None
    """In a session: whose message it is."""


class Interaction(BaseModel):
    run_id: str
    question: OpenQuestion
    asked_at: str
    resolution: Resolution | None = Field(discriminator="resolution_mode")


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """A record of the log with its text as written, so that nobody encodes it a second time."""

    seq: int
    body: str


@dataclass(frozen=True, slots=True)
class Glance:
    """What a watcher needs next: one look at a run or session from a cursor, or what one commit has brought."""

    over: bool
    """Nothing will follow."""
    last_seq: int
    events: list[StoredEvent]
    live: LiveMessage | None
    status: StatusView | None
    """None where nothing was heard of it."""
    version: int
    """Of two of them, the larger is the later one."""
    queue: list[PendingItem] | None = None
    """Of a session: what waits in it; None where nothing was heard of it."""

    def only_extends(self, earlier: "Glance") -> bool:
        """Whether it tells all that the earlier one does, with more of the same text."""
        if any(each.events or each.queue is not None or each.over or not each.live for each in (self, earlier)):
            return False
        if self.status is None or earlier.status is None or self.status.differs(earlier.status):
            return False
        assert self.live is not None
        assert earlier.live is not None
        return (self.live.run_id, self.live.message_id) == (earlier.live.run_id, earlier.live.message_id)

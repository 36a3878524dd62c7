"""The event types of FCMP: an envelope, and the data of each type."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from turnwise.fcmp.jsonvalue import Json, JsonObject
from turnwise.fcmp.questions import OpenQuestion, Policy
from turnwise.statechart import Event, State

PROTOCOL_VERSION: Literal["fcmp/1.0"] = "fcmp/1.0"


class Mode(StrEnum):
    INTERACTIVE = "interactive"
    AUTO = "auto"


class EventType(StrEnum):
    CONVERSATION_STARTED = "conversation.started"
    STATE_CHANGED = "conversation.state.changed"
    MESSAGE_FINAL = "assistant.message.final"
    INPUT_REQUIRED = "user.input.required"
    REPLY_ACCEPTED = "interaction.reply.accepted"
    AUTO_DECIDED = "interaction.auto_decide.timeout"
    TOOL_CALL = "tool.call"
    TOOL_RESULT = "tool.result"
    COMPLETED = "conversation.completed"
    FAILED = "conversation.failed"
    WARNING = "diagnostic.warning"


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class ConversationStarted(_Data):
    prompt: str
    mode: Mode
    interactive_require_user_reply: bool
    session_timeout_sec: float = Field(ge=0)


class StateChanged(_Data):
    source: Annotated[State, Field(alias="from")]
    target: Annotated[State, Field(alias="to")]
    trigger: Event
    updated_at: str


class OutputStatus(StrEnum):
    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    """The turn ended in the middle of this message; it is kept because people saw it."""


class MessageFinal(_Data):
    message_id: str
    text: str
    status: OutputStatus = OutputStatus.COMPLETED


class ReplyAccepted(_Data):
    interaction_id: int
    resolution_mode: Literal["user_reply"] = "user_reply"
    accepted_at: str
    reply_id: str
    response: Json


class AutoDecided(_Data):
    interaction_id: int
    resolution_mode: Literal["auto_decide_timeout"] = "auto_decide_timeout"
    policy: Policy
    decided_at: str
    response: Json
    """The question's default under `use_default`; null when the engine is told to decide."""


class ToolCall(_Data):
    call_id: str
    name: str
    arguments: JsonObject


class ToolStatus(StrEnum):
    COMPLETED = "completed"
    FAILED = "failed"


class ToolResult(_Data):
    call_id: str
    name: str
    status: ToolStatus
    result: Json


class ConversationCompleted(_Data):
    message_id: str | None
    """The message that is the run's answer."""
    attempts: int


def _readable(message: str) -> str:
    """What an exception says may be any bytes; half characters and NUL, which PostgreSQL takes no text with, go."""
    return message.encode(errors="replace").decode().replace("\0", "\ufffd")


class ErrorInfo(_Data):
    code: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$", max_length=100)]
    message: Annotated[str, AfterValidator(_readable)]


class ConversationFailed(_Data):
    error: ErrorInfo


class DiagnosticWarning(_Data):
    code: str
    message: str
    details: JsonObject = {}


EventData = (
    ConversationStarted
    | StateChanged
    | MessageFinal
    | OpenQuestion
    | ReplyAccepted
    | AutoDecided
    | ToolCall
    | ToolResult
    | ConversationCompleted
    | ConversationFailed
    | DiagnosticWarning
)

DATA_MODELS: dict[EventType, type[EventData]] = {
    EventType.CONVERSATION_STARTED: ConversationStarted,
    EventType.STATE_CHANGED: StateChanged,
    EventType.MESSAGE_FINAL: MessageFinal,
    EventType.INPUT_REQUIRED: OpenQuestion,
    EventType.REPLY_ACCEPTED: ReplyAccepted,
    EventType.AUTO_DECIDED: AutoDecided,
    EventType.TOOL_CALL: ToolCall,
    EventType.TOOL_RESULT: ToolResult,
    EventType.COMPLETED: ConversationCompleted,
    EventType.FAILED: ConversationFailed,
    EventType.WARNING: DiagnosticWarning,
}

TYPE_OF: dict[type[EventData], EventType] = {model: kind for kind, model in DATA_MODELS.items()}


class Meta(BaseModel):
    model_config = ConfigDict(extra="forbid")

    attempt: int = Field(ge=0)
    session_seq: int | None = Field(default=None, ge=1, exclude_if=lambda seq: seq is None)
    """In a session: the place among the events of all its runs, contiguous from 1."""


class FcmpEvent(BaseModel):
    """One record of the log, as it goes over the wire."""

    model_config = ConfigDict(extra="forbid")

    protocol_version: Literal["fcmp/1.0"] = PROTOCOL_VERSION
    run_id: str
    seq: int = Field(ge=1)
    ts: str
    engine: str
    type: EventType
    data: JsonObject
    meta: Meta

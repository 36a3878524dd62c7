"""What a session is made of: what it is created with, its transcript, its queue, and what people are shown of them."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from turnwise.errors import EntriesInvalid, first_fault
from turnwise.fcmp.events import ErrorInfo, Mode, ToolStatus
from turnwise.fcmp.jsonvalue import Json, JsonObject, Text
from turnwise.runs import Identifier, RunInput, RunSettings
from turnwise.statechart import State
from turnwise.status import StatusView

PREVIEW_LENGTH = 120
MAX_PREVIEW_LENGTH = 1000
HISTORY_LENGTH = 20
"""How many items that left the queue are remembered."""
MAX_QUEUED = 100
"""They all travel through Temporal's history when the session continues as new."""
INLINE_PROMPT_MAX_BYTES = 400
"""A longer prompt is stored once, and its reference is queued."""


class SessionRequest(RunSettings):
    """The body of `POST /v1/sessions`: defaults for the runs of the session."""


class Segment(BaseModel):
    """The entries of a transcript from the segment before up to `length`, as one branch of writing holds them."""

    branch: str
    length: int


class Origin(BaseModel):
    """What a fork begins with: the transcript of its parent up to a point, by reference."""

    session_id: str
    lineage: list[Segment]


class SessionInput(SessionRequest):
    """The input of `SessionWorkflow`."""

    content_ref: str | None = None
    """Where `engine_options` are stored when they are too large for Temporal's history."""
    origin: Origin | None = None


class SessionContent(BaseModel):
    engine_options: JsonObject


class StreamingBehavior(StrEnum):
    """What becomes of a prompt that meets a session at work."""

    REJECT = "reject"
    STEER = "steer"
    FOLLOW_UP = "follow_up"


class ItemSource(StrEnum):
    """How an input came to the session."""

    PROMPT = "prompt"
    PROMPT_FOLLOW_UP = "prompt_follow_up"
    STEER = "steer"
    FOLLOW_UP = "follow_up"


QUEUED_SOURCES = (ItemSource.PROMPT_FOLLOW_UP, ItemSource.STEER, ItemSource.FOLLOW_UP)


class ItemStatus(StrEnum):
    QUEUED = "queued"
    ACTIVE = "active"
    RESOLVED = "resolved"
    FAILED = "failed"


class PromptRequest(BaseModel):
    """What the Update `prompt` takes."""

    model_config = ConfigDict(extra="forbid")

    text: Text = ""
    engine_options: JsonObject | None = None
    """Instead of the session's own, for this prompt."""
    content_ref: str | None = None
    """Where both are stored when they are too large for Temporal's history; `text` then is only their beginning."""
    streaming_behavior: StreamingBehavior = StreamingBehavior.REJECT
    source: ItemSource | None = None
    """Set by `steer` and `follow_up`; a prompt is told apart by its `streaming_behavior`."""
    prompt_id: Identifier


class StoredItem(BaseModel):
    """A prompt of a session, from its acceptance on."""

    prompt_id: str
    source: ItemSource
    status: ItemStatus
    run_id: str
    """What its run is called once there is one."""
    started: bool
    """There is one."""
    state: State | None
    """How it ended."""
    error: ErrorInfo | None


class ItemEnd(BaseModel):
    prompt_id: str
    state: State
    error: ErrorInfo | None = None


class PromptReceipt(BaseModel):
    session_id: str
    prompt_id: str
    run_id: str | None
    """Null while the prompt waits in the queue."""
    status: ItemStatus

    @classmethod
    def of(cls, session_id: str, item: StoredItem) -> Self:
        run_id = None if item.status is ItemStatus.QUEUED else item.run_id
        return cls(session_id=session_id, prompt_id=item.prompt_id, run_id=run_id, status=item.status)


class PromptResult(BaseModel):
    """What became of a prompt."""

    prompt_id: str
    run_id: str | None
    """Null when the prompt never started."""
    state: State
    text: str | None
    error: ErrorInfo | None = None


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


# Only where it says nothing: a tool's result may be null, and then it says so.
_LEFT_OUT_WHEN_NULL = Field(exclude_if=lambda value: value is None)


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    run_id: Annotated[Identifier | None, _LEFT_OUT_WHEN_NULL] = None
    """The run in which it was said; null for what was brought in from elsewhere."""
    ts: Annotated[Annotated[str, Field(max_length=40)] | None, _LEFT_OUT_WHEN_NULL] = None


class MessageEntry(_Entry):
    kind: Literal["message"] = "message"
    role: Role
    text: Text
    interaction_id: Annotated[int | None, _LEFT_OUT_WHEN_NULL] = None
    """Of a question that the agent asked, and of the user's reply to it."""
    status: Literal["completed", "interrupted"] = "completed"


class ToolCallEntry(_Entry):
    kind: Literal["tool_call"] = "tool_call"
    call_id: Text
    name: Text
    arguments: JsonObject


class ToolOutputEntry(_Entry):
    kind: Literal["tool_output"] = "tool_output"
    call_id: Text
    name: Text
    status: ToolStatus
    result: Json


Entry = Annotated[MessageEntry | ToolCallEntry | ToolOutputEntry, Field(discriminator="kind")]
_ENTRY: TypeAdapter[Entry] = TypeAdapter(Entry)


class IndexedEntry(BaseModel):
    """An entry in its place."""

    entry_index: int
    entry: Entry

    def wire(self) -> JsonObject:
        return {"entry_index": self.entry_index, **self.entry.model_dump(mode="json")}


def parse_entries(entries: list[JsonObject]) -> list[Entry]:
    """As `transcript` gives them: the place in the list counts, `entry_index` is ignored."""
    parsed = []
    for index, each in enumerate(entries):
        try:
            parsed.append(_ENTRY.validate_python({key: each[key] for key in each if key != "entry_index"}))
        except ValidationError as error:
            raise EntriesInvalid(f"entries.{index}.{first_fault(error)}", index=index) from error
    return parsed


def parse_entry(body: str) -> Entry:
    return _ENTRY.validate_json(body)


class Counts(BaseModel):
    """How many entries of each sort there are up to a point of a transcript."""

    user_messages: int = 0
    assistant_messages: int = 0
    tool_calls: int = 0
    tool_results: int = 0

    def after(self, entry: Entry) -> Self:
        match entry:
            case MessageEntry(role=Role.USER):
                return self.model_copy(update={"user_messages": self.user_messages + 1})
            case MessageEntry(role=Role.ASSISTANT):
                return self.model_copy(update={"assistant_messages": self.assistant_messages + 1})
            case ToolCallEntry():
                return self.model_copy(update={"tool_calls": self.tool_calls + 1})
            case ToolOutputEntry():
                return self.model_copy(update={"tool_results": self.tool_results + 1})
        return self


class SessionState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"


class SessionView(BaseModel):
    """A session as people look at it."""

    session_id: str
    state: SessionState
    status: StatusView
    engine: str
    mode: Mode
    interactive_require_user_reply: bool
    session_timeout_sec: float
    max_attempts: int | None
    accepted_ttl_sec: float
    stall_after_sec: float
    parent_session_id: str | None
    prompt_preview: str
    """The first prompt of its own; empty before there is one."""
    active_run_id: str | None
    """Null when the session is idle."""
    run_state: State | None
    """Of the active run."""
    total_entries: int
    pending_messages: int
    last_seq: int
    created_at: str
    last_updated_at: str | None
    closed_at: str | None


class SessionPage(BaseModel):
    sessions: list[SessionView]
    next_cursor: str | None


class PendingItem(BaseModel):
    prompt_id: str
    source: ItemSource
    text_preview: str
    status: ItemStatus
    run_id: str | None
    error: ErrorInfo | None = None


class ForkableMessage(BaseModel):
    entry_index: int
    text: str


class PendingBreakdown(BaseModel):
    prompt_follow_up: int = 0
    steer: int = 0
    follow_up: int = 0


class SessionStats(Counts):
    total_entries: int
    pending_messages: int
    pending_breakdown: PendingBreakdown
    last_updated_at: str | None


class Cleared(BaseModel):
    queued_removed: int = 0
    resolved_removed: int = 0
    active_prompt_canceled: bool = False


class TranscriptEventType(StrEnum):
    MESSAGE = "message"
    TOOL_CALL = "tool_call"
    TOOL_EXECUTION_UPDATE = "tool_execution_update"
    TOOL_RESULT = "tool_result"


class EventSource(StrEnum):
    TRANSCRIPT = "transcript"
    SESSION = "session"
    """Of what is under way and not yet an entry."""


class TranscriptEvent(BaseModel):
    type: TranscriptEventType
    source: EventSource
    entry_index: int | None
    data: JsonObject


def events_of(indexed: IndexedEntry) -> list[TranscriptEvent]:
    """What an entry tells; several events of one entry share its index."""
    entry = indexed.entry

    def event(kind: TranscriptEventType, **data: JsonValue) -> TranscriptEvent:
        return TranscriptEvent(
            type=kind, source=EventSource.TRANSCRIPT, entry_index=indexed.entry_index, data={**data, "ts": entry.ts}
        )

    match entry:
        case MessageEntry():
            return [event(TranscriptEventType.MESSAGE, role=entry.role.value, text=entry.text, status=entry.status)]
        case ToolCallEntry():
            call = {"call_id": entry.call_id, "name": entry.name}
            return [
                event(TranscriptEventType.TOOL_CALL, **call, arguments=entry.arguments),
                event(TranscriptEventType.TOOL_EXECUTION_UPDATE, **call, status="started"),
            ]
        case ToolOutputEntry():
            end = {"call_id": entry.call_id, "name": entry.name, "status": entry.status.value}
            return [
                event(TranscriptEventType.TOOL_EXECUTION_UPDATE, **end),
                event(TranscriptEventType.TOOL_RESULT, **end, result=entry.result),
            ]


def run_input_of(session_id: str, session: SessionInput, prompt: PromptRequest) -> RunInput:
    """The run that a prompt becomes. What is large stays where it is stored."""
    return RunInput(
        prompt=prompt.text,
        engine=session.engine,
        engine_options=prompt.engine_options or {},
        mode=session.mode,
        interactive_require_user_reply=session.interactive_require_user_reply,
        session_timeout_sec=session.session_timeout_sec,
        max_attempts=session.max_attempts,
        accepted_ttl_sec=session.accepted_ttl_sec,
        stall_after_sec=session.stall_after_sec,
        session_id=session_id,
        content_ref=prompt.content_ref,
        prompt_id=prompt.prompt_id,
        options_of_session=prompt.engine_options is None,
    )

"""What the routes of sessions take and give beyond the client's own models."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from turnwise.descriptors import ToolDescriptor
from turnwise.fcmp.jsonvalue import JsonObject, Text
from turnwise.runs import Identifier
from turnwise.sessions import ForkableMessage, PendingItem, SessionView, StreamingBehavior, TranscriptEvent

PromptText = Annotated[Text, Field(min_length=1)]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SessionDetail(SessionView):
    temporal_workflow_id: str
    temporal_ui_url: str | None
    """Where a person sees this session in Temporal's Web UI."""

    @classmethod
    def of(cls, session: SessionView, ui_url: str | None) -> Self:
        return cls(**session.model_dump(), temporal_workflow_id=session.session_id, temporal_ui_url=ui_url)


class SessionList(BaseModel):
    sessions: list[SessionDetail]
    next_cursor: str | None


class MessageRequest(_Request):
    text: PromptText
    prompt_id: Identifier | None = None
    """Names this prompt, so that it can be sent again without being taken twice."""


class PromptBody(MessageRequest):
    streaming_behavior: StreamingBehavior = StreamingBehavior.REJECT
    """What becomes of it when the session is at work: refused (409), or queued."""
    engine_options: JsonObject | None = None
    """Instead of the session's own, for this prompt."""
    wait: bool = False
    """Answer when the prompt's own run has ended."""


class ForkRequest(_Request):
    from_user_entry_index: int | None = None
    """The prompt before which the fork begins; all of the transcript when not given."""


class ResumeRequest(_Request):
    entries: list[JsonObject]
    """As `GET …/transcript` gives them."""


class Transcript(BaseModel):
    session_id: str
    total_entries: int
    entries: list[JsonObject]


class ForkableMessages(BaseModel):
    messages: list[ForkableMessage]


class Pending(BaseModel):
    items: list[PendingItem]


class ToolList(BaseModel):
    tools: list[ToolDescriptor]


class ToolChange(_Request):
    enabled: bool


class TranscriptEvents(BaseModel):
    session_id: str
    events: list[TranscriptEvent]

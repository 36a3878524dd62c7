"""What the API takes and gives beyond the client's own models."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from turnwise.fcmp.events import FcmpEvent
from turnwise.fcmp.jsonvalue import Json
from turnwise.fcmp.questions import OpenQuestion
from turnwise.runs import MAX_NUMBER, Identifier
from turnwise.statechart import State
from turnwise.store.records import AuditRecord, RunView


class RunDetail(RunView):
    temporal_workflow_id: str
    temporal_ui_url: str | None
    """Where a person sees this run in Temporal's Web UI."""

    @classmethod
    def of(cls, run: RunView, ui_url: str | None) -> Self:
        return cls(**run.model_dump(), temporal_workflow_id=run.run_id, temporal_ui_url=ui_url)


class RunList(BaseModel):
    runs: list[RunDetail]
    next_cursor: str | None


class PendingInteraction(BaseModel):
    run_id: str
    state: State
    pending: OpenQuestion | None
    """The open question; null when the run is not waiting."""


class ReplyRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    interaction_id: int = Field(ge=1, le=MAX_NUMBER)
    response: Json
    reply_id: Identifier | None = None
    """Names this reply, so that it can be sent again without being taken twice."""


class EventHistory(BaseModel):
    run_id: str
    last_seq: int
    events: list[FcmpEvent]


class AuditTrail(BaseModel):
    run_id: str
    records: list[AuditRecord]


class Health(BaseModel):
    status: str

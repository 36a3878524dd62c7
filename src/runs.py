"""What a run is asked to do: the body of `POST /v1/runs`, and the input of `RunWorkflow`."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from turnwise.fcmp.events import Mode
from turnwise.fcmp.jsonvalue import JsonObject, Text, portable

DEFAULT_SESSION_TIMEOUT_SEC = 1200.0
MAX_SESSION_TIMEOUT_SEC = 366 * 24 * 3600.0
DEFAULT_ACCEPTED_TTL_SEC = 3.0
MAX_ACCEPTED_TTL_SEC = 3600.0
DEFAULT_STALL_AFTER_SEC = 120.0
MIN_STALL_AFTER_SEC = 0.1
MAX_STALL_AFTER_SEC = 7 * 24 * 3600.0
MAX_NUMBER = 2**31 - 1
"""What every database can count up to."""

Identifier = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$"), AfterValidator(portable)
]
"""A name that others give us (run, session, reply, idempotency key): short, and printable in a log line."""


class Recovery(StrEnum):
    """What becomes of a turn whose worker is gone."""

    RECONCILE = "reconcile"
    REDRIVE = "redrive"


class RunSettings(BaseModel):
    """Who executes a run, and how it deals with questions."""

    model_config = ConfigDict(extra="forbid")

    engine: Identifier = "scripted"
    engine_options: JsonObject = {}
    mode: Mode = Mode.INTERACTIVE
    interactive_require_user_reply: bool = True
    """Strict: only a person may answer. With false, the deadline decides."""
    session_timeout_sec: float = Field(default=DEFAULT_SESSION_TIMEOUT_SEC, ge=0, le=MAX_SESSION_TIMEOUT_SEC)
    """How long a question waits before its deadline; 0 and fractions are allowed."""
    max_attempts: int | None = Field(default=None, ge=1, le=MAX_NUMBER)
    """How many turns may run; a question asked by the last of them fails the run."""
    accepted_ttl_sec: float = Field(default=DEFAULT_ACCEPTED_TTL_SEC, ge=0, le=MAX_ACCEPTED_TTL_SEC)
    """How long the status may say `accepted` while nothing starts."""
    stall_after_sec: float = Field(default=DEFAULT_STALL_AFTER_SEC, ge=MIN_STALL_AFTER_SEC, le=MAX_STALL_AFTER_SEC)
    """How long a turn may be silent before the status says `stalled`."""

    @model_validator(mode="after")
    def _auto_never_waits(self) -> Self:
        if self.mode is Mode.AUTO:
            self.interactive_require_user_reply = False
            self.session_timeout_sec = 0.0
        return self


class RunRequest(RunSettings):
    prompt: Text = ""
    session_id: Identifier | None = None
    """A label of the caller's own, to find runs by."""


class RunInput(RunRequest):
    content_ref: str | None = None
    """Where `prompt` and `engine_options` are stored when they are too large for Temporal's history."""
    registered: bool = False
    """Set by our own client, which brings the run into the store itself; otherwise its workflow does that first."""
    prompt_id: Identifier | None = None
    """Set by a session's workflow: the run is this prompt of the session `session_id`, and part of its conversation."""
    options_of_session: bool = False
    """Whether `engine_options` are the session's."""


class RunContent(BaseModel):
    """The part of an input that can be large."""

    prompt: str
    engine_options: JsonObject | None
    """Null when they are not part of it."""

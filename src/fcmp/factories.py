"""What each transition publishes, in order. The one place where transitions become events."""

from dataclasses import dataclass
from datetime import datetime

from turnwise.fcmp.events import (
    AutoDecided,
    ConversationCompleted,
    ConversationFailed,
    ErrorInfo,
    EventData,
    ReplyAccepted,
    StateChanged,
)
from turnwise.fcmp.jsonvalue import iso
from turnwise.fcmp.questions import OpenQuestion
from turnwise.statechart import Event, Transition


@dataclass(frozen=True, slots=True)
class Asked:
    question: OpenQuestion


@dataclass(frozen=True, slots=True)
class Answered:
    answer: ReplyAccepted | AutoDecided


@dataclass(frozen=True, slots=True)
class Completed:
    message_id: str | None
    attempts: int


@dataclass(frozen=True, slots=True)
class Failed:
    code: str
    message: str


Cause = Asked | Answered | Completed | Failed
"""What a transition tells besides the change of state; a started turn tells nothing more."""


def transition_events(transition: Transition, at: datetime, cause: Cause | None) -> list[EventData]:
    changed = StateChanged(
        source=transition.source, target=transition.target, trigger=transition.event, updated_at=iso(at)
    )
    match transition.event, cause:
        case Event.TURN_STARTED, None:
            return [changed]
        case ((Event.TURN_NEEDS_INPUT | Event.RESTART_PRESERVE_WAITING), Asked(question)):
            return [changed, question]
        case Event.REPLY_ACCEPTED, Answered(ReplyAccepted() as reply):
            return [reply, changed]
        case Event.AUTO_DECIDE_TIMEOUT, Answered(AutoDecided() as decision):
            return [decision, changed]
        case Event.TURN_SUCCEEDED, Completed(message_id, attempts):
            return [changed, ConversationCompleted(message_id=message_id, attempts=attempts)]
        case ((Event.TURN_FAILED | Event.RUN_CANCELED | Event.RESTART_RECONCILE_FAILED), Failed(code, message)):
            return [changed, ConversationFailed(error=ErrorInfo(code=code, message=message))]
    raise TypeError(f"{transition.id} ({transition.event}) cannot be published with {cause!r}")

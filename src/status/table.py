"""What people are shown, the facts that move it, and where each fact leads: the only code that knows."""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    ACCEPTED = "accepted"
    AWAITING_OUTPUT = "awaiting_output"
    ACTIVE_OUTPUT = "active_output"
    STALLED = "stalled"
    COMPLETED = "completed"
    ERROR = "error"
    CLOSED = "closed"


class Fact(StrEnum):
    INPUT_ACCEPTED = "input_accepted"
    TURN_STARTED = "turn_started"
    OUTPUT_WRITTEN = "output_written"
    QUESTION_ASKED = "question_asked"
    QUESTION_DECIDED = "question_decided"
    RUN_SUCCEEDED = "run_succeeded"
    RUN_FAILED = "run_failed"
    RUN_CANCELED = "run_canceled"
    SESSION_CLOSED = "session_closed"
    ACCEPTANCE_EXPIRED = "acceptance_expired"
    SILENCE_ELAPSED = "silence_elapsed"


class Reason(StrEnum):
    """Why a status is what it is: the fact that led to it, or that there was none yet."""

    INPUT_ACCEPTED = "input_accepted"
    TURN_STARTED = "turn_started"
    OUTPUT_WRITTEN = "output_written"
    QUESTION_ASKED = "question_asked"
    QUESTION_DECIDED = "question_decided"
    RUN_SUCCEEDED = "run_succeeded"
    RUN_FAILED = "run_failed"
    RUN_CANCELED = "run_canceled"
    SESSION_CLOSED = "session_closed"
    ACCEPTANCE_EXPIRED = "acceptance_expired"
    SILENCE_ELAPSED = "silence_elapsed"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class Transition:
    source: Status
    fact: Fact
    target: Status

    @property
    def reason(self) -> Reason:
        return Reason(self.fact.value)


TRANSITIONS = (
    Transition(Status.ACCEPTED, Fact.TURN_STARTED, Status.AWAITING_OUTPUT),
    Transition(Status.ACCEPTED, Fact.ACCEPTANCE_EXPIRED, Status.AWAITING_OUTPUT),
    Transition(Status.ACCEPTED, Fact.OUTPUT_WRITTEN, Status.ACTIVE_OUTPUT),
    Transition(Status.ACCEPTED, Fact.QUESTION_ASKED, Status.COMPLETED),
    Transition(Status.ACCEPTED, Fact.RUN_SUCCEEDED, Status.COMPLETED),
    Transition(Status.ACCEPTED, Fact.RUN_FAILED, Status.ERROR),
    Transition(Status.ACCEPTED, Fact.RUN_CANCELED, Status.CLOSED),
    Transition(Status.ACCEPTED, Fact.SESSION_CLOSED, Status.CLOSED),
    Transition(Status.AWAITING_OUTPUT, Fact.OUTPUT_WRITTEN, Status.ACTIVE_OUTPUT),
    Transition(Status.AWAITING_OUTPUT, Fact.SILENCE_ELAPSED, Status.STALLED),
    Transition(Status.AWAITING_OUTPUT, Fact.QUESTION_ASKED, Status.COMPLETED),
    Transition(Status.AWAITING_OUTPUT, Fact.RUN_SUCCEEDED, Status.COMPLETED),
    Transition(Status.AWAITING_OUTPUT, Fact.RUN_FAILED, Status.ERROR),
    Transition(Status.AWAITING_OUTPUT, Fact.RUN_CANCELED, Status.CLOSED),
    Transition(Status.AWAITING_OUTPUT, Fact.SESSION_CLOSED, Status.CLOSED),
    Transition(Status.ACTIVE_OUTPUT, Fact.OUTPUT_WRITTEN, Status.ACTIVE_OUTPUT),
    Transition(Status.ACTIVE_OUTPUT, Fact.TURN_STARTED, Status.AWAITING_OUTPUT),
    Transition(Status.ACTIVE_OUTPUT, Fact.SILENCE_ELAPSED, Status.STALLED),
    Transition(Status.ACTIVE_OUTPUT, Fact.QUESTION_ASKED, Status.COMPLETED),
    Transition(Status.ACTIVE_OUTPUT, Fact.RUN_SUCCEEDED, Status.COMPLETED),
    Transition(Status.ACTIVE_OUTPUT, Fact.RUN_FAILED, Status.ERROR),
    Transition(Status.ACTIVE_OUTPUT, Fact.RUN_CANCELED, Status.CLOSED),
    Transition(Status.ACTIVE_OUTPUT, Fact.SESSION_CLOSED, Status.CLOSED),
    Transition(Status.STALLED, Fact.OUTPUT_WRITTEN, Status.ACTIVE_OUTPUT),
    Transition(Status.STALLED, Fact.TURN_STARTED, Status.AWAITING_OUTPUT),
    Transition(Status.STALLED, Fact.QUESTION_ASKED, Status.COMPLETED),
    Transition(Status.STALLED, Fact.RUN_SUCCEEDED, Status.COMPLETED),
    Transition(Status.STALLED, Fact.RUN_FAILED, Status.ERROR),
    Transition(Status.STALLED, Fact.RUN_CANCELED, Status.CLOSED),
    Transition(Status.STALLED, Fact.SESSION_CLOSED, Status.CLOSED),
    Transition(Status.COMPLETED, Fact.INPUT_ACCEPTED, Status.ACCEPTED),
    Transition(Status.COMPLETED, Fact.QUESTION_DECIDED, Status.AWAITING_OUTPUT),
    Transition(Status.COMPLETED, Fact.RUN_FAILED, Status.ERROR),
    Transition(Status.COMPLETED, Fact.RUN_CANCELED, Status.CLOSED),
    Transition(Status.COMPLETED, Fact.SESSION_CLOSED, Status.CLOSED),
    Transition(Status.ERROR, Fact.INPUT_ACCEPTED, Status.ACCEPTED),
    Transition(Status.ERROR, Fact.SESSION_CLOSED, Status.CLOSED),
    Transition(Status.CLOSED, Fact.SESSION_CLOSED, Status.CLOSED),
)

_BY_SOURCE_AND_FACT = {(each.source, each.fact): each for each in TRANSITIONS}


def step(status: Status, fact: Fact) -> Transition | None:
    """Where `fact` leads from `status`; None where it changes nothing."""
    return _BY_SOURCE_AND_FACT.get((status, fact))

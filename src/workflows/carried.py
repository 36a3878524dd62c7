"""What a run's workflow begins with: its input, and what continue-as-new has taken along."""

from datetime import datetime
from typing import Self

from pydantic import BaseModel, JsonValue, ValidationError, model_validator

from turnwise.errors import first_fault
from turnwise.fcmp.questions import OpenQuestion
from turnwise.runs import RunInput
from turnwise.statechart import State
from turnwise.workflows.replies import Receipt


class Carried(BaseModel):
    state: State = State.QUEUED
    attempt: int = 0
    question: OpenQuestion | None = None
    deadline_reported: bool = False
    last_receipt: Receipt | None = None
    refused_signals: int = 0
    redrives: int = 0
    last_restart: str | None = None

    @model_validator(mode="after")
    def _can_be_gone_on_with(self) -> Self:
        if self.state is State.WAITING_USER and self.question is None:
            raise ValueError("what waits has a question")
        if self.question is not None:
            datetime.fromisoformat(self.question.deadline)
        return self


def read(request: JsonValue, carried: JsonValue) -> tuple[RunInput, Carried, str | None]:
    """With what is wrong, in one line, when the input cannot be read."""
    try:
        return RunInput.model_validate(request), Carried.model_validate(carried or {}), None
    except ValidationError as error:
        return RunInput(), Carried(), first_fault(error)

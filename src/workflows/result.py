"""What a run that succeeded returns, to whoever looks at it through plain Temporal."""

from pydantic import BaseModel

from turnwise.statechart import State


class RunResult(BaseModel):
    run_id: str
    state: State
    attempts: int
    message_id: str | None
    output: str | None
    """The answer's text; null when it is too long for history and must be read from the log."""

"""The language of the scripted engine: turns of steps, each step an object with one key."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from turnwise.errors import EngineOptionsInvalid, first_fault
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.questions import Question

MAX_SLEEP_SEC = 24 * 3600.0


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ToolStep(_Strict):
    name: str = Field(min_length=1)
    arguments: JsonObject = {}
    result: JsonValue = None


class Step(_Strict):
    say: str | None = None
    """Streamed, then published as a message."""
    ask: Question | None = None
    """Ends the turn."""
    tool: ToolStep | None = None
    sleep: Annotated[float, Field(ge=0, le=MAX_SLEEP_SEC)] | None = None
    fail: str | None = None
    final: str | None = None
    """The answer: published like `say`, then the run is complete."""

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        if len(self.model_fields_set) != 1 or getattr(self, next(iter(self.model_fields_set))) is None:
            raise ValueError("a step is one of say, ask, tool, sleep, fail, final")
        return self


class Script(_Strict):
    turns: Annotated[list[Annotated[list[Step], Field(max_length=1000)]], Field(min_length=1, max_length=10_000)]


def parse_script(options: JsonObject) -> Script:
    try:
        return Script.model_validate(options)
    except ValidationError as error:
        raise EngineOptionsInvalid(f"engine_options.{first_fault(error)}") from error

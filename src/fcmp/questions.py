"""A question that a turn asks the user, and what counts as an answer to it."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, JsonValue, StringConstraints, model_validator

from turnwise.errors import ResponseInvalid
from turnwise.fcmp.jsonvalue import Json, JsonObject, json_bytes, json_text, portable, same_json
from turnwise.fcmp.schemas import check_schema, fault

QUESTION_MAX_BYTES = 32 * 1024
"""A question travels through Temporal history, which must stay small."""

Name = Annotated[str, StringConstraints(min_length=1)]


class Kind(StrEnum):
    CHOOSE_ONE = "choose_one"
    CONFIRM = "confirm"
    FILL_FIELDS = "fill_fields"
    OPEN_TEXT = "open_text"
    RISK_ACK = "risk_ack"


class Policy(StrEnum):
    """Who decides when the deadline passes and nobody has replied."""

    ENGINE_JUDGEMENT = "engine_judgement"
    USE_DEFAULT = "use_default"


class Option(BaseModel):
    model_config = ConfigDict(extra="forbid")

    label: Name
    value: str | bool | int | FiniteFloat


class Question(BaseModel):
    model_config = ConfigDict(extra="forbid")

    kind: Kind
    prompt: Name
    options: list[Option] = []
    required_fields: list[Name] = []
    ui_hints: JsonObject = {}
    default_decision_policy: Policy = Policy.ENGINE_JUDGEMENT
    context: JsonObject | None = None
    response_schema: JsonObject | bool | None = None
    default: Json = None

    @model_validator(mode="after")
    def _can_be_answered(self) -> Self:
        if self.kind is Kind.CHOOSE_ONE and not self.options:
            raise ValueError("choose_one needs at least one option")
        if self.kind is Kind.FILL_FIELDS and not self.required_fields and self.response_schema is None:
            raise ValueError("fill_fields needs required_fields or a response_schema")
        if len(set(self.required_fields)) < len(self.required_fields):
            raise ValueError("required_fields names a field twice")
        if self.response_schema is not None:
            try:
                check_schema(self.response_schema)
            except ValueError as error:
                raise ValueError(f"response_schema is not a usable JSON Schema: {error}") from error
        if self.default_decision_policy is Policy.USE_DEFAULT and self.default is None:
            raise ValueError("use_default needs a default")
        if self.default is not None:
            try:
                check_response(self, self.default)
            except ResponseInvalid as error:
                raise ValueError(f"the default does not fit the question: {error}") from error
        if len(json_bytes(portable(self.model_dump(mode="json")))) > QUESTION_MAX_BYTES:
            raise ValueError(f"a question is limited to {QUESTION_MAX_BYTES} bytes")
        return self


class OpenQuestion(Question):
    """A question as it is published: numbered within its run, with the instant at which waiting ends."""

    interaction_id: int = Field(ge=1)
    deadline: str


def check_response(question: Question, response: JsonValue) -> None:
    """Raises ResponseInvalid, saying why, unless `response` answers `question`."""
    try:
        portable(response)
    except ValueError as error:
        raise ResponseInvalid(str(error)) from error
    match question.kind:
        case Kind.CHOOSE_ONE:
            _check_choice(question, response)
        case Kind.CONFIRM | Kind.RISK_ACK if question.options:
            _check_choice(question, response)
        case Kind.CONFIRM | Kind.RISK_ACK:
            if not isinstance(response, bool):
                raise ResponseInvalid(f"a {question.kind} is answered with true or false")
        case Kind.FILL_FIELDS:
            _check_fields(question, response)
        case Kind.OPEN_TEXT:
            # With a schema of its own an open question may ask for more than text.
            if question.response_schema is None and not (isinstance(response, str) and response.strip()):
                raise ResponseInvalid("an open_text is answered with a text that is not empty")
    if question.response_schema is not None:
        _check_schema(question.response_schema, response)


def _check_choice(question: Question, response: JsonValue) -> None:
    if not any(same_json(response, option.value) for option in question.options):
        allowed = ", ".join(json_text(option.value) for option in question.options[:20])
        raise ResponseInvalid(f"the response must be one of the options' values: {allowed}")


def _check_fields(question: Question, response: JsonValue) -> None:
    if not isinstance(response, dict):
        raise ResponseInvalid("a fill_fields is answered with an object of fields")
    missing = [name for name in question.required_fields if response.get(name) in (None, "")]
    if missing:
        raise ResponseInvalid(f"these fields are required: {', '.join(missing)}", missing=missing)


def _check_schema(schema: JsonObject | bool, response: JsonValue) -> None:
    found = fault(schema, response)
    if found is not None:
        where, why = found
        raise ResponseInvalid(f"the response does not fit response_schema at '/{where}': {why[:500]}")

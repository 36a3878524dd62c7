"""A reply to a run's question, as it arrives by Update or Signal: read, and checked against the open question."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from turnwise.activities.refusals import refusal
from turnwise.errors import (
    AlreadyAnswered,
    InteractionStale,
    NotWaiting,
    ReplyMalformed,
    ResponseInvalid,
    TurnwiseError,
    first_fault,
)
from turnwise.fcmp.events import ReplyAccepted
from turnwise.fcmp.jsonvalue import Json, json_bytes
from turnwise.fcmp.questions import OpenQuestion, check_response
from turnwise.runs import MAX_NUMBER, Identifier

RESPONSE_MAX_BYTES = 64 * 1024
"""A response travels through Temporal history, which must stay small."""


class Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")

    interaction_id: int = Field(ge=1, le=MAX_NUMBER)
    response: Json
    reply_id: Identifier


class Receipt(BaseModel):
    """What the sender of an accepted reply gets."""

    run_id: str
    interaction_id: int
    reply_id: str
    accepted_at: str

    @classmethod
    def of(cls, run_id: str, accepted: ReplyAccepted) -> Self:
        return cls(
            run_id=run_id,
            interaction_id=accepted.interaction_id,
            reply_id=accepted.reply_id,
            accepted_at=accepted.accepted_at,
        )


def parse_reply(request: JsonValue) -> Reply:
    try:
        return Reply.model_validate(request)
    except ValidationError as error:
        raise refusal(ReplyMalformed(f"The reply cannot be read: {first_fault(error)}")) from error


def check_reply(reply: Reply, question: OpenQuestion | None, last: Receipt | None) -> None:
    """Raises the refusal that the sender will see, unless the reply answers the open question."""
    try:
        _check(reply, question, last)
    except TurnwiseError as error:
        raise refusal(error) from error


def _check(reply: Reply, question: OpenQuestion | None, last: Receipt | None) -> None:
    if question is None or question.interaction_id != reply.interaction_id:
        if last is not None and last.interaction_id == reply.interaction_id:
            raise AlreadyAnswered(f"Question {reply.interaction_id} is already answered.", receipt=last.model_dump())
        if question is None:
            raise NotWaiting("The run has no open question.")
        raise InteractionStale(
            f"Question {reply.interaction_id} is not open; the open one is {question.interaction_id}.",
            open_interaction_id=question.interaction_id,
        )
    if len(json_bytes(reply.response)) > RESPONSE_MAX_BYTES:
        raise ResponseInvalid(f"A response is limited to {RESPONSE_MAX_BYTES} bytes.")
    check_response(question, reply.response)

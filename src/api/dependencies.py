"""What routes take from a request: the services, a run or session by its id, where a stream is resumed."""

from typing import Annotated, TypeAlias

from fastapi import Depends, Header, Path, Query, Request

from turnwise.api.services import Services
from turnwise.client import AgentSession, Run
from turnwise.errors import CursorInvalid, RunNotFound, SessionNotFound
from turnwise.runs import Identifier

MAX_SEQ = 2**31 - 1
MAX_ID_LENGTH = 1000

Seq: TypeAlias = Annotated[int, Query(ge=0, le=MAX_SEQ)]
LastEventId = Annotated[str | None, Header(description="Where the connection broke; wins over `cursor`.")]
IdempotencyKey = Annotated[Identifier | None, Header(description="Sent again, it returns what it made the first time.")]


def services(request: Request) -> Services:
    found = request.app.state.services
    assert isinstance(found, Services)
    return found


With = Annotated[Services, Depends(services)]


def known_run(
    run_id: Annotated[str, Path(description="The run's id, which is also its Temporal workflow id.")], with_: With
) -> Run:
    if not _is_id(run_id):
        raise RunNotFound("There is no such run.")
    return with_.turnwise.run(run_id)


def known_session(
    session_id: Annotated[str, Path(description="The session's id, which is also its Temporal workflow id.")],
    with_: With,
) -> AgentSession:
    if not _is_id(session_id):
        raise SessionNotFound("There is no such session.")
    return with_.turnwise.session(session_id)


OneRun = Annotated[Run, Depends(known_run)]
OneSession = Annotated[AgentSession, Depends(known_session)]


def resumed_at(cursor: int, last_event_id: str | None) -> int:
    if not last_event_id:
        return cursor
    if not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) < 10):
        raise CursorInvalid("Last-Event-ID must be the id of an event of this stream.")
    return int(last_event_id)


def _is_id(text: str) -> bool:
    return len(text) <= MAX_ID_LENGTH and text.isprintable()

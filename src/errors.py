"""Every error that Turnwise reports by name. The code is the contract; the message is for people."""

from typing import ClassVar

from pydantic import ValidationError

# Codes that a failed run carries in its `conversation.failed`.
RUN_CANCELED = "RUN_CANCELED"
TURN_FAILED = "TURN_FAILED"
ENGINE_PROTOCOL_VIOLATION = "ENGINE_PROTOCOL_VIOLATION"
INTERACTIVE_MAX_ATTEMPT_EXCEEDED = "INTERACTIVE_MAX_ATTEMPT_EXCEEDED"
ORCHESTRATOR_RESTART_INTERRUPTED = "ORCHESTRATOR_RESTART_INTERRUPTED"
SESSION_RESUME_FAILED = "SESSION_RESUME_FAILED"
SESSION_CLOSED = "SESSION_CLOSED"

# Codes of `diagnostic.warning`.
SESSION_TIMEOUT_ELAPSED = "SESSION_TIMEOUT_ELAPSED"
TURN_REDRIVEN = "TURN_REDRIVEN"
REPLY_SIGNAL_REFUSED = "REPLY_SIGNAL_REFUSED"


class TurnwiseError(Exception):
    code: ClassVar[str] = "INTERNAL_ERROR"

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class RunNotFound(TurnwiseError):
    code = "RUN_NOT_FOUND"


class RunIdTaken(TurnwiseError):
    """A Temporal workflow id was used again: its log already belongs to an earlier run."""

    code = "RUN_ID_TAKEN"


class IdempotencyKeyReused(TurnwiseError):
    code = "IDEMPOTENCY_KEY_REUSED"


class RunInputInvalid(TurnwiseError):
    code = "RUN_INPUT_INVALID"


class EngineUnknown(TurnwiseError):
    code = "ENGINE_UNKNOWN"


class EngineOptionsInvalid(TurnwiseError):
    code = "ENGINE_OPTIONS_INVALID"


class ToolUnknown(TurnwiseError):
    code = "TOOL_UNKNOWN"


class ToolUnusable(TurnwiseError):
    """A server describes one of its tools in a way that nobody could use."""

    code = "TOOL_UNUSABLE"


class ToolNameTaken(TurnwiseError):
    code = "TOOL_NAME_TAKEN"


class ToolLimitReached(TurnwiseError):
    code = "TOOL_LIMIT_REACHED"


class ToolServerUnavailable(TurnwiseError):
    """A server of tools does not start, does not answer, or has gone."""

    code = "TOOL_SERVER_UNAVAILABLE"


class NotWaiting(TurnwiseError):
    """There is no open question: the run is working, or it has ended."""

    code = "RUN_NOT_WAITING"


class RunEnded(TurnwiseError):
    code = "RUN_ENDED"


class InteractionStale(TurnwiseError):
    """The reply names a question that is not the open one."""

    code = "INTERACTION_STALE"


class AlreadyAnswered(TurnwiseError):
    """Somebody else's reply was accepted first; `receipt` in the details is the winner's."""

    code = "INTERACTION_ALREADY_ANSWERED"


class ResponseInvalid(TurnwiseError):
    code = "RESPONSE_INVALID"


class ReplyMalformed(TurnwiseError):
    code = "REPLY_MALFORMED"


class CursorInvalid(TurnwiseError):
    code = "CURSOR_INVALID"


class SessionNotFound(TurnwiseError):
    code = "SESSION_NOT_FOUND"


class SessionIdTaken(TurnwiseError):
    """A Temporal workflow id was used again: its transcript already belongs to an earlier session."""

    code = "SESSION_ID_TAKEN"


class SessionClosed(TurnwiseError):
    code = SESSION_CLOSED


class SessionBusy(TurnwiseError):
    """This can only be done while no prompt is being executed."""

    code = "SESSION_BUSY"


class PromptAlreadyRunning(TurnwiseError):
    """The session works on another prompt, and the new one asked not to be queued."""

    code = "PROMPT_ALREADY_RUNNING"


class PromptCanceled(TurnwiseError):
    """The prompt was canceled, or removed from the queue before it started."""

    code = "PROMPT_CANCELED"


class PromptFailed(TurnwiseError):
    """The prompt's run failed; `error` in the details says why."""

    code = "PROMPT_FAILED"


class PromptMalformed(TurnwiseError):
    code = "PROMPT_MALFORMED"


class QueueFull(TurnwiseError):
    code = "SESSION_QUEUE_FULL"


class InvalidForkEntryIndex(TurnwiseError):
    """Only at a user's prompt can a session be forked."""

    code = "INVALID_FORK_ENTRY_INDEX"

    def __init__(self, index: int, message: str | None = None, **details: object) -> None:
        super().__init__(message or f"There is no prompt of the user at entry {index}.", **{"index": index, **details})
        self.index = index


class EntriesInvalid(TurnwiseError):
    code = "ENTRIES_INVALID"


class ToolNotFound(TurnwiseError):
    code = "TOOL_NOT_FOUND"


class ProtocolSchemaViolation(TurnwiseError):
    code = "PROTOCOL_SCHEMA_VIOLATION"


class TurnFenced(TurnwiseError):
    """A turn that is already closed tried to write."""

    code = "TURN_FENCED"


class TurnInterrupted(TurnwiseError):
    """The turn was waiting to start when the orchestrator went down."""

    code = ORCHESTRATOR_RESTART_INTERRUPTED


class TurnOwned(TurnwiseError):
    """Another worker has opened this turn; `owner` in the details is its id."""

    code = "TURN_OWNED"


class Unavailable(TurnwiseError):
    """Temporal, its workers or the database cannot answer now; the same request may be sent again."""

    code = "UNAVAILABLE"


class SetupError(TurnwiseError):
    """Something on this machine is missing or taken; the message is one sentence for the person who started us."""

    code = "SETUP_ERROR"


def first_fault(error: ValidationError) -> str:
    """The first thing that is wrong with an input, in one line."""
    fault = error.errors(include_url=False, include_context=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    return " ".join((f"{where}: {fault['msg']}" if where else str(fault["msg"])).split())

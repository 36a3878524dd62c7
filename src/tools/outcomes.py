"""What a call comes to: a result that every reader can read, or an error that says what went wrong."""

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from turnwise.descriptors import ToolOutcome
from turnwise.errors import first_fault
from turnwise.fcmp.events import ToolStatus
from turnwise.fcmp.graphemes import clipped
from turnwise.fcmp.jsonvalue import portable

RESULT_MAX_BYTES = 256 * 1024
ERROR_MAX_LENGTH = 2000


class CallFailed(Exception):
    """The call has no result; the message is for whoever called."""


def completed(value: object) -> ToolOutcome:
    try:
        encoded = to_json(value, inf_nan_mode="null")
        if len(encoded) > RESULT_MAX_BYTES:
            return failed(f"The result has {len(encoded)} bytes; at most {RESULT_MAX_BYTES} are allowed.")
        return ToolOutcome(status=ToolStatus.COMPLETED, result=portable(from_json(encoded)))
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        return failed(f"The result cannot be written as JSON: {error}")


def failed(message: str) -> ToolOutcome:
    readable = message.encode(errors="replace").decode().replace("\0", "\ufffd")
    return ToolOutcome(status=ToolStatus.FAILED, result={"error": clipped(readable, ERROR_MAX_LENGTH)})


def failure_of(error: BaseException) -> CallFailed:
    """What a function raised, for whoever called it."""
    if isinstance(error, CallFailed):
        return error
    return CallFailed(first_fault(error) if isinstance(error, ValidationError) else told(error))


def told(error: BaseException) -> str:
    """An exception in words, whatever its own code does when it is asked for them."""
    try:
        message = str(error)
    except Exception:
        message = ""
    return f"{type(error).__name__}: {message}" if message else type(error).__name__

"""JSON values, instants, and equality as JSON means it."""

import json
from datetime import UTC, datetime
from typing import Annotated, TypeVar

import orjson
from pydantic import AfterValidator, JsonValue

from turnwise.errors import ProtocolSchemaViolation

MAX_NESTING = 100
"""JSON readers give up at some depth (pydantic's at 200); what is written must come back out."""

T = TypeVar("T")


def json_text(value: object) -> str:
    """As it is stored and sent. Refuses what not every reader could read: half a character, an integer past 64 bits."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError as error:
        raise ProtocolSchemaViolation(f"This cannot be written as JSON: {error}") from error


def json_bytes(value: object) -> bytes:
    """Canonical enough to compare and to digest: keys sorted, no white space. Refuses nothing."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def portable(value: T) -> T:
    """Raises ValueError, saying why, for a JSON value that the log could not carry to every reader."""
    try:
        text = json_text(value)
    except ProtocolSchemaViolation as error:
        raise ValueError(error.message) from error
    if text.count("[") + text.count("{") > MAX_NESTING and not _nests_within(value, MAX_NESTING):
        raise ValueError(f"This is nested deeper than {MAX_NESTING} levels.")
    return value


Json = Annotated[JsonValue, AfterValidator(portable)]
Text = Annotated[str, AfterValidator(portable)]
JsonObject = Annotated[dict[str, JsonValue], AfterValidator(portable)]


def iso(instant: datetime) -> str:
    """UTC with microseconds and a `Z`: the one spelling of time on the wire."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def same_json(left: JsonValue, right: JsonValue) -> bool:
    """Equality in which `1.0` is `1` and `true` is not: as in JSON, and not as in Python."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same_json(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_json, left, right))
    return isinstance(left, bool) is isinstance(right, bool) and left == right


def _nests_within(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return True
    inner = value.values() if isinstance(value, dict) else value
    return levels > 0 and all(_nests_within(each, levels - 1) for each in inner)

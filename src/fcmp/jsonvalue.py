"""JSON values, instants, and equality as JSON means it."""

from datetime import UTC, datetime

import orjson
from pydantic import JsonValue

JsonObject = dict[str, JsonValue]


def iso(instant: datetime) -> str:
    """UTC with microseconds and a `Z`: the one spelling of time on the wire."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def json_text(value: object) -> str:
    return orjson.dumps(value).decode()


def json_bytes(value: object) -> bytes:
    """Canonical enough to compare and to digest: keys sorted, no white space."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def same_json(left: JsonValue, right: JsonValue) -> bool:
    """Equality in which `true` is not `1`, as it is in JSON and is not in Python."""
    return json_bytes(left) == json_bytes(right)

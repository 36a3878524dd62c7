"""How values cross Temporal: as JSON, read into pydantic models."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pydantic import JsonValue, TypeAdapter, ValidationError
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
)

_TAKES_ANYTHING: tuple[object, ...] = (None, Any, JsonValue)
UNREADABLE = "This is not JSON that can be read:"

_adapter = lru_cache(maxsize=256)(TypeAdapter)


class _JsonConverter(PydanticJSONPlainPayloadConverter):
    """The SDK's converter caches its type adapters per instance, and every workflow has an instance of its own."""

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        try:
            return _adapter(type_hint or Any).validate_json(payload.data)
        except ValidationError as error:
            if type_hint not in _TAKES_ANYTHING:
                raise
            # Whoever takes any JSON reads it himself, and will refuse this text: a workflow must not stumble over it.
            return f"{UNREADABLE} {error.errors(include_url=False)[0]['msg']}"


_JSON = _JsonConverter()
_ENCODINGS = tuple(
    _JSON if isinstance(each, JSONPlainPayloadConverter) else each
    for each in DefaultPayloadConverter.default_encoding_payload_converters
)


_KNOWN = frozenset(each.encoding.encode() for each in _ENCODINGS)


class _PayloadConverter(CompositePayloadConverter):
    """Made anew for every workflow task, so it must cost nothing to make."""

    def __init__(self) -> None:
        super().__init__(*_ENCODINGS)

    def from_payloads(self, payloads: Sequence[Payload], type_hints: list[type] | None = None) -> list[Any]:
        return super().from_payloads([_known(payload) for payload in payloads], type_hints)


def _known(payload: Payload) -> Payload:
    """As with JSON that cannot be read: an encoding that nobody knows is told as text."""
    encoding = payload.metadata.get("encoding", b"")
    if encoding in _KNOWN:
        return payload
    text = json.dumps(f"{UNREADABLE} its encoding is {encoding.decode(errors='replace')!r}.")
    return Payload(metadata={"encoding": b"json/plain"}, data=text.encode())


data_converter = DataConverter(payload_converter_class=_PayloadConverter)

"""How values cross Temporal: as JSON, read into pydantic models."""

from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
)

_adapter = lru_cache(maxsize=256)(TypeAdapter)


class _JsonConverter(PydanticJSONPlainPayloadConverter):
    """The SDK's converter caches its type adapters per instance, and every workflow has an instance of its own."""

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        return _adapter(type_hint or Any).validate_json(payload.data)


_JSON = _JsonConverter()
_ENCODINGS = tuple(
    _JSON if isinstance(each, JSONPlainPayloadConverter) else each
    for each in DefaultPayloadConverter.default_encoding_payload_converters
)


class _PayloadConverter(CompositePayloadConverter):
    """Made anew for every workflow task, so it must cost nothing to make."""

    def __init__(self) -> None:
        super().__init__(*_ENCODINGS)


data_converter = DataConverter(payload_converter_class=_PayloadConverter)

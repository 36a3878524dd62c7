"""JSON Schemas from outside: compiled once, and bounded so that no answer can be expensive to check."""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple, NoReturn

import jsonschema_rs
import orjson
from pydantic import JsonValue

from turnwise.fcmp.jsonvalue import json_bytes

MAX_UNFOLDED = 2000
"""How many schemas a schema may come to with every `$ref` written out."""

_BY_NAME = ("properties", "patternProperties", "dependentSchemas")
_NO_SCHEMAS = ("$defs", "definitions", "const", "enum", "default", "examples")


def check_schema(schema: JsonValue) -> None:
    """Raises ValueError, saying why, for what is no schema, or one that is too expensive to check answers with."""
    parts = _Unfolding(schema).parts
    if parts.schemas > MAX_UNFOLDED:
        raise ValueError(f"with its references written out it has more than {MAX_UNFOLDED} parts")
    if parts.recursions > 1:
        raise ValueError("it refers to itself more than once")
    _compiled(json_bytes(schema))


def fault(schema: JsonValue, value: JsonValue) -> tuple[str, str] | None:
    """Where `value` does not fit `schema`, and why; the first thing that is found."""
    return fault_of(_compiled(json_bytes(schema)), value)


def fault_of(validator: jsonschema_rs.Validator, value: JsonValue) -> tuple[str, str] | None:
    if validator.is_valid(value):  # to collect what is wrong costs a thousand times as much as to find out that it is
        return None
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return "/".join(str(part) for part in error.instance_path), error.message
    raise AssertionError("what is not valid has an error")


class _Parts(NamedTuple):
    schemas: int = 0
    recursions: int = 0

    @classmethod
    def together(cls, parts: Iterable["_Parts"]) -> "_Parts":
        found = list(parts)
        return cls(sum(each.schemas for each in found), sum(each.recursions for each in found))


class _Unfolding:
    """Counts what a schema comes to. What comes back to itself twice may do so at each level of an answer."""

    def __init__(self, root: JsonValue) -> None:
        self._root = root
        self._behind: dict[str, _Parts] = {}
        self._open = {"#"}
        self.parts = self._of(root)

    def _of(self, schema: JsonValue) -> _Parts:
        if isinstance(schema, list):
            return _Parts.together(map(self._of, schema))
        if not isinstance(schema, dict):
            return _Parts()
        return _Parts.together([_Parts(schemas=1), *(self._of_keyword(*each) for each in schema.items())])

    def _of_keyword(self, name: str, value: JsonValue) -> _Parts:
        if name in ("$dynamicRef", "$recursiveRef"):
            raise ValueError(f"{name} cannot be used here")
        if name == "$ref" and isinstance(value, str):
            return self._of_reference(value)
        if name in _NO_SCHEMAS:
            return _Parts()
        if name in _BY_NAME and isinstance(value, dict):
            return _Parts.together(map(self._of, value.values()))
        return self._of(value)

    def _of_reference(self, ref: str) -> _Parts:
        if ref in self._open:
            return _Parts(recursions=1)
        if ref not in self._behind:
            self._open.add(ref)
            self._behind[ref] = self._of(self._target(ref))
            self._open.discard(ref)
        return self._behind[ref]

    def _target(self, ref: str) -> JsonValue:
        if ref != "#" and not ref.startswith("#/"):
            raise ValueError(f"a schema may not refer outside itself ({ref})")
        found = self._root
        for part in ref.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and name in found:
                found = found[name]
            elif isinstance(found, list) and name.isascii() and name.isdigit() and int(name) < len(found):
                found = found[int(name)]
            else:
                raise ValueError(f"there is nothing at {ref}")
        return found


def refuse_remote(uri: str) -> NoReturn:
    raise ValueError(f"a schema may not refer outside itself ({uri})")


@lru_cache(maxsize=256)
def _compiled(schema: bytes) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        orjson.loads(schema),
        retriever=refuse_remote,
        # The linear-time engine: a pattern from outside must not be able to hang a worker.
        pattern_options=jsonschema_rs.RegexOptions(size_limit=1_000_000, dfa_size_limit=1_000_000),
    )

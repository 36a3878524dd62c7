"""A call whose arguments do not fit the tool's schema never reaches the tool."""

import re

import pytest

from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.tools.arguments import check_arguments
from turnwise.tools.outcomes import CallFailed

POINT: JsonObject = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["x"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("arguments", [{"x": 1}, {"x": 1.0}, {"x": 1, "tags": []}, {"x": -1, "tags": ["a"]}])
def test_what_fits_passes(arguments: JsonObject) -> None:
    check_arguments(POINT, arguments)


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({}, "'/'"),
        ({"x": "1"}, "'/x'"),
        ({"x": True}, "'/x'"),
        ({"x": 1, "y": 2}, "'/'"),
        ({"x": 1, "tags": ["a", 2]}, "'/tags/1'"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(arguments: JsonObject, where: str) -> None:
    with pytest.raises(CallFailed, match=re.escape(f"do not fit the tool's schema at {where}")):
        check_arguments(POINT, arguments)


def test_a_long_argument_is_not_repeated_in_full() -> None:
    with pytest.raises(CallFailed) as refused:
        check_arguments(POINT, {"x": "x" * 100_000})
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"$ref": "#/$defs/missing"},
        {"$ref": "https://example.invalid/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"properties": {"x": {"pattern": "("}}},
        {"$schema": "https://example.invalid/draft"},
    ],
)
def test_a_schema_that_cannot_be_used_is_the_tools_fault_and_nothing_is_fetched(schema: JsonObject) -> None:
    with pytest.raises(CallFailed, match="The tool's own schema is not usable"):
        check_arguments(schema, {"x": "y"})


def test_a_pattern_that_backtracks_for_ever_is_given_up() -> None:
    with pytest.raises(CallFailed):
        check_arguments({"properties": {"x": {"pattern": r"^(a|a)*(?=$)b$"}}}, {"x": "a" * 5000})


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"properties": {"x": {"$ref": "#"}}}])
def test_a_schema_that_refers_to_itself_comes_to_an_end(schema: JsonObject) -> None:
    check_arguments(schema, {"x": {"x": {}}})

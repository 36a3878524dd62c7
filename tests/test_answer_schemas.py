"""What a question may demand of its answer: no schema may make an answer expensive to check."""

import pytest
from pydantic import JsonValue

from turnwise.errors import ResponseInvalid
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.questions import Question, check_response

DOUBLING: JsonObject = {
    "$ref": "#/$defs/d0",
    "$defs": {
        **{f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(24)},
        "d24": {"type": "integer"},
    },
}


def asking(schema: JsonObject) -> Question:
    return Question.model_validate({"kind": "open_text", "prompt": "What?", "response_schema": schema})


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (DOUBLING, "parts"),
        ({"properties": {"enum": {**DOUBLING}}, "$defs": DOUBLING["$defs"]}, "parts"),
        ({"anyOf": [{"type": "string"}] * 2001}, "parts"),
        ({"anyOf": [{"properties": {"child": {"$ref": "#"}}}] * 2}, "refers to itself more than once"),
        ({"$dynamicRef": "#a"}, "dynamicRef"),
        ({"$ref": "#/$defs/nowhere"}, "nothing at"),
        ({"$ref": "https://example.org/schema"}, "outside itself"),
        ({"type": "nonsense"}, "JSON Schema"),
    ],
)
def test_a_schema_that_could_be_expensive_is_no_question(schema: JsonObject, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        asking(schema)


@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        ({"items": {"anyOf": [{"type": "string"}] * 1500}}, [1] * 1000),
        ({"$ref": "#/$defs/zip", "$defs": {"zip": {"type": "string", "pattern": "^[0-9]{5}$"}}}, "abc"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_for_the_first_thing_that_is_wrong(
    schema: JsonObject, answer: JsonValue
) -> None:
    with pytest.raises(ResponseInvalid, match="does not fit response_schema"):
        check_response(asking(schema), answer)


def test_an_answer_that_fits_is_taken() -> None:
    schema: JsonObject = {"properties": {"$ref": {"$ref": "#/$defs/word"}}, "$defs": {"word": {"type": "string"}}}
    check_response(asking(schema), {"$ref": "blue"})

"""What people type, understood as an answer to the question that was asked."""

from collections.abc import Callable

import pytest
from pydantic import JsonValue

from turnwise.errors import ResponseInvalid
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.questions import Question, check_response
from turnwise.wording.answers import Response, answering, example, response_from_argument


def confirm(**more: JsonValue) -> Question:
    return Question.model_validate({"kind": "confirm", "prompt": "Sure?", **more})


def choose(*values: JsonValue, **more: JsonValue) -> Question:
    options = [{"label": f"the {value}", "value": value} for value in values]
    return Question.model_validate({"kind": "choose_one", "prompt": "Which?", "options": options, **more})


def open_text(**more: JsonValue) -> Question:
    return Question.model_validate({"kind": "open_text", "prompt": "What?", **more})


def fill(**more: JsonValue) -> Question:
    return Question.model_validate({"kind": "fill_fields", "prompt": "Who?", **more})


@pytest.mark.parametrize(
    ("question", "typed", "response"),
    [
        (confirm(), ["Yes"], True),
        (confirm(), ["n"], False),
        (confirm(default=True), [""], True),
        (choose("tea", "coffee"), ["2"], "coffee"),
        (choose("tea", "coffee"), ["TEA"], "tea"),
        (choose("tea", "coffee"), ["the coffee"], "coffee"),
        (choose("tea", "coffee", default="tea"), [""], "tea"),
        (choose(2, 1), ["2"], 2),
        (choose(True, False), ["false"], False),
        (open_text(), ['"quoted"'], '"quoted"'),
        (open_text(), ["42"], "42"),
        (open_text(response_schema={"type": "integer"}), ["42"], 42),
        (open_text(options=[{"label": "one", "value": "1"}]), ["something else"], "something else"),
        (fill(required_fields=["name"]), ["007"], {"name": "007"}),
        (fill(required_fields=["name"], default={"name": "Ann"}), [""], {"name": "Ann"}),
        (
            fill(response_schema={"properties": {"age": {"type": "integer"}, "vip": {"type": "boolean"}, "x": {}}}),
            ["7", "yes", ""],
            {"age": 7, "vip": True},
        ),
        (fill(response_schema={"type": "object"}), ['{"a": 1}'], {"a": 1}),
    ],
)
def test_what_is_typed_becomes_a_response(question: Question, typed: list[str], response: JsonValue) -> None:
    dialog = answering(question)
    taken = [dialog.take(line) for line in typed]
    assert taken == [*[None] * (len(typed) - 1), Response(response)]
    check_response(question, response)


@pytest.mark.parametrize(
    ("question", "typed"),
    [
        (confirm(), "maybe"),
        (confirm(kind="risk_ack", default=True), ""),
        (choose("tea", "coffee"), "3"),
        (choose(10, 20), "1"),
        (open_text(), ""),
        (open_text(response_schema={"type": "integer"}), "many"),
        (fill(required_fields=["name"]), ""),
        (fill(response_schema={"type": "object"}), "[]"),
    ],
)
def test_what_answers_nothing_is_refused_before_it_is_sent(question: Question, typed: str) -> None:
    with pytest.raises(ResponseInvalid):
        answering(question).take(typed)


@pytest.mark.parametrize(
    ("question", "argument", "response"),
    [
        (open_text(), "42", "42"),
        (open_text(), '"42"', "42"),
        (confirm(), "true", True),
        (choose("1", "2"), "1", "1"),
        (choose(1, 2), "1", 1),
        (fill(required_fields=["name"]), '{"name": "Ann"}', {"name": "Ann"}),
        (confirm(), "perhaps", "perhaps"),
        (None, "[1]", [1]),
    ],
)
def test_an_argument_is_json_where_that_fits(question: Question | None, argument: str, response: JsonValue) -> None:
    assert response_from_argument(question, argument) == response


@pytest.mark.parametrize(
    "make", [confirm, lambda: choose("tea"), lambda: choose(1), open_text, lambda: fill(required_fields=["name"])]
)
def test_the_example_of_a_reply_would_be_accepted(make: Callable[[], Question]) -> None:
    question = make()
    check_response(question, response_from_argument(question, example(question)))


@pytest.mark.parametrize(
    ("more", "words"),
    [({}, "true|false"), ({"options": [{"label": "Do it", "value": "do"}, {"label": "No", "value": "no"}]}, "do|no")],
)
def test_no_risk_is_accepted_by_pasting_the_example(more: JsonObject, words: str) -> None:
    question = confirm(kind="risk_ack", **more)
    assert example(question) == words
    with pytest.raises(ResponseInvalid):
        check_response(question, response_from_argument(question, words))

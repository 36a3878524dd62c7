"""What can be asked, and what counts as an answer to it."""

import contextlib
import functools
import http.server
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue, ValidationError

from turnwise.errors import ResponseInvalid
from turnwise.fcmp.jsonvalue import MAX_NESTING, JsonObject, same_json
from turnwise.fcmp.questions import QUESTION_MAX_BYTES, Kind, Policy, Question, check_response

CHOICE: JsonObject = {
    "kind": "choose_one",
    "options": [
        {"label": "Number", "value": 1},
        {"label": "Text", "value": "1"},
        {"label": "Half", "value": 0.5},
        {"label": "Off", "value": False},
    ],
}
TOO_LARGE_INTEGER = 2**70
HALF_A_CHARACTER = "\ud83d"


def question(**fields: JsonValue) -> Question:
    return Question.model_validate({"kind": "open_text", "prompt": "Which colour?", **fields})


def nested(levels: int) -> JsonValue:
    value: JsonValue = "innermost"
    for _ in range(levels):
        value = [value]
    return value


def unaskable(**fields: JsonValue) -> str:
    """Why such a question cannot be asked."""
    with pytest.raises(ValidationError) as refusal:
        question(**fields)
    return str(refusal.value)


def accepts(asked: Question, response: JsonValue) -> bool:
    try:
        check_response(asked, response)
    except ResponseInvalid:
        return False
    return True


def reason(asked: Question, response: JsonValue) -> str:
    with pytest.raises(ResponseInvalid) as refusal:
        check_response(asked, response)
    return refusal.value.message


# Kinds


@pytest.mark.parametrize("response", [1, "1", 0.5, False])
def test_a_choice_is_answered_with_the_value_of_an_option(response: JsonValue) -> None:
    assert accepts(question(**CHOICE), response)


@pytest.mark.parametrize("response", [True, 0, 2, "Number", "", None, [1], {"value": 1}])
def test_a_choice_is_not_answered_with_anything_else(response: JsonValue) -> None:
    assert not accepts(question(**CHOICE), response)


def test_true_is_not_one_and_one_is_not_true() -> None:
    one = question(kind="choose_one", options=[{"label": "One", "value": 1}])
    yes = question(kind="choose_one", options=[{"label": "Yes", "value": True}])
    assert (accepts(one, 1), accepts(one, True)) == (True, False)
    assert (accepts(yes, True), accepts(yes, 1)) == (True, False)


def test_a_whole_number_may_come_back_with_or_without_its_point() -> None:
    assert accepts(question(kind="choose_one", options=[{"label": "Two", "value": 2.0}]), 2)
    assert accepts(question(kind="choose_one", options=[{"label": "Two", "value": 2}]), 2.0)


def test_the_refusal_of_a_choice_names_the_options() -> None:
    assert '1, "1", 0.5, false' in reason(question(**CHOICE), "blue")


@pytest.mark.parametrize("kind", [Kind.CONFIRM, Kind.RISK_ACK])
def test_a_confirmation_is_answered_with_true_or_false(kind: Kind) -> None:
    asked = question(kind=kind.value)
    assert accepts(asked, True)
    assert accepts(asked, False)
    others: list[JsonValue] = [1, 0, "true", "yes", None, [], {}]
    assert not any(accepts(asked, response) for response in others)


@pytest.mark.parametrize("kind", [Kind.CONFIRM, Kind.RISK_ACK])
def test_a_confirmation_with_options_is_answered_with_one_of_them(kind: Kind) -> None:
    asked = question(kind=kind.value, options=[{"label": "Go", "value": "go"}, {"label": "Stop", "value": "stop"}])
    assert accepts(asked, "go")
    assert not any(accepts(asked, response) for response in (True, False, "Go", ""))


def test_fields_are_answered_with_an_object_that_has_the_required_ones() -> None:
    asked = question(kind="fill_fields", required_fields=["name", "age"])
    assert accepts(asked, {"name": "Ada", "age": 0})
    assert accepts(asked, {"name": "Ada", "age": False, "note": "more than asked"})
    others: list[JsonValue] = [None, "Ada", ["name", "age"], 1]
    assert not any(accepts(asked, response) for response in others)


@pytest.mark.parametrize("age", [{}, {"age": None}, {"age": ""}])
def test_a_field_that_is_missing_or_empty_is_named(age: JsonObject) -> None:
    with pytest.raises(ResponseInvalid) as refusal:
        check_response(question(kind="fill_fields", required_fields=["name", "age"]), {"name": "Ada", **age})
    assert refusal.value.details == {"missing": ["age"]}
    assert "age" in refusal.value.message


def test_an_open_text_is_answered_with_a_text_that_is_not_empty() -> None:
    assert accepts(question(), "blue")
    assert accepts(question(), "🎨\0")
    others: list[JsonValue] = ["", "  \n", None, 1, True, ["blue"], {"text": "blue"}]
    assert not any(accepts(question(), response) for response in others)


def test_an_open_text_with_a_schema_may_be_answered_with_what_the_schema_allows() -> None:
    asked = question(response_schema={"type": "array", "items": {"type": "integer"}})
    assert accepts(asked, [1, 2])
    assert not accepts(asked, "blue")


# The response schema


def test_a_response_must_fit_the_kind_and_the_schema() -> None:
    asked = question(kind="fill_fields", required_fields=["age"], response_schema={"required": ["name"]})
    assert accepts(asked, {"age": 3, "name": "Ada"})
    assert not accepts(asked, {"age": 3})
    assert not accepts(asked, {"name": "Ada"})


def test_the_refusal_by_a_schema_says_where_and_stays_short() -> None:
    asked = question(response_schema={"properties": {"ages": {"items": {"type": "integer"}}}})
    message = reason(asked, {"ages": [1, "x" * 10_000]})
    assert "'/ages/1'" in message
    assert len(message) < 1000


def test_a_schema_may_be_true_or_false() -> None:
    assert accepts(question(response_schema=True), {"anything": [None]})
    assert not accepts(question(response_schema=False), "blue")


def test_a_schema_may_refer_to_itself() -> None:
    tree = question(response_schema={"type": "array", "items": {"$ref": "#"}})
    assert accepts(tree, [[], [[]]])
    assert not accepts(tree, [[], [1]])
    assert accepts(question(response_schema={"$ref": "#"}), "blue")


@pytest.mark.parametrize(
    "ref",
    ["https://example.com/schema", "http://127.0.0.1:9/schema", "file:///etc/passwd", "other.json", "#/$defs/missing"],
)
def test_a_schema_that_refers_outside_itself_cannot_be_asked(ref: str) -> None:
    assert "response_schema is not a usable JSON Schema" in unaskable(response_schema={"$ref": ref})


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_a_schema_is_not_fetched_even_where_there_is_one(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text('{"type": "string"}')
    with served(tmp_path) as address:
        for ref in (f"{address}/schema.json", f"file://{tmp_path}/schema.json"):
            assert "may not refer outside itself" in unaskable(response_schema={"$ref": ref})


@pytest.mark.parametrize(
    "schema", [{"type": "colour"}, {"minimum": "low"}, {"pattern": "("}, {"required": "name"}, {"pattern": r"(a)\1"}]
)
def test_a_schema_that_is_none_cannot_be_asked(schema: JsonObject) -> None:
    assert "response_schema is not a usable JSON Schema" in unaskable(response_schema=schema)


@pytest.mark.parametrize("pattern", ["^(a+)+$", "^(a|aa)+$", r"^(\w+\s?)*$"])
def test_a_catastrophic_pattern_answers_at_once(pattern: str) -> None:
    asked = question(response_schema={"pattern": pattern})
    start = time.perf_counter()
    assert not accepts(asked, "a" * 50_000 + "!")
    assert accepts(asked, "a" * 50_000)
    assert time.perf_counter() - start < 1


def test_a_pattern_that_would_need_too_much_memory_cannot_be_asked() -> None:
    assert "response_schema" in unaskable(response_schema={"pattern": "((a{1000}){1000}){1000}"})


# Defaults


@pytest.mark.parametrize(
    ("asked", "default"),
    [
        (CHOICE, True),
        ({"kind": "confirm"}, "yes"),
        ({"kind": "fill_fields", "required_fields": ["name"]}, {"age": 3}),
        ({"kind": "open_text"}, "  "),
        ({"kind": "open_text", "response_schema": {"type": "string", "maxLength": 2}}, "blue"),
    ],
)
def test_a_default_that_does_not_fit_its_question_cannot_be_asked(asked: JsonObject, default: JsonValue) -> None:
    assert "the default does not fit the question" in unaskable(**asked, default=default)


@pytest.mark.parametrize("default", [1, False, 0.5])
def test_a_default_that_fits_is_kept(default: JsonValue) -> None:
    asked = question(**CHOICE, default=default, default_decision_policy="use_default")
    assert same_json(asked.default, default)
    assert asked.default_decision_policy is Policy.USE_DEFAULT


def test_a_question_that_wants_its_default_used_must_have_one() -> None:
    assert "use_default needs a default" in unaskable(default_decision_policy="use_default")


def test_the_engine_decides_unless_the_question_says_otherwise() -> None:
    assert question().default_decision_policy is Policy.ENGINE_JUDGEMENT


# What cannot be asked


def test_a_choice_without_options_cannot_be_asked() -> None:
    assert "at least one option" in unaskable(kind="choose_one")


def test_fields_without_names_or_schema_cannot_be_asked() -> None:
    assert "needs required_fields" in unaskable(kind="fill_fields")
    assert question(kind="fill_fields", response_schema={"required": ["name"]}).required_fields == []


def test_a_field_cannot_be_asked_for_twice() -> None:
    assert "twice" in unaskable(kind="fill_fields", required_fields=["name", "age", "name"])


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": ""},
        {"prompt": None},
        {"kind": "sticky_process"},
        {"options": [{"label": "", "value": 1}]},
        {"options": [{"label": "None", "value": None}]},
        {"options": [{"label": "List", "value": []}]},
        {"options": [{"label": "Not a number", "value": float("nan")}]},
        {"required_fields": [""]},
        {"ui_hints": []},
        {"colour": "blue"},
    ],
    ids=str,
)
def test_a_malformed_question_cannot_be_asked(fields: JsonObject) -> None:
    unaskable(**fields)


def test_a_question_is_limited_in_size() -> None:
    room = QUESTION_MAX_BYTES - len(question(prompt="x").model_dump_json().encode())
    assert len(question(prompt="x" * room).prompt) == room
    assert "limited to 32768 bytes" in unaskable(prompt="x" * (room + 2))
    assert "limited to 32768 bytes" in unaskable(prompt="é" * (room // 2 + 2))
    assert "limited to 32768 bytes" in unaskable(context={"text": "x" * QUESTION_MAX_BYTES})


# What no JSON reader could be sure to read


@pytest.mark.parametrize(
    "value", [TOO_LARGE_INTEGER, HALF_A_CHARACTER, nested(MAX_NESTING + 1)], ids=["integer", "character", "nesting"]
)
def test_a_value_that_could_not_be_carried_is_neither_asked_nor_answered(value: JsonValue) -> None:
    assert not accepts(question(response_schema=True), value)
    assert not accepts(question(response_schema=True), {"deeper": value})
    unaskable(response_schema=True, default=value)
    unaskable(context={"value": value})
    unaskable(ui_hints={"value": value})
    if not isinstance(value, list):
        unaskable(options=[{"label": "It", "value": value}])


def test_deep_but_bounded_nesting_is_an_answer() -> None:
    assert accepts(question(response_schema=True), nested(MAX_NESTING))
    assert accepts(question(response_schema=True), [{"flat": [number]} for number in range(2 * MAX_NESTING)])
    assert "nested deeper than 100 levels" in reason(question(response_schema=True), nested(MAX_NESTING + 1))


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]}, True),
        ([True], [1], False),
        ({"a": 0}, {"a": False}, False),
        ([1, 2], [1], False),
        ({"a": 1}, {"b": 1}, False),
        (None, False, False),
        ("1", 1, False),
        ([], {}, False),
    ],
)
def test_values_are_equal_as_json_means_it(left: JsonValue, right: JsonValue, same: bool) -> None:
    assert same_json(left, right) is same
    assert same_json(right, left) is same

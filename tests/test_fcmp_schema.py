"""The event models and `contracts/fcmp.schema.json` agree: what the models build passes, what is bent is refused."""

import copy
from collections.abc import Iterator

import jsonschema_rs
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue, ValidationError

from turnwise import contracts
from turnwise.errors import ProtocolSchemaViolation
from turnwise.fcmp.events import (
    DATA_MODELS,
    PROTOCOL_VERSION,
    TYPE_OF,
    AutoDecided,
    ConversationCompleted,
    ConversationFailed,
    ConversationStarted,
    DiagnosticWarning,
    ErrorInfo,
    EventData,
    EventType,
    FcmpEvent,
    MessageFinal,
    Meta,
    Mode,
    OutputStatus,
    ReplyAccepted,
    StateChanged,
    ToolCall,
    ToolResult,
    ToolStatus,
)
from turnwise.fcmp.jsonvalue import JsonObject, json_text
from turnwise.fcmp.questions import Kind, OpenQuestion, Policy
from turnwise.fcmp.schema import validate
from turnwise.statechart import Event, State

INSTANT = "2026-01-02T03:04:05.678901Z"

EXAMPLES: list[EventData] = [
    ConversationStarted(
        prompt="Paint it", mode=Mode.INTERACTIVE, interactive_require_user_reply=True, session_timeout_sec=0.5
    ),
    StateChanged(source=State.QUEUED, target=State.RUNNING, trigger=Event.TURN_STARTED, updated_at=INSTANT),
    MessageFinal(message_id="m1.1", text="Hello", status=OutputStatus.INTERRUPTED),
    OpenQuestion(kind=Kind.OPEN_TEXT, prompt="Which colour?", interaction_id=1, deadline=INSTANT),
    ReplyAccepted(interaction_id=1, accepted_at=INSTANT, reply_id="r1", response="blue"),
    AutoDecided(interaction_id=1, policy=Policy.USE_DEFAULT, decided_at=INSTANT, response="blue"),
    ToolCall(call_id="c1", name="paint", arguments={"colour": "blue"}),
    ToolResult(call_id="c1", name="paint", status=ToolStatus.FAILED, result=None),
    ConversationCompleted(message_id="m1.1", attempts=1),
    ConversationFailed(error=ErrorInfo(code="TURN_FAILED", message="It broke.")),
    DiagnosticWarning(code="REPLY_SIGNAL_REFUSED", message="No.", details={"reason": "INTERACTION_STALE"}),
]

WRONG: list[JsonValue] = [None, True, -1, 0.5, "no such value", [], {}, {"no such field": 1}]
"""Each is of the wrong type for most fields; what a field allows is not tried on it."""


def wire(data: EventData, **envelope: JsonValue) -> JsonObject:
    """The event as it is written to the log."""
    event: JsonObject = {
        "protocol_version": PROTOCOL_VERSION,
        "run_id": "run-1",
        "seq": 1,
        "ts": INSTANT,
        "engine": "scripted",
        "type": TYPE_OF[type(data)].value,
        "data": data.model_dump(mode="json", by_alias=True),
        "meta": {"attempt": 0},
    }
    return {**event, **envelope}


def data_of(event: JsonObject) -> JsonObject:
    data = event["data"]
    assert isinstance(data, dict)
    return data


def refused(event: JsonObject) -> str:
    """Why the gate refuses the event."""
    with pytest.raises(ProtocolSchemaViolation) as refusal:
        validate(event)
    assert refusal.value.code == "PROTOCOL_SCHEMA_VIOLATION"
    return refusal.value.message


def model_accepts(event: JsonObject) -> bool:
    try:
        envelope = FcmpEvent.model_validate_json(json_text(event))
        DATA_MODELS[envelope.type].model_validate_json(json_text(envelope.data))
    except ValidationError:
        return False
    return True


patiently = settings(deadline=None)
each_type = pytest.mark.parametrize("data", EXAMPLES, ids=lambda data: TYPE_OF[type(data)].value)

# The schema itself


def schema() -> JsonObject:
    loaded = orjson.loads(contracts.read("fcmp.schema.json"))
    assert isinstance(loaded, dict)
    return loaded


def at(value: JsonValue, *path: str | int) -> JsonValue:
    for part in path:
        if isinstance(value, list) and isinstance(part, int):
            value = value[part]
        else:
            assert isinstance(value, dict)
            value = value[str(part)]
    return value


def data_schema(kind: EventType) -> JsonObject:
    """What the schema says about the data of a type, found as a validator finds it."""
    branches = at(schema(), "allOf")
    assert isinstance(branches, list)
    found = [each for each in branches if at(each, "if", "properties", "type", "const") == kind.value]
    assert len(found) == 1
    ref = str(at(found[0], "then", "properties", "data", "$ref"))
    definition = at(schema(), "$defs", ref.removeprefix("#/$defs/"))
    assert isinstance(definition, dict)
    return definition


def names(value: JsonValue) -> set[str]:
    assert isinstance(value, list | dict)
    return {str(each) for each in value}


def aliases(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def test_the_schema_is_a_valid_schema_of_draft_2020_12() -> None:
    assert schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema_rs.meta.validate(schema())


def test_every_event_type_has_a_data_model_and_a_schema_of_its_own() -> None:
    assert set(DATA_MODELS) == set(EventType)
    assert len(set(DATA_MODELS.values())) == len(EventType)
    assert names(at(schema(), "properties", "type", "enum")) == {kind.value for kind in EventType}
    branches = at(schema(), "allOf")
    assert isinstance(branches, list)
    assert len(branches) == len(EventType)
    for kind in EventType:
        assert data_schema(kind)["type"] == "object"


def test_there_is_an_example_of_every_event_type() -> None:
    assert [TYPE_OF[type(data)] for data in EXAMPLES] == list(EventType)


@pytest.mark.parametrize("kind", list(EventType))
def test_model_and_schema_have_the_same_fields_all_of_them_required_and_no_others_allowed(kind: EventType) -> None:
    definition = data_schema(kind)
    assert names(definition["properties"]) == aliases(DATA_MODELS[kind])
    assert names(definition["required"]) == aliases(DATA_MODELS[kind])
    assert definition["additionalProperties"] is False


def test_envelope_and_schema_have_the_same_fields() -> None:
    assert names(at(schema(), "properties")) == aliases(FcmpEvent)
    assert names(at(schema(), "required")) == aliases(FcmpEvent)
    assert names(at(schema(), "properties", "meta", "properties")) == aliases(Meta)
    assert schema()["additionalProperties"] is False


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (["conversation.started", "properties", "mode"], Mode),
        (["conversation.state.changed", "properties", "from"], State),
        (["conversation.state.changed", "properties", "to"], State),
        (["conversation.state.changed", "properties", "trigger"], Event),
        (["assistant.message.final", "properties", "status"], OutputStatus),
        (["tool.result", "properties", "status"], ToolStatus),
        (["question", "properties", "kind"], Kind),
        (["policy"], Policy),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, list) else "",
)
def test_an_enumeration_has_the_same_values_in_model_and_schema(path: list[str], values: type[State]) -> None:
    assert at(schema(), "$defs", *path, "enum") == [value.value for value in values]


# What the models build is accepted


@each_type
def test_an_event_built_from_its_model_is_accepted(data: EventData) -> None:
    validate(wire(data))


integers = st.integers(min_value=-(2**63), max_value=2**64 - 1)
numbers = integers | st.floats(allow_nan=False, allow_infinity=False)
json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(st.text(), json_values, max_size=3)
identifiers = st.text(min_size=1, max_size=20)
codes = st.from_regex(r"[A-Z][A-Z0-9_]{0,30}", fullmatch=True)
counts = st.integers(min_value=1, max_value=2**31 - 1)
instants = st.datetimes().map(lambda instant: f"{instant.year:04}-" + instant.strftime("%m-%dT%H:%M:%S.%fZ"))


def state_changed(source: State, target: State, trigger: Event, updated_at: str) -> StateChanged:
    return StateChanged(source=source, target=target, trigger=trigger, updated_at=updated_at)


def questions() -> st.SearchStrategy[OpenQuestion]:
    options = st.fixed_dictionaries({"label": identifiers, "value": st.text() | st.booleans() | numbers})
    return st.builds(
        OpenQuestion,
        kind=st.sampled_from([Kind.CHOOSE_ONE, Kind.CONFIRM, Kind.OPEN_TEXT, Kind.RISK_ACK]),
        prompt=identifiers,
        options=st.lists(options, min_size=1, max_size=3),
        required_fields=st.lists(identifiers, unique=True, max_size=3),
        ui_hints=json_objects,
        default_decision_policy=st.just(Policy.ENGINE_JUDGEMENT),
        context=st.none() | json_objects,
        response_schema=st.none() | st.booleans() | st.just({"type": "string"}),
        default=st.none(),
        interaction_id=counts,
        deadline=instants,
    )


EVENT_DATA: st.SearchStrategy[EventData] = st.one_of(
    st.builds(
        ConversationStarted,
        prompt=st.text(),
        mode=st.sampled_from(Mode),
        interactive_require_user_reply=st.booleans(),
        session_timeout_sec=st.floats(min_value=0, max_value=1e9),
    ),
    st.builds(
        state_changed,
        source=st.sampled_from(State),
        target=st.sampled_from(State),
        trigger=st.sampled_from(Event),
        updated_at=instants,
    ),
    st.builds(MessageFinal, message_id=identifiers, text=st.text(), status=st.sampled_from(OutputStatus)),
    questions(),
    st.builds(ReplyAccepted, interaction_id=counts, accepted_at=instants, reply_id=identifiers, response=json_values),
    st.builds(
        AutoDecided,
        interaction_id=counts,
        policy=st.sampled_from(Policy),
        decided_at=instants,
        response=json_values,
    ),
    st.builds(ToolCall, call_id=identifiers, name=identifiers, arguments=json_objects),
    st.builds(
        ToolResult, call_id=identifiers, name=identifiers, status=st.sampled_from(ToolStatus), result=json_values
    ),
    st.builds(ConversationCompleted, message_id=st.none() | identifiers, attempts=counts),
    st.builds(ConversationFailed, error=st.builds(ErrorInfo, code=codes, message=st.text())),
    st.builds(DiagnosticWarning, code=codes, message=st.text(), details=json_objects),
)
EVENTS = st.builds(wire, EVENT_DATA, run_id=identifiers, seq=counts, ts=instants, engine=identifiers)


@patiently
@given(EVENTS)
def test_any_event_built_from_models_is_accepted_and_comes_back_unchanged(event: JsonObject) -> None:
    validate(event)
    stored = json_text(event)
    assert FcmpEvent.model_validate_json(stored).model_dump(mode="json") == event
    kind, body = EventType(str(event["type"])), json_text(event["data"])
    assert DATA_MODELS[kind].model_validate_json(body).model_dump(mode="json", by_alias=True) == event["data"]


# What is bent is refused


@patiently
@given(EVENTS, st.data())
def test_any_event_that_lacks_a_field_is_refused(event: JsonObject, choose: st.DataObject) -> None:
    part = choose.draw(st.sampled_from([event, data_of(event)]))
    del part[choose.draw(st.sampled_from(sorted(part)))]
    refused(event)


@patiently
@given(EVENTS, st.text(), json_values, st.sampled_from(["envelope", "data", "meta"]))
def test_any_event_with_a_field_of_nobodys_is_refused(
    event: JsonObject, name: str, value: JsonValue, place: str
) -> None:
    part = event if place == "envelope" else event[place]
    assert isinstance(part, dict)
    part[f"x-{name}"] = value
    refused(event)


@patiently
@given(EVENTS, st.text().filter(lambda name: name not in set(EventType)))
def test_any_event_of_an_unknown_type_is_refused(event: JsonObject, name: str) -> None:
    refused({**event, "type": name})


@patiently
@given(EVENTS, st.sampled_from(EventType))
def test_the_data_of_one_type_is_refused_under_another(event: JsonObject, other: EventType) -> None:
    if other.value != event["type"]:
        refused({**event, "type": other.value})


def bent(event: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """The event, each time with one field of the envelope, the data or the meta replaced by a wrong value."""
    for place in (None, "data", "meta"):
        part = event if place is None else event[place]
        assert isinstance(part, dict)
        for name in part:
            for wrong in WRONG:
                changed = copy.deepcopy(event)
                target = changed if place is None else changed[place]
                assert isinstance(target, dict)
                target[name] = wrong
                yield f"{place}.{name} = {wrong!r}", changed


@each_type
def test_whatever_the_model_does_not_accept_the_schema_refuses(data: EventData) -> None:
    tried = 0
    for change, event in bent(wire(data)):
        # Whether a default answers its question is more than a schema can say.
        if not model_accepts(event) and not change.startswith("data.default ="):
            tried += 1
            assert refused(event), change
    assert tried > 8 * len(WRONG) / 2


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (data, name)
        for data, fixed in (
            (EXAMPLES[1], ["from", "to", "trigger", "updated_at"]),
            (EXAMPLES[4], ["interaction_id", "resolution_mode", "accepted_at"]),
            (EXAMPLES[5], ["interaction_id", "resolution_mode", "policy"]),
        )
        for name in fixed
    ],
    ids=lambda value: value if isinstance(value, str) else TYPE_OF[type(value)].value,
)
def test_a_fixed_field_of_the_specification_cannot_be_left_out(data: EventData, name: str) -> None:
    event = wire(data)
    del data_of(event)[name]
    assert f'"{name}" is a required property' in refused(event)


@pytest.mark.parametrize(("index", "mode"), [(4, "auto_decide_timeout"), (5, "user_reply")])
def test_a_resolution_cannot_claim_the_other_mode(index: int, mode: str) -> None:
    event = wire(EXAMPLES[index])
    data_of(event)["resolution_mode"] = mode
    assert "resolution_mode" in refused(event)


@pytest.mark.parametrize("instant", ["", "yesterday", "2026-01-02", "2026-01-02T03:04:05", "2026-01-02T03:04:05+01:00"])
def test_an_instant_is_utc_and_says_so(instant: str) -> None:
    assert "/ts" in refused(wire(EXAMPLES[0], ts=instant))
    event = wire(EXAMPLES[1])
    data_of(event)["updated_at"] = instant
    assert "/data/updated_at" in refused(event)


@pytest.mark.parametrize("seq", [0, -1, 1.5, True, "1", None])
def test_a_seq_is_an_integer_from_one_on(seq: JsonValue) -> None:
    assert "/seq" in refused(wire(EXAMPLES[0], seq=seq))


def test_another_protocol_version_is_refused() -> None:
    assert "/protocol_version" in refused(wire(EXAMPLES[0], protocol_version="fcmp/2.0"))


def test_the_refusal_names_the_type_and_the_place_and_stays_short() -> None:
    event = wire(EXAMPLES[6])
    data_of(event)["arguments"] = "x" * 10_000
    message = refused(event)
    assert message.startswith("tool.call does not fit the contract at '/data/arguments'")
    assert len(message) < 1000

"""From what a person types to a response that answers the question. Nothing here reads or writes."""

from dataclasses import dataclass
from typing import Protocol

import orjson
from pydantic import JsonValue

from turnwise.errors import ResponseInvalid
from turnwise.fcmp.jsonvalue import JsonObject, json_text
from turnwise.fcmp.questions import Kind, Option, Question, check_response

YES = frozenset({"y", "yes", "true"})
NO = frozenset({"n", "no", "false"})


@dataclass(frozen=True, slots=True)
class Response:
    value: JsonValue


class Answering(Protocol):
    """One question, answered line by line."""

    @property
    def prompt(self) -> str:
        """What the person is asked to type next."""

    def take(self, line: str) -> Response | None:
        """The response, or None while more is needed. Raises ResponseInvalid for what cannot be understood."""

    def restart(self) -> None:
        """The response was refused: from the first line again."""


def answering(question: Question) -> Answering:
    if is_choice(question):
        return _Choice(question)
    match question.kind:
        case Kind.CONFIRM | Kind.RISK_ACK:
            return _YesOrNo(question)
        case Kind.FILL_FIELDS if field_names(question):
            return _Fields(question)
        case _:
            return _Text(question)


def response_from_argument(question: Question | None, text: str) -> JsonValue:
    """JSON where that answers the question, else the text itself."""
    parsed = _parsed(text)
    candidates = [text] if parsed is None else [parsed.value, text]
    if question is None:  # it will be refused, whatever it is
        return candidates[0]
    return next((each for each in candidates if _fits(question, each)), candidates[0])


def example(question: Question) -> str:
    """A response that could be given, as one would type it after `turnwise reply`.

    For a risk it is none yet: nobody is to accept one by pasting a line.
    """
    if question.kind is Kind.RISK_ACK:
        return "|".join(as_text(option.value) for option in question.options) or "true|false"
    if is_choice(question):
        value = question.options[0].value
        return value if isinstance(value, str) else json_text(value)
    match question.kind:
        case Kind.CONFIRM:
            return "true"
        case Kind.FILL_FIELDS:
            return json_text(dict.fromkeys(field_names(question), "…"))
        case _:
            return "your answer"


def is_choice(question: Question) -> bool:
    """For other kinds the options are only suggestions."""
    return bool(question.options) and question.kind in {Kind.CHOOSE_ONE, Kind.CONFIRM, Kind.RISK_ACK}


def keys(options: list[Option]) -> list[str]:
    """What to type for each option: its place in the list, unless numbers among the values would make that unclear."""
    texts = [as_text(option.value) for option in options] + [option.label for option in options]
    if any(text.strip().lstrip("-").isdigit() for text in texts):
        return [as_text(option.value) for option in options]
    return [str(place) for place in range(1, len(options) + 1)]


def field_names(question: Question) -> list[str]:
    """The required fields, then those that the schema knows beyond them."""
    return list(dict.fromkeys([*question.required_fields, *_properties(question)]))


def as_text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json_text(value)


class _Choice:
    def __init__(self, question: Question) -> None:
        self._options = question.options
        self._default = _default(question)
        self.prompt = f"Your choice{_bracketed(self._default)}: "

    def take(self, line: str) -> Response | None:
        typed = line.strip()
        if not typed and self._default is not None:
            return self._default
        for key, option in zip(keys(self._options), self._options, strict=True):
            if typed in (key, as_text(option.value)):
                return Response(option.value)
        for option in self._options:
            if typed.casefold() in (option.label.casefold(), as_text(option.value).casefold()):
                return Response(option.value)
        raise ResponseInvalid(f"please type one of {', '.join(keys(self._options)[:20])}, or its name")

    def restart(self) -> None:
        pass


class _YesOrNo:
    def __init__(self, question: Question) -> None:
        self._default = _default(question)
        self.prompt = f"Yes or no (y/n){_bracketed(self._default)}: "

    def take(self, line: str) -> Response | None:
        typed = line.strip().casefold()
        if not typed and self._default is not None:
            return self._default
        if typed in YES | NO:
            return Response(typed in YES)
        raise ResponseInvalid("please type y or n")

    def restart(self) -> None:
        pass


class _Fields:
    def __init__(self, question: Question) -> None:
        self._question = question
        self._names = field_names(question)
        self._values: JsonObject = {}
        self._known: JsonObject = question.default if isinstance(question.default, dict) else {}
        """What an empty line stands for: the question's defaults, later what was typed the time before."""

    @property
    def prompt(self) -> str:
        name = self._next
        if name in self._known:
            return f"{name} [{as_text(self._known[name])}]: "
        return f"{name}: " if self._is_required(name) else f"{name} (may be left empty): "

    def take(self, line: str) -> Response | None:
        name, typed = self._next, line.strip()
        if typed:
            self._values[name] = _typed_value(typed, _properties(self._question).get(name))
        elif name in self._known:
            self._values[name] = self._known[name]
        elif self._is_required(name):
            raise ResponseInvalid(f"{name} is required")
        self._names = self._names[1:]
        return None if self._names else Response(self._values)

    def restart(self) -> None:
        self._names = field_names(self._question)
        self._known = {**self._known, **self._values}
        self._values = {}

    @property
    def _next(self) -> str:
        return self._names[0]

    def _is_required(self, name: str) -> bool:
        schema = self._question.response_schema
        by_schema = schema.get("required") if isinstance(schema, dict) else None
        return name in self._question.required_fields or (isinstance(by_schema, list) and name in by_schema)


class _Text:
    """An open text; with a schema of its own it may want JSON."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._default = _default(question)
        wants_json = question.kind is Kind.FILL_FIELDS
        self.prompt = f"{'Fields, as a JSON object' if wants_json else 'Your answer'}{_bracketed(self._default)}: "

    def take(self, line: str) -> Response | None:
        text = line.strip()
        if not text and self._default is not None:
            return self._default
        parsed = _parsed(text)
        if _fits(self._question, text) or parsed is None:
            check_response(self._question, text)
            return Response(text)
        check_response(self._question, parsed.value)
        return parsed

    def restart(self) -> None:
        pass


def _default(question: Question) -> Response | None:
    """What an empty line stands for. A risk is never accepted by just pressing Enter."""
    if question.default is None or question.kind is Kind.RISK_ACK:
        return None
    return Response(question.default)


def _bracketed(default: Response | None) -> str:
    if default is None:
        return ""
    if isinstance(default.value, bool):
        return " [y]" if default.value else " [n]"
    return f" [{as_text(default.value)}]"


def _fits(question: Question, value: JsonValue) -> bool:
    try:
        check_response(question, value)
    except ResponseInvalid:
        return False
    return True


def _parsed(text: str) -> Response | None:
    try:
        return Response(orjson.loads(text))
    except orjson.JSONDecodeError:
        return None


def _properties(question: Question) -> JsonObject:
    schema = question.response_schema
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties if isinstance(properties, dict) else {}


def _typed_value(text: str, schema: JsonValue) -> JsonValue:
    """A field is text, unless the schema says that it is something else."""
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind == "boolean" and text.casefold() in YES | NO:
        return text.casefold() in YES
    parsed = _parsed(text)
    if kind in (None, "string") or parsed is None or (isinstance(kind, list) and "string" in kind):
        return text
    return parsed.value

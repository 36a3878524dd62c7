"""Lengths of time, and what will happen when a question's deadline passes."""

import math
from datetime import datetime

from turnwise.fcmp.jsonvalue import same_json
from turnwise.fcmp.questions import OpenQuestion, Policy
from turnwise.wording.answers import as_text
from turnwise.wording.texts import arguments, clean


def span(seconds: float) -> str:
    """A length of time, as exact as it is worth reading."""
    if seconds <= 60:
        return f"{round(seconds, 1):g} s"
    minutes, seconds = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} days"


def ago(seconds: float) -> str:
    """In the largest unit only."""
    for unit, length in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)} {unit} ago"
    return f"{int(seconds)} s ago"


def seconds_between(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def seconds_since(moment: str, now: datetime) -> float:
    return max((now - datetime.fromisoformat(moment)).total_seconds(), 0)


def deadline(asked: OpenQuestion, now: datetime, *, strict: bool) -> str | None:
    """Only what the person has to know: that somebody else will decide, and when."""
    return None if strict else f"Without a reply, {_decision(asked)} in {span(max(math.ceil(_left(asked, now)), 0))}."


def countdown(asked: OpenQuestion, now: datetime, *, strict: bool) -> str:
    """How long a question still waits, and what will happen then."""
    left = _left(asked, now)
    if left <= 0:
        return "The time to answer has passed" + ("; the agent keeps waiting for you." if strict else ".")
    then = "the agent keeps waiting for you" if strict else _decision(asked)
    return f"{_clock(math.ceil(left))} left to answer; after that {then}."


def _left(asked: OpenQuestion, now: datetime) -> float:
    return (datetime.fromisoformat(asked.deadline) - now).total_seconds()


def _decision(asked: OpenQuestion) -> str:
    if asked.default_decision_policy is not Policy.USE_DEFAULT:
        return "the agent decides"
    if isinstance(asked.default, dict):
        return f"the default is taken ({arguments(asked.default)})"
    label = next((each.label for each in asked.options if same_json(each.value, asked.default)), None)
    return f"the default is taken ({clean(label or as_text(asked.default))})"


def _clock(seconds: int) -> str:
    """As a clock that runs down shows it."""
    if seconds >= 24 * 3600:
        return span(seconds)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"

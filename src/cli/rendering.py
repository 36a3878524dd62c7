"""How questions, tools, answers and ends read on a screen."""

from datetime import UTC, datetime

from pydantic import JsonValue
from rich.text import Text

from turnwise.cli.answers import as_text, example, field_names, is_choice, keys
from turnwise.cli.consoles import clean, one_line
from turnwise.cli.targets import Target
from turnwise.errors import RUN_CANCELED
from turnwise.fcmp.events import (
    AutoDecided,
    ConversationCompleted,
    ConversationFailed,
    ConversationStarted,
    DiagnosticWarning,
    EventData,
    MessageFinal,
    Mode,
    OutputStatus,
    ReplyAccepted,
    StateChanged,
    ToolCall,
    ToolResult,
    ToolStatus,
)
from turnwise.fcmp.jsonvalue import json_text
from turnwise.fcmp.questions import Kind, OpenQuestion, Policy
from turnwise.statechart import State

GIST_LENGTH = 140

STATE_STYLES = {
    State.QUEUED: "quiet",
    State.RUNNING: "name",
    State.WAITING_USER: "ask",
    State.SUCCEEDED: "good",
    State.FAILED: "bad",
    State.CANCELED: "warn",
}


def question(asked: OpenQuestion) -> Text:
    mark = "!" if asked.kind is Kind.RISK_ACK else "?"
    text = Text(f"{mark} ", style="bad" if asked.kind is Kind.RISK_ACK else "ask")
    text.append(clean(asked.prompt), style="name")
    if asked.context:
        for name, value in asked.context.items():
            text.append(f"\n    {clean(name)}: {one_line(as_text(value), GIST_LENGTH)}", style="quiet")
    if asked.options:
        numbers = keys(asked.options) if is_choice(asked) else ["·"] * len(asked.options)
        width = max(map(len, numbers))
        for number, option in zip(numbers, asked.options, strict=True):
            text.append(f"\n    {clean(number):>{width}}", style="ask")
            text.append(f"  {clean(option.label)}")
            value = clean(as_text(option.value))
            if value not in (option.label, number):
                text.append(f"  ({value})", style="quiet")
    return text


def how_to_reply(asked: OpenQuestion, run_id: str, target: Target) -> Text:
    command = target.command("reply", run_id, str(asked.interaction_id), example(asked))
    return Text("  Reply:      ", style="quiet").append(command, style="default")


def deadline(asked: OpenQuestion, *, strict: bool) -> str | None:
    """Only what the person has to know: that somebody else will decide, and when."""
    if strict:
        return None
    moment = datetime.fromisoformat(asked.deadline)
    left = (moment - datetime.now(UTC)).total_seconds()
    decider = "the default is taken" if asked.default_decision_policy is Policy.USE_DEFAULT else "the agent decides"
    return f"Without a reply, {decider} in {span(max(left, 0))}."


def tool_call(call: ToolCall) -> Text:
    arguments = one_line(", ".join(f"{name}={as_text(value)}" for name, value in call.arguments.items()), GIST_LENGTH)
    return Text("  → ", style="quiet").append(clean(call.name), style="name").append(f"({arguments})", style="quiet")


def tool_result(result: ToolResult) -> Text:
    if result.status is ToolStatus.FAILED:
        return Text(f"  ✗ {clean(result.name)} failed: {_shown(result.result)}", style="bad")
    return Text(f"  ← {_shown(result.result)}", style="quiet")


def decision(decided: AutoDecided, mode: Mode) -> Text:
    why = "Nobody is asked in auto mode" if mode is Mode.AUTO else "Nobody replied in time"
    if decided.policy is Policy.USE_DEFAULT:
        return Text(f"  {why}; the default is taken: {_shown(decided.response)}", style="warn")
    return Text(f"  {why}; the agent decides by itself.", style="warn")


def answered_elsewhere(reply: ReplyAccepted) -> Text:
    return Text(f"  Answered elsewhere: {_shown(reply.response)}", style="warn")


def warning(data: DiagnosticWarning) -> Text:
    return Text(f"  {one_line(data.message, GIST_LENGTH)} ({data.code})", style="warn")


def ending(data: ConversationCompleted | ConversationFailed, seconds: float) -> Text:
    if isinstance(data, ConversationCompleted):
        turns = "1 turn" if data.attempts == 1 else f"{data.attempts} turns"
        return Text(f"✓ Succeeded in {turns}, {span(seconds)}.", style="good")
    if data.error.code == RUN_CANCELED:
        return Text(f"■ Canceled after {span(seconds)}.", style="warn")
    reason = clean(data.error.message).strip()
    return Text(f"✗ Failed after {span(seconds)}: {reason} ({data.error.code})", style="bad")


def gist(data: EventData) -> Text:
    """An event's data in one line."""
    text = Text(one_line(_gist(data), GIST_LENGTH))
    if isinstance(data, StateChanged):
        text.stylize(STATE_STYLES[data.target])
    elif isinstance(data, ConversationFailed):
        text.stylize("bad" if data.error.code != RUN_CANCELED else "warn")
    elif isinstance(data, OpenQuestion):
        text.stylize("ask")
    elif isinstance(data, AutoDecided | DiagnosticWarning):
        text.stylize("warn")
    return text


def _gist(data: EventData) -> str:
    match data:
        case ConversationStarted(prompt=prompt, mode=mode):
            return f"“{prompt}” ({mode.value})"
        case StateChanged(source=source, target=target):
            return f"{source.value} → {target.value}"
        case MessageFinal(text=text, status=OutputStatus.INTERRUPTED):
            return f"(interrupted) {text}"
        case MessageFinal(text=text):
            return text
        case OpenQuestion(interaction_id=number, kind=kind, prompt=prompt):
            return f"#{number} {prompt}{_suggestions(data)} ({kind.value})"
        case ReplyAccepted(interaction_id=number, response=response):
            return f"#{number} answered: {_shown(response)}"
        case AutoDecided(interaction_id=number, policy=Policy.USE_DEFAULT, response=response):
            return f"#{number} default taken: {_shown(response)}"
        case AutoDecided(interaction_id=number):
            return f"#{number} left to the agent"
        case ToolCall(name=name, arguments=arguments):
            return f"{name} {json_text(arguments)}"
        case ToolResult(name=name, status=status, result=result):
            return f"{name} {status.value}: {_shown(result)}"
        case ConversationCompleted(attempts=attempts):
            return "1 turn" if attempts == 1 else f"{attempts} turns"
        case ConversationFailed(error=error):
            return f"{error.code}: {error.message}"
        case DiagnosticWarning(code=code, message=message):
            return f"{code}: {message}"


def _suggestions(asked: OpenQuestion) -> str:
    names = [option.label for option in asked.options] or (field_names(asked) if asked.kind is Kind.FILL_FIELDS else [])
    return f" [{' | '.join(names)}]" if names else ""


def span(seconds: float) -> str:
    """A length of time, as exact as it is worth reading."""
    if seconds < 60:
        return f"{seconds:.1f} s"
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


def _shown(value: JsonValue) -> str:
    return one_line(as_text(value), GIST_LENGTH)

"""How questions, tools, answers and ends read on a screen."""

from rich.text import Text

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
from turnwise.sessions import (
    Entry,
    MessageEntry,
    Role,
    SessionState,
    SessionView,
    ToolCallEntry,
    ToolOutputEntry,
)
from turnwise.statechart import State
from turnwise.status import Status
from turnwise.wording.answers import as_text, example, field_names, is_choice, keys
from turnwise.wording.outcomes import decision
from turnwise.wording.texts import GIST_LENGTH, arguments, clean, one_line, shown
from turnwise.wording.times import span

STATE_STYLES = {
    State.QUEUED: "quiet",
    State.RUNNING: "name",
    State.WAITING_USER: "ask",
    State.SUCCEEDED: "good",
    State.FAILED: "bad",
    State.CANCELED: "warn",
}

STATUS_STYLES = {
    Status.ACCEPTED: "quiet",
    Status.AWAITING_OUTPUT: "quiet",
    Status.ACTIVE_OUTPUT: "quiet",
    Status.STALLED: "warn",
    Status.COMPLETED: "quiet",
    Status.ERROR: "bad",
    Status.CLOSED: "quiet",
}


def session_state(view: SessionView) -> Text:
    if view.state is SessionState.CLOSED:
        return Text("closed", style="quiet")
    return Text("at work", style="name") if view.active_run_id is not None else Text("idle", style="good")


def speaker(entry: Entry) -> Text:
    match entry:
        case MessageEntry(role=Role.USER):
            return Text("user", style="ask")
        case MessageEntry(role=role):
            return Text("agent" if role is Role.ASSISTANT else role.value, style="name")
        case _:
            return Text("tool", style="quiet")


def said(entry: Entry) -> Text:
    match entry:
        case MessageEntry(text=text, status=status):
            return Text(clean(text) + (" …" if status == "interrupted" else ""))
        case ToolCallEntry(name=name, arguments=values):
            return Text(f"→ {clean(name)}({arguments(values)})", style="quiet")
        case ToolOutputEntry(name=name, status=ToolStatus.FAILED, result=result):
            return Text(f"✗ {clean(name)} failed: {shown(result)}", style="bad")
        case ToolOutputEntry(result=result):
            return Text(f"← {shown(result)}", style="quiet")


def prompt(text: str) -> Text:
    """What somebody has asked the agent to do."""
    return Text("\n› ", style="ask").append(clean(text), style="default")


def remembered(entry: Entry) -> Text:
    """An entry of the transcript, as it looked when it was said."""
    match entry:
        case MessageEntry(role=Role.USER, text=text):
            return prompt(text)
        case MessageEntry():
            return Text("\n").append_text(said(entry))
        case _:
            return Text("  ").append_text(said(entry))


def question(asked: OpenQuestion) -> Text:
    mark = "!" if asked.kind is Kind.RISK_ACK else "?"
    text = Text(f"{mark} ", style="bad" if asked.kind is Kind.RISK_ACK else "ask")
    text.append(clean(asked.prompt), style="name")
    if asked.context:
        for name, value in asked.context.items():
            text.append(f"\n    {clean(name)}: {shown(value)}", style="quiet")
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


def tool_call(call: ToolCall) -> Text:
    return Text("  → ", "quiet").append(clean(call.name), "name").append(f"({arguments(call.arguments)})", "quiet")


def tool_result(result: ToolResult) -> Text:
    if result.status is ToolStatus.FAILED:
        return Text(f"  ✗ {clean(result.name)} failed: {shown(result.result)}", style="bad")
    return Text(f"  ← {shown(result.result)}", style="quiet")


def decided(data: AutoDecided, mode: Mode) -> Text:
    return Text(f"  {decision(data, mode)}", style="warn")


def answered_elsewhere(reply: ReplyAccepted) -> Text:
    return Text(f"  Answered elsewhere: {shown(reply.response)}", style="warn")


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
            return f"#{number} answered: {shown(response)}"
        case AutoDecided(interaction_id=number, policy=Policy.USE_DEFAULT, response=response):
            return f"#{number} default taken: {shown(response)}"
        case AutoDecided(interaction_id=number):
            return f"#{number} left to the agent"
        case ToolCall(name=name, arguments=values):
            return f"{name} {json_text(values)}"
        case ToolResult(name=name, status=status, result=result):
            return f"{name} {status.value}: {shown(result)}"
        case ConversationCompleted(attempts=attempts):
            return "1 turn" if attempts == 1 else f"{attempts} turns"
        case ConversationFailed(error=error):
            return f"{error.code}: {error.message}"
        case DiagnosticWarning(code=code, message=message):
            return f"{code}: {message}"


def _suggestions(asked: OpenQuestion) -> str:
    names = [option.label for option in asked.options] or (field_names(asked) if asked.kind is Kind.FILL_FIELDS else [])
    return f" [{' | '.join(names)}]" if names else ""

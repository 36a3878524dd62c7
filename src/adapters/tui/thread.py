"""The conversation as it is read: what the log says, in its order, and at the end the message being written."""

from collections.abc import Iterable

from textual.containers import VerticalScroll
from textual.widget import Widget

from turnwise.adapters.tui.messages import AgentMessage, Note, UserMessage
from turnwise.adapters.tui.question import QuestionForm
from turnwise.adapters.tui.tools import ToolUse
from turnwise.errors import RUN_CANCELED
from turnwise.fcmp.events import (
    DATA_MODELS,
    AutoDecided,
    ConversationFailed,
    ConversationStarted,
    DiagnosticWarning,
    FcmpEvent,
    MessageFinal,
    Mode,
    ReplyAccepted,
    ToolCall,
    ToolResult,
)
from turnwise.fcmp.questions import OpenQuestion
from turnwise.sessions import Entry, MessageEntry, Role, ToolCallEntry, ToolOutputEntry
from turnwise.wording.outcomes import decision
from turnwise.wording.texts import sentence, shown


class Thread(VerticalScroll):
    DEFAULT_CSS = """
    Thread { height: 1fr; padding: 0 1 1 1; scrollbar-size-vertical: 1; scrollbar-color: $surface-lighten-2;
             scrollbar-background: $background; scrollbar-background-hover: $background; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.begin()

    def begin(self) -> None:
        """Another conversation. Nothing is shown until `settle`: no old question flashes by."""
        self._held: list[Widget] | None = []
        self._mode, self._strict = Mode.INTERACTIVE, True
        self._writing: tuple[str, str] | None = None
        self._message: AgentMessage | None = None
        self._newest: Widget | None = None
        self._tools: dict[tuple[str, str], ToolUse] = {}
        self._questions: dict[tuple[str, int], QuestionForm] = {}
        self.own_replies: set[str] = set()
        self.runs: set[str] = set()
        """Those whose beginning was seen."""

    def on_mount(self) -> None:
        self.anchor()

    @property
    def is_settled(self) -> bool:
        return self._held is None

    async def settle(self, inherited: Iterable[Entry]) -> None:
        """The log is caught up with: all of it appears at once, after what the session began with."""
        if self._held is None:
            return
        widgets, self._held = [*_remembered(inherited), *self._held], None
        await self.remove_children()
        await self.mount_all(widgets)
        self.anchor()
        self._focus_question()

    def obey(self, *, mode: Mode, strict: bool) -> None:
        """How questions are dealt with here."""
        self._mode, self._strict = mode, strict

    def apply(self, event: FcmpEvent) -> None:
        run_id = event.run_id
        match DATA_MODELS[event.type].model_validate(event.data):
            case ConversationStarted(prompt=prompt):
                self.runs.add(run_id)
                if prompt:
                    self._add(UserMessage(prompt))
            case MessageFinal() as message:
                self._message_of(run_id, message.message_id).finish(message)
                self._writing = self._message = None
            case ToolCall() as call:
                tool = self._tools[run_id, call.call_id] = ToolUse.of(call)
                self._add(tool)
            case ToolResult() as result:
                if (run_id, result.call_id) in self._tools:
                    self._tools[run_id, result.call_id].finish(result)
            case OpenQuestion() as question:
                self._ask(run_id, question)
            case ReplyAccepted() as reply:
                whose = "You answered" if reply.reply_id in self.own_replies else "Answered elsewhere"
                if self._held is not None:
                    whose = "Answered"
                self._resolve(run_id, reply.interaction_id, f"{whose}: {shown(reply.response)}")
            case AutoDecided() as decided:
                self._resolve(run_id, decided.interaction_id, decision(decided, self._mode))
            case DiagnosticWarning(message=message, code=code):
                self._add(Note(f"{sentence(message)} ({code})", "-warn"))
            case ConversationFailed(error=error) if error.code == RUN_CANCELED:
                self._end(run_id, Note("■ Canceled."))
            case ConversationFailed(error=error):
                self._end(run_id, Note(f"✗ {sentence(error.message)} ({error.code})", "-bad"))
            case _:
                pass

    def write(self, run_id: str, message_id: str, offset: int, text: str) -> None:
        self._message_of(run_id, message_id).write(offset, text)

    def _message_of(self, run_id: str, message_id: str) -> AgentMessage:
        if self._message is None or self._writing != (run_id, message_id):
            self._writing, self._message = (run_id, message_id), AgentMessage()
            self._add(self._message)
        return self._message

    def _ask(self, run_id: str, question: OpenQuestion) -> None:
        known = self._questions.get((run_id, question.interaction_id))
        if known is not None and known.question == question:
            return  # asked again after a restart
        form = QuestionForm(run_id, question, strict=self._strict)
        self._questions[run_id, question.interaction_id] = form
        if self._mode is Mode.AUTO:
            form.resolve("Nobody is asked in auto mode.")
        self._add(form)
        if self._held is None:
            self.call_after_refresh(self._focus_question)

    def _resolve(self, run_id: str, interaction_id: int, outcome: str) -> None:
        form = self._questions.get((run_id, interaction_id))
        if form is not None:
            form.resolve(outcome)

    def _end(self, run_id: str, note: Note) -> None:
        for (of_run, _), form in self._questions.items():
            if of_run == run_id and form.outcome is None:
                form.resolve("No longer asked.")
        self._add(note)

    def _focus_question(self) -> None:
        """Unless the person is in the middle of something else."""
        form = next((each for each in self._questions.values() if each.outcome is None), None)
        writing = self.app.focused is not None and bool(getattr(self.app.focused, "text", ""))
        if form is not None and form.is_mounted and not writing:
            form.take_focus()

    def _add(self, widget: Widget) -> None:
        widget.set_class(isinstance(widget, ToolUse) and isinstance(self._newest, ToolUse), "-following")
        self._newest = widget
        if self._held is not None:
            self._held.append(widget)
        else:
            self.mount(widget)


def _remembered(entries: Iterable[Entry]) -> Iterable[Widget]:
    """What a session began with: the transcript of the one that it was forked from, or that was brought in."""
    tools: dict[str, ToolUse] = {}
    for entry in entries:
        match entry:
            case MessageEntry(role=Role.USER, text=text):
                yield UserMessage(text)
            case MessageEntry(text=text):
                yield AgentMessage(text)
            case ToolCallEntry(call_id=call_id, name=name, arguments=values):
                tools[call_id] = ToolUse(name, values)
                yield tools[call_id]
            case ToolOutputEntry(call_id=call_id, status=status, result=result) if call_id in tools:
                tools[call_id].end(status, result)
            case _:
                pass

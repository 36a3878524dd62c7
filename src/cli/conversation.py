"""A run followed on a screen as a conversation: text as it is written, tools, questions, and the person's replies."""

import asyncio
import contextlib
import sys
import uuid
from enum import StrEnum

from pydantic import JsonValue
from rich.console import Console, RenderableType
from rich.text import Text

from turnwise.cli import rendering
from turnwise.cli.answers import Answering, Response, answering
from turnwise.cli.consoles import clean
from turnwise.cli.execution import ExitCode, sentence
from turnwise.cli.keyboard import Keyboard, Typed
from turnwise.cli.targets import Target
from turnwise.client import Run
from turnwise.errors import (
    RUN_CANCELED,
    AlreadyAnswered,
    InteractionStale,
    NotWaiting,
    ReplyMalformed,
    ResponseInvalid,
    Unavailable,
)
from turnwise.fcmp.events import (
    DATA_MODELS,
    AutoDecided,
    ConversationCompleted,
    ConversationFailed,
    DiagnosticWarning,
    FcmpEvent,
    MessageFinal,
    Mode,
    OutputStatus,
    ReplyAccepted,
    ToolCall,
    ToolResult,
)
from turnwise.fcmp.questions import OpenQuestion
from turnwise.store.records import RunView, StoredEvent
from turnwise.store.watching import Delta, Frame, Snapshot

SEND_AGAIN_SEC = 1.0


class Manner(StrEnum):
    """How far a command stays with the run that it started."""

    DETACH = "detach"
    ASK = "ask"
    """To the end, asking the person at the terminal."""
    WATCH = "watch"
    """To the end, whoever replies."""
    LEAVE_AT_QUESTION = "leave_at_question"

    def leaves_at_question(self, mode: Mode) -> bool:
        """In `auto` mode nobody is waited for: the next turn follows at once."""
        return self is Manner.LEAVE_AT_QUESTION and mode is Mode.INTERACTIVE


def ended(event: FcmpEvent) -> ExitCode | None:
    data = DATA_MODELS[event.type].model_validate(event.data)
    if isinstance(data, ConversationCompleted):
        return ExitCode.OK
    if isinstance(data, ConversationFailed):
        return ExitCode.CANCELED if data.error.code == RUN_CANCELED else ExitCode.FAILED
    return None


class Conversation:
    def __init__(self, run: Run, target: Target, manner: Manner, console: Console) -> None:
        self._run = run
        self._target = target
        self._manner = manner
        self._console = console
        self._inbox: asyncio.Queue[Frame | Typed | None] = asyncio.Queue()
        """All that happens, in order: frames of the run, and lines typed. None when the run can be watched no more."""
        self._keyboard = Keyboard(self._inbox.put_nowait) if manner is Manner.ASK else None
        self._view: RunView | None = None
        self._message_id: str | None = None
        self._written = 0
        self._question: OpenQuestion | None = None
        self._answering: Answering | None = None
        self._own_replies: set[str] = set()
        self._exit: ExitCode | None = None

    async def follow(self) -> ExitCode:
        pump = asyncio.create_task(self._pump())
        try:
            while self._exit is None:
                happening = await self._inbox.get()
                if happening is None:
                    await pump  # raises what ended it
                    return ExitCode.FAILED
                if isinstance(happening, Typed):
                    await self._take(happening.line)
                else:
                    self._show(happening)
            return self._exit
        except asyncio.CancelledError:
            self._leave()
            raise
        finally:
            if self._keyboard is not None:
                self._keyboard.stop()
            pump.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await pump

    async def _pump(self) -> None:
        try:
            async for frame in self._run.frames():
                self._inbox.put_nowait(frame)
        finally:
            self._inbox.put_nowait(None)

    # What happens in the run

    def _show(self, frame: Frame) -> None:
        match frame:
            case Snapshot(run=view, message=message):
                self._view = view
                self._print(Text(f"Run {view.run_id}", style="quiet"))
                if message is not None:
                    self._write(message.message_id, 0, message.text)
            case Delta(message_id=message_id, offset=offset, text=text):
                self._write(message_id, offset, text)
            case StoredEvent(body=body):
                self._show_event(FcmpEvent.model_validate_json(body))
            case _:
                pass

    def _show_event(self, event: FcmpEvent) -> None:
        match DATA_MODELS[event.type].model_validate(event.data):
            case MessageFinal() as message:
                self._finish_message(message)
            case OpenQuestion() as question:
                self._ask(question)
            case ReplyAccepted() as reply:
                if reply.reply_id not in self._own_replies:
                    self._decided_elsewhere(rendering.answered_elsewhere(reply))
            case AutoDecided() as decided:
                self._decided_elsewhere(rendering.decision(decided, self._known_view.mode))
            case ToolCall() as call:
                self._print(rendering.tool_call(call))
            case ToolResult() as result:
                self._print(rendering.tool_result(result))
            case DiagnosticWarning() as warning:
                self._interject(rendering.warning(warning))
                self._prompt()
            case ConversationCompleted() | ConversationFailed() as end:
                self._interject(Text())
                self._print(rendering.ending(end, self._age(event)))
                self._exit = ended(event)
            case _:
                pass

    def _write(self, message_id: str, offset: int, text: str) -> None:
        """Only what is not on the screen yet."""
        if message_id != self._message_id:
            self._console.print()
            self._message_id, self._written = message_id, 0
        new = text[self._written - offset :] if offset <= self._written else text
        self._written = offset + len(text)
        self._console.out(clean(new), end="", highlight=False)
        self._console.file.flush()

    def _finish_message(self, message: MessageFinal) -> None:
        self._write(message.message_id, 0, message.text)
        if message.status is OutputStatus.INTERRUPTED:
            self._console.out(" …", end="", highlight=False)
        self._end_line()

    def _end_line(self) -> None:
        if self._written:
            self._console.print()
        self._message_id, self._written = None, 0

    # Questions

    def _ask(self, question: OpenQuestion) -> None:
        view = self._known_view
        if self._question == question and self._answering is not None:
            return  # asked again after a restart, and still on the screen
        self._question = question
        self._console.print()
        self._print(rendering.question(question))
        if self._manner.leaves_at_question(view.mode):
            self._print(Text("  The run waits for a reply.", style="quiet"))
            self._print(rendering.how_to_reply(question, self._run.id, self._target))
            self._exit = ExitCode.OK
        elif view.mode is Mode.INTERACTIVE:
            self._wait_for_reply(question, view)

    def _wait_for_reply(self, question: OpenQuestion, view: RunView) -> None:
        deadline = rendering.deadline(question, strict=view.interactive_require_user_reply)
        if deadline is not None:
            self._print(Text(f"  {deadline}", style="quiet"))
        if self._keyboard is None:
            self._print(rendering.how_to_reply(question, self._run.id, self._target))
            return
        self._answering = answering(question)
        self._keyboard.listen()
        self._prompt()

    async def _take(self, line: str | None) -> None:
        if self._answering is None or self._question is None:
            return  # it was answered while the person typed
        if line is None:
            self._console.print()
            self._print(Text("  The run waits for a reply.", style="quiet"))
            self._print(rendering.how_to_reply(self._question, self._run.id, self._target))
            self._exit = ExitCode.OK
            return
        try:
            response = self._answering.take(line)
            if response is not None:
                await self._send(self._question, response)
                return
        except (ResponseInvalid, ReplyMalformed) as refusal:
            self._print(Text(f"  Not accepted: {clean(sentence(refusal.message))}", style="warn"))
            self._answering.restart()
        self._prompt()

    async def _send(self, question: OpenQuestion, response: Response) -> None:
        reply_id = str(uuid.uuid4())
        self._own_replies.add(reply_id)
        while True:
            try:
                await self._reply(question.interaction_id, response.value, reply_id)
                return
            except Unavailable as error:
                self._print(Text(f"  {error.message} Sending it again …", style="warn"))
                await asyncio.sleep(SEND_AGAIN_SEC)

    async def _reply(self, interaction_id: int, response: JsonValue, reply_id: str) -> None:
        with contextlib.suppress(AlreadyAnswered, InteractionStale, NotWaiting):  # the log tells who was first
            await self._run.reply(interaction_id, response, reply_id=reply_id)
            self._close_question()

    def _close_question(self) -> None:
        self._question = self._answering = None
        if self._keyboard is not None:
            self._keyboard.stop()

    def _decided_elsewhere(self, what: Text) -> None:
        self._interject(what)
        if self._keyboard is not None and self._answering is not None:
            self._keyboard.forget()
        self._close_question()

    def _interject(self, what: Text) -> None:
        """Something to read while the prompt may be on the screen: not behind it."""
        if self._answering is not None:
            self._console.print()
        self._print(what)

    def _prompt(self) -> None:
        if self._answering is not None:
            self._console.out(f"  {clean(self._answering.prompt)}", end="", style="ask", highlight=False)
            self._console.file.flush()

    # The screen

    @property
    def _known_view(self) -> RunView:
        assert self._view is not None, "a snapshot comes before everything else"
        return self._view

    def _age(self, event: FcmpEvent) -> float:
        return rendering.seconds_between(self._known_view.created_at, event.ts)

    def _print(self, what: RenderableType) -> None:
        self._end_line()
        self._console.print(what, soft_wrap=True)

    def _leave(self) -> None:
        self._console.print()
        lines = ["The run goes on."]
        if self._question is not None:
            lines.append(rendering.how_to_reply(self._question, self._run.id, self._target).plain)
        lines.append(f"  Watch it:   {self._target.command('events', self._run.id)}")
        lines.append(f"  Cancel it:  {self._target.command('cancel', self._run.id)}")
        sys.stderr.write("\n".join([*lines, ""]))

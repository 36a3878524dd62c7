"""A run followed on a screen as a conversation: text as it is written, tools, questions, and the person's replies."""

import asyncio
import sys
from enum import StrEnum

from rich.console import Console
from rich.text import Text

from turnwise.cli import rendering
from turnwise.cli.asking import Asking
from turnwise.cli.execution import ExitCode
from turnwise.cli.happenings import Happenings
from turnwise.cli.keyboard import Keyboard, Typed
from turnwise.cli.screen import Screen
from turnwise.cli.targets import Target
from turnwise.cli.telling import tell, tell_status
from turnwise.client import Run
from turnwise.errors import RUN_CANCELED
from turnwise.fcmp.events import DATA_MODELS, ConversationCompleted, ConversationFailed, FcmpEvent, Mode
from turnwise.fcmp.questions import OpenQuestion
from turnwise.store.records import RunView, StoredEvent
from turnwise.store.watching import Delta, Frame, Snapshot, StatusChanged
from turnwise.wording.times import seconds_between


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
        self._happenings = Happenings()
        self._keyboard = Keyboard(self._happenings.add) if manner is Manner.ASK else None
        self._screen = Screen(console)
        self._asking = Asking(self._screen, target, self._keyboard)
        self._view: RunView | None = None
        self._exit: ExitCode | None = None

    async def follow(self) -> ExitCode:
        try:
            async with self._happenings.following(self._run.frames()):
                while self._exit is None:
                    await self._take_next()
                return self._exit
        except asyncio.CancelledError:
            self._leave()
            raise
        finally:
            if self._keyboard is not None:
                self._keyboard.stop()

    async def _take_next(self) -> None:
        match await self._happenings.next():
            case None:
                self._exit = ExitCode.FAILED
            case Typed(line=None):
                self._leave_at_question()
            case Typed(line=str() as line):
                self._screen.entered()
                await self._asking.take(line)
            case StatusChanged(status=status):
                tell_status(status, self._screen, self._asking)
            case Snapshot() | Delta() | StoredEvent() as frame:
                self._show(frame)
            case _:
                pass
        if self._keyboard is not None:
            (self._keyboard.listen if self._asking.is_waiting else self._keyboard.stop)()

    def _show(self, frame: Frame) -> None:
        match frame:
            case Snapshot(run=view, message=message):
                self._view = view
                self._screen.print(Text(f"Run {view.run_id}", style="quiet"))
                if message is not None:
                    self._screen.write(message.message_id, 0, message.text)
            case Delta(message_id=message_id, offset=offset, text=text):
                self._screen.write(message_id, offset, text)
            case StoredEvent(body=body):
                self._show_event(FcmpEvent.model_validate_json(body))
            case _:
                pass

    def _show_event(self, event: FcmpEvent) -> None:
        view = self._known_view
        match DATA_MODELS[event.type].model_validate(event.data):
            case OpenQuestion() as question:
                self._ask(question, view)
            case ConversationCompleted() | ConversationFailed() as end:
                self._screen.blank()
                self._screen.print(rendering.ending(end, seconds_between(view.created_at, event.ts)))
                self._exit = ended(event)
            case data:
                tell(data, view.mode, self._screen, self._asking)

    def _ask(self, question: OpenQuestion, view: RunView) -> None:
        if self._asking.knows(self._run.id, question):
            return
        self._asking.show(self._run, question)
        if self._manner.leaves_at_question(view.mode):
            self._leave_at_question()
        elif view.mode is Mode.INTERACTIVE:
            self._asking.wait(strict=view.interactive_require_user_reply)

    def _leave_at_question(self) -> None:
        self._asking.leave()
        self._exit = ExitCode.OK

    @property
    def _known_view(self) -> RunView:
        assert self._view is not None, "a snapshot comes before everything else"
        return self._view

    def _leave(self) -> None:
        self._screen.blank()
        lines = ["The run goes on."]
        if self._asking.how_to_reply is not None:
            lines.append(self._asking.how_to_reply.plain)
        lines.append(f"  Watch it:   {self._target.command('events', self._run.id)}")
        lines.append(f"  Cancel it:  {self._target.command('cancel', self._run.id)}")
        sys.stderr.write("\n".join([*lines, ""]))

"""`turnwise chat`: a session talked to in the terminal. What is typed while it works follows when it is done."""

import asyncio
import sys
import uuid

from rich.console import Console
from rich.text import Text

from turnwise.cli import rendering
from turnwise.cli.asking import Asking
from turnwise.cli.consoles import console
from turnwise.cli.execution import ExitCode
from turnwise.cli.happenings import Happenings, Interrupt
from turnwise.cli.keyboard import Keyboard, Typed, is_terminal
from turnwise.cli.persistence import persistently
from turnwise.cli.screen import Screen
from turnwise.cli.targets import Target
from turnwise.cli.telling import tell, tell_status
from turnwise.client import AgentSession, Turnwise
from turnwise.errors import (
    RUN_CANCELED,
    PromptMalformed,
    QueueFull,
    RunInputInvalid,
    SessionClosed,
    SetupError,
    Unavailable,
)
from turnwise.fcmp.events import (
    DATA_MODELS,
    ConversationCompleted,
    ConversationFailed,
    ConversationStarted,
    FcmpEvent,
    Mode,
)
from turnwise.fcmp.questions import OpenQuestion
from turnwise.runs import RunSettings
from turnwise.sessions import ItemStatus, MessageEntry, PendingItem, SessionState, SessionView, StreamingBehavior
from turnwise.statechart import TERMINAL
from turnwise.store.records import StoredEvent
from turnwise.store.watching import Delta, QueueChanged, SessionSnapshot, StatusChanged
from turnwise.wording.texts import GIST_LENGTH, clean, one_line, sentence
from turnwise.wording.times import seconds_between

COMPOSER = "› "
REMEMBERED = 10
"""How many entries of a session that goes on are shown again."""


async def chat(target: Target, session_id: str | None, settings: RunSettings) -> ExitCode:
    if not is_terminal():
        prompt = target.command("sessions", "prompt", session_id or "SESSION", "…", "--wait")
        raise SetupError(f"A chat needs a terminal; in a script, use `{prompt}`.")
    if session_id is not None and settings != RunSettings():
        raise RunInputInvalid("What a session was created with stays as it is: leave these options out.")
    async with target.connect() as turnwise:
        session = turnwise.session(session_id) if session_id else await turnwise.create_session_with(settings)
        return await Chat(turnwise, session, target, console()).talk()


class Chat:
    def __init__(self, turnwise: Turnwise, session: AgentSession, target: Target, console: Console) -> None:
        self._turnwise = turnwise
        self._session = session
        self._target = target
        self._happenings = Happenings()
        self._keyboard = Keyboard(self._happenings.add)
        self._screen = Screen(console)
        self._asking = Asking(self._screen, target, self._keyboard)
        self._view: SessionView | None = None
        self._active: str | None = None
        """The run that is under way."""
        self._began_at = ""
        self._queue: list[PendingItem] = []
        self._own_runs: set[str] = set()
        """Begun by what was typed here: it stands on the screen already."""
        self._warned = False
        """Ctrl-C was pressed, and once more leaves."""
        self._exit: ExitCode | None = None

    async def talk(self) -> ExitCode:
        view = self._view = await self._session.view()
        if view.state is SessionState.CLOSED:
            raise SessionClosed("The session is closed.")
        await self._welcome(view)
        self._keyboard.listen()
        try:
            with self._happenings.interrupts():
                async with self._happenings.following(self._session.frames(view.last_seq)):
                    while self._exit is None:
                        await self._take_next()
                return self._exit
        except asyncio.CancelledError:
            self._leave(ExitCode.CANCELED)
            raise
        finally:
            self._keyboard.stop()

    async def _take_next(self) -> None:
        match await self._happenings.next():
            case None:
                self._screen.print(Text("The session was closed.", style="warn"))
                self._exit = ExitCode.OK
            case Interrupt():
                await self._interrupt()
            case Typed(line=None):
                self._leave(ExitCode.OK)
            case Typed(line=str() as line):
                self._warned = False
                self._screen.entered()
                await self._take(line)
            case SessionSnapshot() as snapshot:
                self._show_snapshot(snapshot)
            case Delta(message_id=message_id, offset=offset, text=text):
                self._screen.write(message_id, offset, text)
            case StatusChanged(status=status):
                tell_status(status, self._screen, self._asking)
            case QueueChanged(items=items):
                emptied, self._queue = bool(self._queue) and not items, items
                if emptied:
                    self._compose()
            case StoredEvent(body=body):
                self._show_event(FcmpEvent.model_validate_json(body))
            case _:
                pass

    # What happens in the session

    async def _welcome(self, view: SessionView) -> None:
        self._screen.print(Text(f"Session {view.session_id}", style="quiet"))
        first = max(view.total_entries - REMEMBERED, 0)
        if first:
            transcript = self._target.command("sessions", "transcript", view.session_id)
            self._screen.print(Text(f"… {first} entries before: {transcript}", style="quiet"))
        entries = [each.entry for each in await self._session.transcript(first, view.total_entries - first)]
        last = entries[-1] if entries else None
        if isinstance(last, MessageEntry) and last.interaction_id and last.run_id == view.active_run_id:
            entries.pop()  # it is still open, and about to be asked
        for entry in entries:
            self._screen.print(rendering.remembered(entry))
        keys = "Enter sends, Ctrl-C cancels what is under way, Ctrl-D leaves; the session stays."
        self._screen.print(Text(keys, style="quiet"))

    def _show_snapshot(self, snapshot: SessionSnapshot) -> None:
        run, message = snapshot.run, snapshot.message
        self._queue = snapshot.queue
        if run is not None and run.state not in TERMINAL:
            self._active, self._began_at = run.run_id, run.created_at
        if message is not None:
            self._screen.write(message.message_id, 0, message.text)
        if run is not None and run.pending is not None:
            self._ask(run.run_id, run.pending)
        self._compose()

    def _show_event(self, event: FcmpEvent) -> None:
        match DATA_MODELS[event.type].model_validate(event.data):
            case ConversationStarted(prompt=prompt):
                self._active, self._began_at = event.run_id, event.ts
                if event.run_id not in self._own_runs:
                    self._screen.print(rendering.prompt(prompt))
            case OpenQuestion() as question:
                self._ask(event.run_id, question)
            case ConversationCompleted():
                self._end()
            case ConversationFailed() as failed:
                self._screen.print(rendering.ending(failed, seconds_between(self._began_at, event.ts)))
                if failed.error.code == RUN_CANCELED:
                    self._tell_dropped()
                self._end()
            case data:
                tell(data, self._known_view.mode, self._screen, self._asking)

    def _tell_dropped(self) -> None:
        """What was queued behind a canceled run goes with it."""
        for item in self._queue:
            text = one_line(item.text_preview, GIST_LENGTH)
            self._screen.print(Text(f"  Not executed, because it was queued: {text}", style="warn"))

    def _ask(self, run_id: str, question: OpenQuestion) -> None:
        if self._asking.knows(run_id, question):
            return
        self._asking.show(self._turnwise.run(run_id), question)
        if self._known_view.mode is Mode.INTERACTIVE:
            self._asking.wait(strict=self._known_view.interactive_require_user_reply)

    def _end(self) -> None:
        self._active, self._warned = None, False
        self._asking.close()
        self._compose()

    # What the person does

    async def _take(self, line: str) -> None:
        if self._asking.is_waiting:
            await self._asking.take(line)
        elif line.strip():
            await self._submit(line)
        else:
            self._compose()

    async def _submit(self, text: str) -> None:
        prompt_id = str(uuid.uuid4())
        behavior = StreamingBehavior.FOLLOW_UP
        try:
            receipt = await persistently(
                lambda: self._session.submit(text, streaming_behavior=behavior, prompt_id=prompt_id), self._screen
            )
        except (PromptMalformed, QueueFull) as refusal:
            self._screen.print(Text(f"  Not accepted: {clean(sentence(refusal.message))}", style="warn"))
            self._compose()
            return
        if receipt.status is ItemStatus.QUEUED:
            self._screen.print(Text("  Queued: it follows when this is done.", style="quiet"))
        elif receipt.run_id is not None:
            self._active = receipt.run_id
            self._own_runs.add(receipt.run_id)

    async def _interrupt(self) -> None:
        self._screen.disturbed()
        if self._warned:
            self._leave(ExitCode.CANCELED)
            return
        self._warned = True
        if self._active is None:
            self._screen.print(Text("  Nothing is under way. Ctrl-C again leaves; the session stays.", style="warn"))
            self._compose()
            return
        self._screen.print(Text("  Canceling it … (Ctrl-C again leaves; the session stays)", style="warn"))
        try:
            await self._session.cancel_active_prompt()
        except Unavailable as error:
            self._screen.print(Text(f"  {clean(sentence(error.message))} It is not canceled.", style="bad"))

    def _compose(self) -> None:
        if self._active is None and not self._queue and not self._asking.is_waiting:
            self._screen.blank()
            self._screen.prompt(COMPOSER)

    @property
    def _known_view(self) -> SessionView:
        assert self._view is not None, "talk begins with a look at the session"
        return self._view

    def _leave(self, code: ExitCode) -> None:
        self._screen.blank()
        lines = ["The session stays."]
        if self._asking.how_to_reply is not None:
            lines.append(self._asking.how_to_reply.plain)
        lines.append(f"  Come back:  {self._target.command('chat', self._session.id)}")
        lines.append(f"  Close it:   {self._target.command('sessions', 'close', self._session.id)}")
        sys.stderr.write("\n".join([*lines, ""]))
        self._exit = code

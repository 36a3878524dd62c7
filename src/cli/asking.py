"""The open question on a screen, and the reply of the person who sits at it."""

import contextlib
import uuid
from datetime import UTC, datetime

from pydantic import JsonValue
from rich.text import Text

from turnwise.cli import rendering
from turnwise.cli.keyboard import Keyboard
from turnwise.cli.persistence import persistently
from turnwise.cli.screen import Screen
from turnwise.cli.targets import Target
from turnwise.client import Run
from turnwise.errors import AlreadyAnswered, InteractionStale, NotWaiting, ReplyMalformed, ResponseInvalid
from turnwise.fcmp.events import ReplyAccepted
from turnwise.fcmp.questions import OpenQuestion
from turnwise.wording.answers import Answering, answering
from turnwise.wording.texts import clean, sentence
from turnwise.wording.times import deadline


class Asking:
    def __init__(self, screen: Screen, target: Target, keyboard: Keyboard | None) -> None:
        self._screen = screen
        self._target = target
        self._keyboard = keyboard
        self._run: Run | None = None
        self._question: OpenQuestion | None = None
        self._answering: Answering | None = None
        self._own_replies: set[str] = set()

    @property
    def is_waiting(self) -> bool:
        """Whether what the person types is an answer."""
        return self._answering is not None

    @property
    def how_to_reply(self) -> Text | None:
        """With another command; None when no question is open."""
        if self._run is None or self._question is None:
            return None
        return rendering.how_to_reply(self._question, self._run.id, self._target)

    def knows(self, run_id: str, question: OpenQuestion) -> bool:
        """Asked again after a restart, and still on the screen."""
        return self.is_waiting and self._question == question and self._run is not None and self._run.id == run_id

    def show(self, run: Run, question: OpenQuestion) -> None:
        self._run, self._question = run, question
        self._screen.blank()
        self._screen.print(rendering.question(question))

    def leave(self) -> None:
        """The question stays open; somebody will answer it elsewhere."""
        self._screen.print(Text("  The run waits for a reply.", style="quiet"))
        self._say_how_to_reply()

    def wait(self, *, strict: bool) -> None:
        assert self._question is not None, "a question is shown before it is waited for"
        until = deadline(self._question, datetime.now(UTC), strict=strict)
        if until is not None:
            self._screen.print(Text(f"  {until}", style="quiet"))
        if self._keyboard is None:
            self._say_how_to_reply()
            return
        self._answering = answering(self._question)
        self._keyboard.forget()  # what was typed before the question was on the screen is no answer to it
        self.prompt()

    def prompt(self) -> None:
        if self._answering is not None:
            self._screen.prompt(f"  {self._answering.prompt}")

    async def take(self, line: str) -> None:
        if self._answering is None or self._question is None:
            return  # it was answered while the person typed
        try:
            response = self._answering.take(line)
            if response is not None:
                await self._send(self._question, response.value)
                return
        except (ResponseInvalid, ReplyMalformed) as refusal:
            self._screen.print(Text(f"  Not accepted: {clean(sentence(refusal.message))}", style="warn"))
            self._answering.restart()
        self.prompt()

    def is_own(self, reply: ReplyAccepted) -> bool:
        return reply.reply_id in self._own_replies

    def decided_elsewhere(self, what: Text) -> None:
        self._screen.print(what)
        if self._keyboard is not None and self.is_waiting:
            self._keyboard.forget()
        self.close()

    def close(self) -> None:
        self._question = self._answering = None

    async def _send(self, question: OpenQuestion, response: JsonValue) -> None:
        assert self._run is not None
        run, reply_id = self._run, str(uuid.uuid4())
        self._own_replies.add(reply_id)
        with contextlib.suppress(AlreadyAnswered, InteractionStale, NotWaiting):  # the log tells who was first
            await persistently(lambda: run.reply(question.interaction_id, response, reply_id=reply_id), self._screen)
            self.close()

    def _say_how_to_reply(self) -> None:
        if self.how_to_reply is not None:
            self._screen.print(self.how_to_reply)

"""A person at the terminal UI of a test: looks at the screen, and types."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from textual.message import Message
from textual.messages import Layout, Update
from textual.pilot import Pilot
from textual.widgets import Static

from tests.world import World, until
from turnwise.adapters.tui import TerminalUi
from turnwise.adapters.tui.composer import Composer
from turnwise.adapters.tui.messages import AgentMessage, Note, UserMessage
from turnwise.adapters.tui.pane import ConversationPane
from turnwise.adapters.tui.question import QuestionForm
from turnwise.adapters.tui.queue import Queue
from turnwise.adapters.tui.status_line import StatusLine
from turnwise.client import AgentSession
from turnwise.fcmp.jsonvalue import JsonObject

T = TypeVar("T")

PATIENCE_SEC = 40.0

CONFIRM: JsonObject = {"turns": [[{"ask": {"kind": "confirm", "prompt": "Go on?"}}], [{"final": "Gone on: {reply}."}]]}


class Person:
    """Sits at the screen: sees what is on it, and types."""

    def __init__(self, app: TerminalUi) -> None:
        self.app = app
        self.statuses: list[str] = []
        """Every status that was to be seen, however short."""
        self.drafts: list[str] = []
        """Every state of the newest message of the agent."""
        self.countdown: list[str] = []
        """What was to be read of a question's deadline."""
        self._pilot: Pilot[None] | None = None

    @property
    def pilot(self) -> Pilot[None]:
        assert self._pilot is not None, "the screen is on"
        return self._pilot

    @contextlib.asynccontextmanager
    async def seated(self, size: tuple[int, int]) -> AsyncIterator["Person"]:
        async with self.app.run_test(size=size, message_hook=self._look) as self._pilot:
            yield self

    def _look(self, message: Message) -> None:
        if isinstance(message, ConversationPane.Changed):
            _note(self.statuses, self.status())
        elif isinstance(message, Layout | Update):
            widget = message.widget
            if isinstance(widget.parent, AgentMessage):
                _note(self.drafts, widget.parent.text)
            elif isinstance(widget, Static) and widget.has_class("deadline"):
                _note(self.countdown, str(widget.content))

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def type(self, text: str) -> None:
        await self.pilot.press(*({" ": "space"}.get(letter, letter) for letter in text))

    async def send(self, text: str) -> None:
        await self.type(text)
        await self.press("enter")

    async def sees(self, look: Callable[[], T], good: Callable[[T], bool]) -> T:
        """Waits until it is on the screen."""

        seen: list[T] = []

        async def looked() -> T:
            await self.pilot.pause()
            seen[:] = [look()]
            return seen[0]

        try:
            async with asyncio.timeout(PATIENCE_SEC):
                return await until(looked, good)
        except TimeoutError:
            raise AssertionError(f"what is seen at last is {seen}") from None

    def agent(self) -> list[str]:
        return [message.text for message in self.app.query(AgentMessage)]

    def user(self) -> list[str]:
        return [message.text for message in self.app.query(UserMessage)]

    def notes(self) -> list[str]:
        return [note.text for note in self.app.query(Note)]

    def status(self) -> str:
        return self.app.query_one(StatusLine).words

    def queue(self) -> list[str]:
        return [item.text_preview for item in self.app.query_one(Queue).items]

    def shown_keys(self) -> list[str]:
        return [binding.binding.description for binding in self.app.screen.active_bindings.values() if binding.enabled]

    def writing(self) -> str:
        return self.app.query_one(Composer).text

    async def asked(self) -> QuestionForm:
        forms = await self.sees(lambda: list(self.app.query(QuestionForm)), bool)
        await self.sees(lambda: self.app.focused, lambda focused: focused in list(forms[-1].query("Input, Button")))
        return forms[-1]

    async def outcome(self, form: QuestionForm) -> str:
        words = await self.sees(lambda: [str(each.content) for each in form.query(".outcome").results(Static)], bool)
        return words[0]


@contextlib.asynccontextmanager
async def person_at(
    world: World, conversation_id: str | None = None, size: tuple[int, int] = (100, 36)
) -> AsyncIterator[Person]:
    async with Person(TerminalUi(world.turnwise, conversation_id)).seated(size) as person:
        yield person


def _note(film: list[str], picture: str) -> None:
    if film[-1:] != [picture]:
        film.append(picture)


@contextlib.asynccontextmanager
async def friendly_session(world: World) -> AsyncIterator[AgentSession]:
    """Of the friendly agent, which answers what it is told."""
    session = await world.turnwise.create_session()
    yield session
    if (await session.view()).closed_at is None:
        await session.close()

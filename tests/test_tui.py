"""The terminal UI as a person uses it: keys and clicks, on the real server, with a real worker."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from pydantic import JsonValue
from temporalio.client import Client
from textual.message import Message
from textual.messages import Layout, Update
from textual.pilot import Pilot
from textual.widgets import Button, Footer, Input, Markdown, OptionList, Static
from textual.widgets.markdown import MarkdownBlock

from tests.postgres import postgres
from tests.world import World, start_world, until, until_asked, until_event
from turnwise.adapters.tui import TerminalUi
from turnwise.adapters.tui.composer import Composer
from turnwise.adapters.tui.connection import ConnectionLine
from turnwise.adapters.tui.messages import AgentMessage, Note, UserMessage
from turnwise.adapters.tui.pane import ConversationPane
from turnwise.adapters.tui.question import QuestionForm
from turnwise.adapters.tui.queue import Queue
from turnwise.adapters.tui.sidebar import Sidebar
from turnwise.adapters.tui.status_line import StatusLine
from turnwise.adapters.tui.tools import ToolUse
from turnwise.client import AgentSession, Run
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.sessions import SessionState

T = TypeVar("T")

PATIENCE_SEC = 40.0

SLOW: JsonObject = {"turns": [[{"say": "I am at it."}, {"sleep": 3600}]]}
CONFIRM: JsonObject = {"turns": [[{"ask": {"kind": "confirm", "prompt": "Go on?"}}], [{"final": "Gone on: {reply}."}]]}
LONG = "word " * 100
"""Forty pieces with a pause after each: it is being written for most of a second."""


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


@pytest.fixture
async def session(world: World) -> AsyncIterator[AgentSession]:
    """Of the friendly agent, which answers what it is told."""
    session = await world.turnwise.create_session()
    yield session
    if (await session.view()).closed_at is None:
        await session.close()


async def active(session: AgentSession) -> Run:
    run = await session.active_run()
    assert run is not None
    return run


# The conversation


async def test_a_first_message_begins_a_session_whose_text_streams_in(world: World) -> None:
    async with person_at(world) as person:
        assert person.app.focused is person.app.query_one(Composer)
        await person.send("Say hello")
        assert person.writing() == ""
        await person.sees(person.user, lambda texts: texts == ["Say hello"])
        await person.sees(
            person.agent,
            lambda texts: texts == ["You said: “Say hello”. I had nothing to ask, so here is your answer."],
        )
        await person.sees(person.status, lambda words: words == "Done.")
        listed = await world.turnwise.sessions(1)
        row = person.app.query_one(Sidebar).get_option(listed.sessions[0].session_id)
        await person.sees(lambda: str(row.prompt), lambda text: "Say hello" in text)
    await world.turnwise.session(listed.sessions[0].session_id).close()


async def test_text_appears_while_it_is_being_written_and_the_status_says_so(
    world: World, session: AgentSession
) -> None:
    async with person_at(world, session.id) as person:
        await person.sees(person.status, lambda words: words == "Ready when you are.")
        await session.submit("write", engine_options={"turns": [[{"final": LONG}]]})
        await person.sees(person.status, lambda words: words == "Done.")
        assert person.drafts[-1] == LONG
        assert len(person.drafts) > 10
        assert all(LONG.startswith(draft) for draft in person.drafts)
        assert person.statuses[-2:] == ["The agent is at work.", "Done."]


async def test_what_was_said_before_is_there_at_once_and_text_cannot_control_the_screen(
    world: World, session: AgentSession
) -> None:
    tool: JsonObject = {"tool": {"name": "look", "arguments": {"where": "[red]kitchen"}, "result": "both"}}
    script: JsonObject = {"turns": [[tool, {"final": "\x1b]0;owned\x07[bold]plain[/bold]"}]]}
    await session.prompt("[red]look", engine_options=script)
    async with person_at(world, session.id) as person:
        await person.sees(person.user, lambda texts: texts == ["[red]look"])
        source = person.app.query_one(AgentMessage).query_one(Markdown).source
        assert "\x1b" not in source
        await person.sees(
            lambda: [str(block.render()) for block in person.app.query(MarkdownBlock)],
            lambda shown: len(shown) == 1 and shown[0].endswith("[bold]plain[/bold]"),
        )
        folded = person.app.query_one(ToolUse)
        assert folded.collapsed
        assert "look(where=" in folded.title
        assert folded.title.endswith("✓")


async def test_a_run_on_its_own_can_be_watched_and_answered(world: World) -> None:
    run = await world.turnwise.start("decide", engine_options=CONFIRM)
    await until_asked(run)
    async with person_at(world, run.id) as person:
        form = await person.asked()
        await person.press("enter")
        assert await person.outcome(form) == "You answered: true"
        await person.sees(person.agent, lambda texts: texts == ["Gone on: true."])
        await person.sees(person.status, lambda words: words == "Done.")
        assert person.app.query_one(Composer).disabled


async def test_everything_that_matters_fits_into_eighty_columns(world: World, session: AgentSession) -> None:
    await session.submit("decide", engine_options=CONFIRM)
    async with person_at(world, session.id, size=(80, 24)) as person:
        form = await person.asked()
        visible = (form, person.app.query_one(StatusLine), person.app.query_one(Composer), person.app.query_one(Footer))
        for widget in (*visible, person.app.query_one(Sidebar), *form.query(Button)):
            region = widget.region
            assert region.area > 0, widget
            assert region.right <= 80, widget
            assert region.bottom <= 24, widget


# Questions


@pytest.mark.parametrize(
    ("ask", "keys", "response"),
    [
        (
            {"kind": "choose_one", "options": [{"label": "Tea", "value": "t"}, {"label": "Coffee", "value": "c"}]},
            ["down", "enter"],
            "c",
        ),
        ({"kind": "confirm"}, ["enter"], True),
        ({"kind": "confirm"}, ["tab", "enter"], False),
        ({"kind": "risk_ack"}, ["enter"], False),
        ({"kind": "risk_ack"}, ["shift+tab", "enter"], True),
        ({"kind": "open_text"}, ["b", "l", "u", "e", "enter"], "blue"),
        (
            {
                "kind": "fill_fields",
                "required_fields": ["name"],
                "default": {"name": "Ann"},
                "response_schema": {"properties": {"cups": {"type": "integer"}}},
            },
            ["enter", "2", "enter"],
            {"name": "Ann", "cups": 2},
        ),
    ],
)
async def test_a_question_is_a_form(
    world: World, session: AgentSession, ask: JsonObject, keys: list[str], response: JsonValue
) -> None:
    script: JsonObject = {"turns": [[{"ask": {"prompt": "Well?", **ask}}], [{"final": "Thanks."}]]}
    await session.submit("ask me", engine_options=script)
    run = await active(session)
    async with person_at(world, session.id) as person:
        form = await person.asked()
        assert form.has_class("-risk") == (ask["kind"] == "risk_ack")
        assert person.status() == "The agent waits for your answer."
        await person.press(*keys)
        assert (await person.outcome(form)).startswith("You answered: ")
        await person.sees(person.agent, lambda texts: texts == ["Thanks."])
        assert not form.query("Input, .choice, .deadline")
        assert person.app.focused is person.app.query_one(Composer)
    assert (await until_event(run, EventType.REPLY_ACCEPTED)).data["response"] == response


async def test_an_answer_that_does_not_fit_is_refused_with_the_reason(world: World, session: AgentSession) -> None:
    ask: JsonObject = {
        "kind": "fill_fields",
        "prompt": "For whom?",
        "required_fields": ["name", "cups"],
        "response_schema": {"properties": {"cups": {"type": "integer", "maximum": 9}}},
    }
    await session.submit("ask me", engine_options={"turns": [[{"ask": ask}], [{"final": "Thanks."}]]})
    async with person_at(world, session.id) as person:
        form = await person.asked()
        await person.pilot.click("#send")
        refusal = form.query_one(".refusal", Static)
        await person.sees(lambda: str(refusal.content), lambda words: words == "Name is required.")
        form.query(Input).first().focus()
        await person.press("A", "enter", "1", "0", "enter")
        await person.sees(lambda: str(refusal.content), lambda words: "response_schema" in words)
        await person.press("9", "enter")
        assert "cups" in await person.outcome(form)


async def test_a_question_counts_down_and_says_what_happened_then(world: World) -> None:
    ask: JsonObject = {
        "kind": "choose_one",
        "prompt": "Which?",
        "options": [{"label": "Tea", "value": "t"}],
        "default": "t",
        "default_decision_policy": "use_default",
    }
    session = await world.turnwise.create_session(interactive_require_user_reply=False, session_timeout_sec=5)
    async with person_at(world, session.id) as person:
        await session.submit("ask me", engine_options={"turns": [[{"ask": ask}], [{"final": "Thanks."}]]})
        forms = await person.sees(lambda: list(person.app.query(QuestionForm)), bool)
        assert await person.outcome(forms[0]) == "Nobody replied in time; the default is taken: t"
        shown = [words for words in person.countdown if "left to answer" in words]
        assert len(shown) >= 2
        assert shown == sorted(set(shown), reverse=True)
        assert all(words.endswith(" left to answer; after that the default is taken (Tea).") for words in shown)
    await session.close()


async def test_a_question_that_is_answered_elsewhere_is_taken_away(world: World, session: AgentSession) -> None:
    await session.submit("decide", engine_options=CONFIRM)
    async with person_at(world, session.id) as person:
        form = await person.asked()
        await (await active(session)).reply(1, False)
        assert await person.outcome(form) == "Answered elsewhere: false"
        assert not form.query(Button)
        await person.sees(person.agent, lambda texts: texts == ["Gone on: false."])


async def test_a_question_does_not_take_the_keys_of_whoever_is_writing(world: World, session: AgentSession) -> None:
    async with person_at(world, session.id) as person:
        await person.type("half a mess")
        await session.submit("decide", engine_options=CONFIRM)
        await person.sees(lambda: list(person.app.query(QuestionForm)), bool)
        await person.type("age")
        assert person.writing() == "half a message"


# The status


async def test_a_silence_shows_at_the_composer_and_clears_by_itself(world: World) -> None:
    session = await world.turnwise.create_session(stall_after_sec=0.5)
    script: JsonObject = {"turns": [[{"say": "One moment."}, {"sleep": 2}, {"final": LONG}]]}
    async with world.store.ticking(), person_at(world, session.id) as person:
        await session.submit("slow", engine_options=script)
        await person.sees(person.status, lambda words: words == "Done.")
        *_, before, silence, after, done = person.statuses
        assert silence.startswith("No output since ")
        assert (before, after, done) == ("The agent is at work.", "The agent is at work.", "Done.")
    await session.close()


async def test_a_failure_and_a_close_are_told(world: World, session: AgentSession) -> None:
    async with person_at(world, session.id) as person:
        await session.submit("fail", engine_options={"turns": [[{"fail": "the upstream is down"}]]})
        await person.sees(person.notes, lambda notes: notes == ["✗ The upstream is down. (TURN_FAILED)"])
        await person.sees(person.status, lambda words: words == "The run failed.")
        await session.close()
        await person.sees(person.status, lambda words: words == "This session is closed.")


# What a person does


async def test_messages_wait_in_a_queue_that_can_be_cleared(world: World, session: AgentSession) -> None:
    await session.submit("slow", engine_options=SLOW)
    async with person_at(world, session.id) as person:
        await person.sees(person.agent, lambda texts: texts == ["I am at it."])
        await person.send("one")
        await person.send("two")
        await person.sees(person.queue, lambda items: items == ["one", "two"])
        await person.sees(person.shown_keys, lambda keys: "Clear queue" in keys)
        await person.press("f8")
        await person.sees(person.queue, lambda items: items == [])
        assert "Clear queue" not in person.shown_keys()
    assert await session.pending_messages() == []


async def test_what_is_under_way_can_be_canceled_and_the_session_goes_on(world: World, session: AgentSession) -> None:
    async with person_at(world, session.id) as person:
        await person.sees(person.status, lambda words: words == "Ready when you are.")
        assert "Cancel" not in person.shown_keys()
        await session.submit("slow", engine_options=SLOW)
        await person.sees(person.agent, lambda texts: texts == ["I am at it."])
        await person.press("f4")
        await person.sees(person.notes, lambda notes: notes == ["■ Canceled."])
        await person.sees(person.status, lambda words: words == "Canceled.")
        await person.send("go on")
        await person.sees(person.status, lambda words: words == "Done.")
    assert (await session.view()).state is SessionState.OPEN


async def test_a_fork_begins_before_a_message_which_can_be_said_differently(
    world: World, session: AgentSession
) -> None:
    await session.prompt("one")
    await session.prompt("two")
    async with person_at(world, session.id) as person:
        await person.sees(person.user, lambda texts: texts == ["one", "two"])
        await person.press("f3")
        await person.sees(lambda: list(person.app.screen.query(OptionList)), lambda lists: len(lists) == 1)
        await person.press("enter")
        await person.sees(person.user, lambda texts: texts == ["one"])
        assert person.writing() == "two"
        await person.send(" instead")
        await person.sees(person.user, lambda texts: texts == ["one", "two instead"])
    fork = (await world.turnwise.sessions(1)).sessions[0]
    assert fork.parent_session_id == session.id
    await world.turnwise.session(fork.session_id).close()


async def test_another_conversation_is_chosen_from_the_list(world: World, session: AgentSession) -> None:
    other = await world.turnwise.create_session()
    await session.prompt("of the first")
    await other.prompt("of the other")
    async with person_at(world, session.id) as person:
        await person.sees(person.user, lambda texts: texts == ["of the first"])
        await person.press("f5")
        sidebar = person.app.query_one(Sidebar)
        await person.sees(
            lambda: sidebar.highlighted_option, lambda option: option is not None and option.id == session.id
        )
        await person.press("up", "enter")
        await person.sees(person.user, lambda texts: texts == ["of the other"])
    await other.close()


# Outages


async def test_an_outage_is_told_and_what_happened_meanwhile_is_caught_up_with(temporal: Client, scratch: Path) -> None:
    with postgres(scratch / "tui-postgres") as server:
        async with start_world(temporal, server.url) as world:
            session = await world.turnwise.create_session()
            await session.prompt("before")
            async with person_at(world, session.id) as person:
                await person.sees(person.user, lambda texts: texts == ["before"])
                line = person.app.query_one(ConnectionLine)
                await server.stop()
                await person.sees(lambda: line.display, bool)
                await person.send("meanwhile")
                await server.start()
                await person.sees(person.user, lambda texts: texts == ["before", "meanwhile"])
                await person.sees(lambda: line.display, lambda displayed: not displayed)
                await person.sees(person.status, lambda words: words == "Done.")
                assert len(person.agent()) == 2
            await session.close()

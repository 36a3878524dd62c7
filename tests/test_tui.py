"""The terminal UI as a person uses it: keys and clicks, on the real server, with a real worker."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client
from textual.widgets import Button, Footer, Markdown, OptionList
from textual.widgets.markdown import MarkdownBlock

from tests.postgres import postgres
from tests.tui_person import CONFIRM, friendly_session, person_at
from tests.world import World, start_world, until_asked
from turnwise.adapters.tui.composer import Composer
from turnwise.adapters.tui.connection import ConnectionLine
from turnwise.adapters.tui.messages import AgentMessage
from turnwise.adapters.tui.sidebar import Sidebar
from turnwise.adapters.tui.status_line import StatusLine
from turnwise.adapters.tui.tools import ToolUse
from turnwise.client import AgentSession
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.sessions import SessionState

SLOW: JsonObject = {"turns": [[{"say": "I am at it."}, {"sleep": 3600}]]}
LONG = "word " * 100
"""Forty pieces with a pause after each: it is being written for most of a second."""


@pytest.fixture
async def session(world: World) -> AsyncIterator[AgentSession]:
    async with friendly_session(world) as session:
        yield session


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

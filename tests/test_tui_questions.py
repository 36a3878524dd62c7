"""Questions in the terminal UI: forms that are filled in, refused, decided elsewhere, and run down."""

from collections.abc import AsyncIterator

import pytest
from pydantic import JsonValue
from textual.widgets import Button, Input, Static

from tests.tui_person import CONFIRM, friendly_session, person_at
from tests.world import World, until_event
from turnwise.adapters.tui.composer import Composer
from turnwise.adapters.tui.question import QuestionForm
from turnwise.client import AgentSession, Run
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject


@pytest.fixture
async def session(world: World) -> AsyncIterator[AgentSession]:
    async with friendly_session(world) as session:
        yield session


async def active(session: AgentSession) -> Run:
    run = await session.active_run()
    assert run is not None
    return run


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

"""The small agent that answers when no script is given."""

import pytest

from tests.world import World, until_asked
from turnwise.client import Run
from turnwise.fcmp.events import EventType, Mode
from turnwise.runs import RunInput


async def last_words(run: Run) -> str:
    await run.wait()
    texts = [event.data["text"] for event in await run.history() if event.type is EventType.MESSAGE_FINAL]
    return str(texts[-1])


@pytest.mark.parametrize(
    "run_input",
    [RunInput(mode=Mode.AUTO), RunInput(interactive_require_user_reply=False, session_timeout_sec=0.1)],
    ids=["auto", "deadline"],
)
async def test_nobody_is_thanked_for_an_answer_that_nobody_gave(world: World, run_input: RunInput) -> None:
    run = await world.turnwise.start_input(run_input)
    assert await last_words(run) == "Without a reply I decide by myself, and that completes this run."


async def test_a_reply_is_thanked_for(world: World) -> None:
    run = await world.turnwise.start("Shall we have tea or coffee?")
    await until_asked(run)
    await run.reply(1, "coffee")
    assert await last_words(run) == "Thank you. I go with “coffee”, and that completes this run."

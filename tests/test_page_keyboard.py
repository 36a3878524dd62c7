"""Where the keyboard is: at the question when there is one, and never taken from somebody who uses it elsewhere."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser import Visits, text_of
from tests.world import WAIT_FOREVER, World
from turnwise.client import AgentSession
from turnwise.fcmp.jsonvalue import JsonObject

CONFIRM: JsonObject = {"ask": {"kind": "confirm", "prompt": "Shall I?"}}
RISK: JsonObject = {"ask": {"kind": "risk_ack", "prompt": "This deletes the backups."}}
TEXT: JsonObject = {"ask": {"kind": "open_text", "prompt": "What else?"}}
LATER = "A message for later. Answer above."


@pytest.fixture
async def session(world: World) -> AsyncIterator[AgentSession]:
    session = await world.turnwise.create_session()
    yield session
    await session.close()


async def opened(visits: Visits, session: AgentSession) -> Page:
    page = await visits.open(f"#/sessions/{session.id}")
    await expect(page.locator("#message")).to_be_focused()
    await expect(page.locator("#status")).to_be_visible()
    return page


async def test_a_question_that_comes_takes_the_keyboard_and_gives_it_back(
    visits: Visits, session: AgentSession
) -> None:
    page = await opened(visits, session)
    await session.submit("Go", engine_options={"turns": [[CONFIRM], [RISK], [TEXT], [WAIT_FOREVER]]})
    await expect(page.get_by_role("button", name="Yes")).to_be_focused()
    await expect(page.locator("#message")).to_have_attribute("placeholder", LATER)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("checkbox")).to_be_focused()  # not what accepts the risk
    await page.keyboard.press("Space")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Your answer")).to_be_focused()
    await page.keyboard.type("Nothing")
    await page.keyboard.press("Enter")
    await expect(page.locator(".answer")).to_have_count(3)
    await expect(page.locator("#message")).to_be_focused()
    await expect(page.locator("#message")).to_have_attribute("placeholder", "Add a message for later …")
    assert await text_of(page.locator(".answer strong")) == ["Yes", "Accept the risk", "Nothing"]


async def test_a_question_that_is_open_when_the_page_is_opened_has_the_keyboard(visits: Visits, world: World) -> None:
    run = await world.turnwise.start("Go", engine_options={"turns": [[CONFIRM], [WAIT_FOREVER]]})
    page = await visits.open(f"#/runs/{run.id}")
    await expect(page.get_by_role("button", name="Yes")).to_be_focused()
    await run.reply(1, True)  # somebody else's answer takes the form away
    await expect(page.locator("#title")).to_be_focused()


async def test_who_is_writing_is_not_interrupted_by_a_question(visits: Visits, session: AgentSession) -> None:
    page = await opened(visits, session)
    await page.keyboard.type("Do you also")
    await session.submit("Go", engine_options={"turns": [[CONFIRM]]})
    await expect(page.locator(".question.open")).to_be_visible()
    await page.keyboard.type(" have tea?")
    await expect(page.locator("#message")).to_be_focused()
    await expect(page.locator("#message")).to_have_value("Do you also have tea?")


async def test_who_is_elsewhere_on_the_page_stays_there(visits: Visits, session: AgentSession) -> None:
    page = await opened(visits, session)
    await page.locator("#new").focus()
    await session.submit("Go", engine_options={"turns": [[CONFIRM]]})
    await expect(page.locator(".question.open")).to_be_visible()
    await expect(page.locator("#new")).to_be_focused()


async def test_who_went_back_to_read_stays_there(visits: Visits, session: AgentSession) -> None:
    page = await opened(visits, session)
    pages: JsonObject = {"say": "\n\n".join(f"Paragraph {number}." for number in range(60))}
    await session.submit("Go", engine_options={"turns": [[pages, TEXT], [CONFIRM]]})
    await page.get_by_label("Your answer").fill("Nothing")
    await page.locator("#scroll").hover()
    await page.mouse.wheel(0, -900)
    await expect(page.locator("#newest")).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Yes")).to_have_count(1)
    await expect(page.locator("#message")).to_be_focused()


async def test_a_question_that_comes_before_the_server_confirms_the_message_gets_the_keyboard(
    visits: Visits, session: AgentSession
) -> None:
    page = await opened(visits, session)
    asked = asyncio.Event()

    async def slowly(route: Route) -> None:
        answer = await route.fetch()
        await asked.wait()
        await route.fulfill(response=answer)

    await page.route("**/prompt", slowly)
    await page.keyboard.type("Shall we have tea or coffee?")
    await page.keyboard.press("Enter")
    await expect(page.locator(".question.open")).to_be_visible()
    await expect(page.locator("#message")).to_be_focused()
    asked.set()
    await expect(page.get_by_role("button", name="tea")).to_be_focused()


async def test_enter_that_is_held_does_not_answer(visits: Visits, session: AgentSession) -> None:
    page = await opened(visits, session)
    await page.keyboard.down("Enter")
    await session.submit("Go", engine_options={"turns": [[CONFIRM], [WAIT_FOREVER]]})
    await expect(page.get_by_role("button", name="Yes")).to_be_focused()
    await page.keyboard.down("Enter")
    await page.keyboard.down("Enter")
    await page.keyboard.up("Enter")
    await expect(page.get_by_role("button", name="Yes")).to_be_enabled()
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator(".answer strong")).to_have_text("No")


async def test_a_whole_conversation_can_be_had_with_the_keyboard_alone(visits: Visits) -> None:
    page = await visits.open()
    await page.keyboard.type("Shall we have tea or coffee?")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="tea")).to_be_focused()
    choice = page.get_by_role("button", name="coffee")
    while not await choice.evaluate("button => button === document.activeElement"):
        await page.keyboard.press("Tab")
    assert await choice.evaluate("button => getComputedStyle(button).outlineStyle") == "solid"
    await page.keyboard.press("Enter")
    await expect(page.locator(".answer")).to_have_text("You answered:coffee")
    await expect(page.locator("#message")).to_be_focused()
    await expect(page.locator(".end.succeeded")).to_be_visible()
    await page.keyboard.type("Thank you")
    await page.keyboard.press("Enter")
    await expect(page.locator(".end.succeeded")).to_have_count(2)
    assert await text_of(page.locator(".user .bubble")) == ["Shall we have tea or coffee?", "Thank you"]

"""Sessions on the page: a conversation of many prompts, its queue, forks, and its end."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, expect

from tests.browser import Visits, text_of
from tests.world import WAIT_FOREVER, World
from turnwise.client import AgentSession
from turnwise.fcmp.jsonvalue import JsonObject

SLOW: JsonObject = {"turns": [[{"say": "I am at it."}, WAIT_FOREVER]]}


async def opened(visits: Visits, session: AgentSession) -> Page:
    page = await visits.open(f"#/sessions/{session.id}")
    await expect(page.locator("#composer")).to_be_visible()
    return page


async def sent(page: Page, text: str) -> None:
    await page.locator("#message").fill(text)
    await page.locator("#message").press("Enter")
    await expect(page.locator("#message")).to_have_value("")


@pytest.fixture
async def at_work(visits: Visits, world: World) -> AsyncIterator[tuple[AgentSession, Page]]:
    """A session on a prompt that does not end by itself."""
    session = await world.turnwise.create_session()
    page = await opened(visits, session)
    await session.submit("Take your time", engine_options=SLOW)
    await expect(page.locator(".agent .prose")).to_have_text("I am at it.")
    yield session, page
    await session.close()


async def test_a_session_is_started_from_the_page_and_goes_on(visits: Visits) -> None:
    page = await visits.open()
    await page.get_by_label("Prompt").fill("Good morning")
    await page.get_by_role("button", name="Start").click()
    await expect(page.locator(".end.succeeded")).to_have_count(1)
    await expect(page.locator("#title")).to_have_text("Good morning")
    await sent(page, "And good night")
    await expect(page.locator(".end.succeeded")).to_have_count(2)
    assert await text_of(page.locator(".user .bubble")) == ["Good morning", "And good night"]
    await expect(page.locator("#list [aria-current=page] .title")).to_have_text("Good morning")
    await expect(page.locator("#state")).to_have_text("Open")


async def test_a_shared_address_shows_the_same_conversation_to_somebody_else(visits: Visits) -> None:
    page = await visits.open()
    await page.get_by_label("Prompt").fill("Look at this")
    await page.get_by_role("button", name="Start").click()
    await expect(page.locator(".end.succeeded")).to_be_visible()
    other = await visits.open(page.url.removeprefix(f"{visits.address}/"))
    await expect(other.locator(".end.succeeded")).to_be_visible()
    assert await text_of(other.locator("#thread .bubble, #thread .prose")) == await text_of(
        page.locator("#thread .bubble, #thread .prose")
    )


async def test_what_is_sent_while_the_agent_works_waits_in_the_queue_under_its_name(
    at_work: tuple[AgentSession, Page],
) -> None:
    _, page = at_work
    await expect(page.locator("#send")).to_have_text("Queue")
    await sent(page, "Then do this")
    await page.locator("label:has(#steer)").click()
    await sent(page, "But in blue")
    items = page.locator("#queue-items li")
    await expect(items).to_have_count(2)
    assert await text_of(items.locator(".tag")) == ["Follow-up", "Steer"]
    assert await text_of(items.locator(".text")) == ["Then do this", "But in blue"]
    await expect(page.locator("#queue-count")).to_have_text("2 messages wait")
    assert await text_of(page.locator(".user .bubble")) == ["Take your time"]


async def test_the_queue_can_be_cleared_and_the_agent_works_on(at_work: tuple[AgentSession, Page]) -> None:
    session, page = at_work
    await sent(page, "Then do this")
    await page.get_by_role("button", name="Clear").click()
    await expect(page.locator("#queue")).to_be_hidden()
    assert await session.pending_messages() == []
    await expect(page.locator("#state")).to_have_text("Running")


async def test_what_waits_is_executed_in_its_turn(visits: Visits, world: World) -> None:
    session = await world.turnwise.create_session()
    page = await opened(visits, session)
    ask: JsonObject = {"turns": [[{"ask": {"kind": "confirm", "prompt": "Ready?"}}], [{"final": "Then I go on."}]]}
    await session.submit("First", engine_options=ask)
    await expect(page.locator(".question.open")).to_be_visible()
    await sent(page, "Second")
    await expect(page.locator("#queue-items li")).to_have_count(1)
    await page.get_by_role("button", name="Yes").click()
    await expect(page.locator(".end.succeeded")).to_have_count(2)
    await expect(page.locator("#queue")).to_be_hidden()
    assert await text_of(page.locator(".user .bubble")) == ["First", "Second"]


async def test_cancel_stops_the_prompt_and_the_session_lives_on(at_work: tuple[AgentSession, Page]) -> None:
    _, page = at_work
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.locator(".end.canceled")).to_be_visible()
    await expect(page.locator("#state")).to_have_text("Open")
    await sent(page, "Something else")
    await expect(page.locator(".end.succeeded")).to_be_visible()


async def test_a_fork_begins_before_the_message_and_offers_it_again(visits: Visits, world: World) -> None:
    session = await world.turnwise.create_session()
    page = await opened(visits, session)
    for number, text in enumerate(["One", "Two", "Three"], start=1):
        await sent(page, text)
        await expect(page.locator(".end.succeeded")).to_have_count(number)
    await page.locator(".item.user", has_text="Two").hover()
    await page.locator(".item.user", has_text="Two").get_by_role("button", name="Fork from here").click()
    await expect(page.locator("#message")).to_have_value("Two")
    assert session.id not in page.url
    await expect(page.locator(".item.mark")).to_have_text("Forked from an earlier session")
    assert await text_of(page.locator(".user .bubble")) == ["One"]
    await sent(page, "Two and a half")
    await expect(page.locator(".end.succeeded")).to_have_count(1)
    assert await text_of(page.locator(".user .bubble")) == ["One", "Two and a half"]
    await page.reload()
    await expect(page.locator(".end.succeeded")).to_have_count(1)
    assert await text_of(page.locator(".user .bubble")) == ["One", "Two and a half"]
    await page.get_by_role("link", name="Forked from an earlier session").click()
    await expect(page.locator(".end.succeeded")).to_have_count(3)
    assert await text_of(page.locator(".user .bubble")) == ["One", "Two", "Three"]


async def test_a_fork_that_begins_before_the_first_message_says_where_it_came_from_too(
    visits: Visits, world: World
) -> None:
    session = await world.turnwise.create_session()
    page = await opened(visits, session)
    await sent(page, "One")
    await expect(page.locator(".end.succeeded")).to_be_visible()
    await page.locator(".item.user").hover()
    await page.get_by_role("button", name="Fork from here").click()
    await expect(page.locator("#title")).to_have_text("Fork")
    await expect(page.locator("#list [aria-current=page] .title")).to_have_text("Fork")
    await expect(page.locator(".item.mark")).to_have_text("Forked from an earlier session")
    await expect(page.locator(".item")).to_have_count(1)
    await sent(page, "One, but better")
    await expect(page.locator(".end.succeeded")).to_be_visible()
    assert await page.locator(".item").first.get_attribute("class") == "item mark"


async def test_a_fork_can_be_forked_at_a_message_that_it_took_over(visits: Visits, world: World) -> None:
    session = await world.turnwise.create_session()
    await session.prompt("One")
    await session.prompt("Two")
    page = await opened(visits, await session.fork())
    await page.locator(".item.user", has_text="Two").hover()
    await page.locator(".item.user", has_text="Two").get_by_role("button", name="Fork from here").click()
    await expect(page.locator("#message")).to_have_value("Two")
    assert await text_of(page.locator(".user .bubble")) == ["One"]


async def test_a_run_of_a_session_can_be_looked_at_alone_and_leads_back(visits: Visits, world: World) -> None:
    session = await world.turnwise.create_session()
    await session.prompt("Hello")
    page = await opened(visits, session)
    await page.locator(".end").get_by_role("link", name="Run").click()
    await expect(page.locator("#composer")).to_be_hidden()
    assert "#/runs/" in page.url
    await page.locator("#facts").get_by_role("link", name="Hello").click()
    await expect(page.locator("#composer")).to_be_visible()
    assert session.id in page.url


async def test_closing_is_asked_about_once_and_then_final(visits: Visits, world: World) -> None:
    session = await world.turnwise.create_session()
    page = await opened(visits, session)
    await sent(page, "Hello")
    await expect(page.locator(".end.succeeded")).to_be_visible()
    await page.get_by_role("button", name="Close session").click()
    await page.get_by_role("button", name="Keep it open").click()
    await expect(page.locator("#state")).to_have_text("Open")
    await page.get_by_role("button", name="Close session").click()
    await page.get_by_role("dialog").get_by_role("button", name="Close session").click()
    await expect(page.locator("#state")).to_have_text("Closed")
    await expect(page.locator("#composer")).to_be_hidden()
    await expect(page.get_by_text("This session is closed.")).to_have_count(1)


async def test_a_text_that_nobody_got_before_the_session_was_closed_can_still_be_copied(
    visits: Visits, world: World
) -> None:
    session = await world.turnwise.create_session()
    page = await opened(visits, session)
    await page.locator("#message").fill("A long thought")
    await session.close()
    await expect(page.locator("#state")).to_have_text("Closed")
    await expect(page.locator("#message")).to_be_visible()
    await expect(page.locator("#message")).to_be_disabled()

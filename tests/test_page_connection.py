"""The page and a connection that breaks: it says so, comes back, and nothing is lost, repeated or painted twice."""

import re

from playwright.async_api import Page, Request, Route, expect

from tests.browser import Visits, text_of
from tests.test_up import service
from tests.world import World
from turnwise.fcmp.jsonvalue import JsonObject

CONFIRM: JsonObject = {"ask": {"kind": "confirm", "prompt": "On?"}}
STAGES: JsonObject = {
    "turns": [
        [{"say": "Before."}, CONFIRM],
        [{"say": "While nobody could see it."}, CONFIRM],
        [{"final": "After."}],
    ]
}
WATCH_FOR_FLICKER = """() => {
  window.removed = [];
  const note = (changes) => changes.forEach(({removedNodes: nodes}) => nodes.forEach((node) =>
    window.removed.push(node.className || node.textContent)));
  new MutationObserver(note).observe(document.querySelector("#thread"), {childList: true});
}"""


UNDRAWABLE = """(undrawable) => {
  const make = document.createElement;
  document.createElement = function (tag) {
    if (tag === undrawable) throw new Error(`no ${tag} today`);
    return make.call(this, tag);
  };
}"""


async def refuse(route: Route) -> None:
    await route.abort()


async def messages(page: Page) -> list[str]:
    return await text_of(page.locator("#thread .bubble, #thread .agent .prose, #thread .answer, #thread .end"))


async def test_a_page_whose_server_dies_says_so_and_catches_up_when_it_is_back(
    visits: Visits, world: World, env: dict[str, str]
) -> None:
    address = f"http://127.0.0.1:{env['TURNWISE_API_PORT']}"
    session = await world.turnwise.create_session()
    async with service("api", env=env) as first:
        await first.until(address)
        page = await visits.open(f"#/sessions/{session.id}", address=address)
        await session.submit("Go", engine_options=STAGES)
        await page.get_by_role("button", name="Yes").wait_for()
        await page.evaluate(WATCH_FOR_FLICKER)
        before = await page.locator(".item").element_handles()
        await first.kill()
        await expect(page.locator("#connection")).to_be_visible()
        assert await text_of(page.locator("#thread .agent .prose")) == ["Before."]
        await page.locator("#message").fill("Are you there?")
        await page.locator("#message").press("Enter")
        await page.get_by_role("button", name="Dismiss").click()
        await expect(page.locator("#connection")).to_be_visible()
        await page.locator("#message").press("Enter")
        await expect(page.locator("#trouble")).to_have_text(re.compile("The server cannot be reached."))
    run = await session.active_run()
    assert run is not None
    await run.reply(1, True)
    async for event in run.events():
        if event.data.get("interaction_id") == 2:
            break
    async with service("api", env=env):
        await expect(page.locator("#connection")).to_be_hidden()
        await expect(page.locator("#trouble")).to_be_hidden()
        await expect(page.locator(".question.open .prose")).to_have_text("On?")
        assert await text_of(page.locator("#thread .agent .prose")) == ["Before.", "While nobody could see it."]
        await page.get_by_role("button", name="Yes").click()
        await expect(page.locator(".end.succeeded")).to_be_visible()
        caught_up = await messages(page)
        assert await page.evaluate("window.removed") == []
        assert all([await item.evaluate("item => item.isConnected") for item in before])
        await page.reload()
        await expect(page.locator(".end.succeeded")).to_be_visible()
        assert [text.replace("You answered", "Answered") for text in caught_up] == await messages(page)


async def test_a_server_that_is_away_when_something_is_opened_is_waited_for(
    visits: Visits, world: World, env: dict[str, str]
) -> None:
    address = f"http://127.0.0.1:{env['TURNWISE_API_PORT']}"
    session = await world.turnwise.create_session()
    await session.prompt("Hello")
    async with service("api", env=env) as first:
        await first.until(address)
        page = await visits.open(address=address)
        await expect(page.locator("#list .title").first).to_have_text("Hello")
    await page.locator("#list a").first.click()
    await expect(page.locator("#connection")).to_be_visible()
    await expect(page.locator("#status")).to_be_hidden()
    async with service("api", env=env):
        await expect(page.locator(".end.succeeded")).to_be_visible()
        await expect(page.locator("#connection")).to_be_hidden()


async def test_a_page_that_nobody_looks_at_takes_no_connection_until_somebody_does(
    visits: Visits, world: World
) -> None:
    session = await world.turnwise.create_session()
    await session.prompt("Hello")
    page = await visits.open()
    await page.evaluate("Object.defineProperty(document, 'hidden', {value: true, writable: true})")
    async with page.expect_response("**/v1/sessions/*"):
        await page.evaluate("id => { location.hash = `#/sessions/${id}` }", session.id)
    await expect(page.locator("#composer")).to_be_visible()
    await expect(page.locator(".item")).to_have_count(0)
    async with page.expect_request("**/stream?cursor=0"):
        await page.evaluate("document.hidden = false; document.dispatchEvent(new Event('visibilitychange'))")
    await expect(page.locator(".end.succeeded")).to_be_visible()


async def test_a_message_that_is_being_written_when_the_connection_breaks_is_continued(
    visits: Visits, world: World
) -> None:
    text = "".join(f"Sentence number {number} of a long message. " for number in range(120))
    session = await world.turnwise.create_session()
    page = await visits.open(f"#/sessions/{session.id}")
    await expect(page.locator("#composer")).to_be_visible()
    await page.evaluate(WATCH_FOR_FLICKER)
    await session.submit("Go", engine_options={"turns": [[{"final": text}]]})
    await expect(page.locator(".agent.writing")).to_be_visible()
    world.store.end_watches()
    await expect(page.locator(".end.succeeded")).to_be_visible()
    assert await text_of(page.locator(".agent .prose")) == [text.strip()]
    assert await page.evaluate("window.removed") == []


async def test_what_cannot_be_sent_says_so_until_the_server_answers_again(visits: Visits, world: World) -> None:
    session = await world.turnwise.create_session()
    page = await visits.open(f"#/sessions/{session.id}")
    await session.submit("Go", engine_options={"turns": [[CONFIRM], [{"final": "After."}]]})
    await page.get_by_role("button", name="Yes").wait_for()
    await page.route("**/v1/**", refuse)
    await page.get_by_role("button", name="Yes").click()
    await expect(page.locator(".question .trouble")).to_have_text("Not sent: The server cannot be reached.")
    await page.locator("#message").fill("Hello")
    await page.locator("#message").press("Enter")
    await expect(page.locator("#trouble")).to_be_visible()
    await page.unroute("**/v1/**")
    await expect(page.locator("#trouble")).to_be_hidden()
    await expect(page.locator(".question .trouble")).to_be_empty()
    await page.get_by_role("button", name="Yes").click()
    await expect(page.locator(".answer")).to_have_text("You answered:Yes")
    await expect(page.locator("#message")).to_have_value("Hello")


async def test_a_refusal_is_forgotten_when_the_message_is_taken_the_next_time(visits: Visits, world: World) -> None:
    session = await world.turnwise.create_session()
    page = await visits.open(f"#/sessions/{session.id}")
    await page.route("**/prompt", lambda route: route.fulfill(status=503, json={"detail": "No worker took this."}))
    await page.locator("#message").fill("Hello")
    await page.locator("#message").press("Enter")
    await expect(page.locator("#trouble-words")).to_have_text("No worker took this.")
    await page.unroute("**/prompt")
    await page.locator("#message").press("Enter")
    await expect(page.locator(".end.succeeded")).to_be_visible()
    await expect(page.locator("#trouble")).to_be_hidden()


async def test_what_cannot_be_drawn_is_a_complaint_and_not_a_broken_connection(visits: Visits, world: World) -> None:
    tool: JsonObject = {"tool": {"name": "look", "arguments": {}, "result": "nothing"}}
    run = await world.turnwise.start("Go", engine_options={"turns": [[CONFIRM], [tool, {"final": "After."}]]})
    page = await visits.open(f"#/runs/{run.id}")
    await page.get_by_role("button", name="Yes").wait_for()
    streams: list[Request] = []
    page.on("request", lambda request: streams.append(request) if "/events" in request.url else None)
    await page.evaluate(UNDRAWABLE, "details")
    await page.get_by_role("button", name="Yes").click()
    await expect(page.locator(".agent .prose")).to_have_text("After.")
    await expect(page.locator(".end.succeeded")).to_be_visible()
    assert visits.complaints == ["no details today"]
    visits.complaints.clear()
    assert streams == []


async def test_an_end_that_cannot_be_drawn_does_not_keep_back_what_came_before_it(visits: Visits, world: World) -> None:
    run = await world.turnwise.start("Go", engine_options={"turns": [[{"say": "Before."}, {"fail": "No."}]]})
    await run.wait()
    page = await visits.open()
    await page.evaluate(UNDRAWABLE, "strong")
    await page.evaluate("id => { location.hash = `#/runs/${id}` }", run.id)
    await expect(page.locator(".agent .prose")).to_have_text("Before.")
    await expect(page.locator("#state")).to_have_text("Failed")
    assert visits.complaints == ["no strong today"]
    visits.complaints.clear()

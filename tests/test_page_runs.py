"""The page and a single run: its text as it is written, its tools, its state, its end, and what a text cannot do."""

import httpx
import pytest
import yaml
from playwright.async_api import Locator, Page, expect

from tests.browser import TEMPORAL_UI, Visits, text_of
from tests.world import ANSWER, ASK, WAIT_FOREVER, World
from turnwise import contracts
from turnwise.client import Run
from turnwise.fcmp.jsonvalue import JsonObject

LONG = "One sentence after the other appears while the agent is still writing the next. " * 8
HOSTILE = '<img src=x onerror="alert(1)"> <script>alert(2)</script> <b>bold</b> [link](javascript:alert(3))'
TOOL: JsonObject = {"tool": {"name": "read_file", "arguments": {"path": "notes.txt"}, "result": {"lines": 3}}}


async def opened(visits: Visits, run: Run) -> Page:
    return await visits.open(f"#/runs/{run.id}")


async def test_text_appears_while_it_is_being_written_and_stays_when_it_is_done(visits: Visits, world: World) -> None:
    run = await world.turnwise.start("Tell me", engine_options={"turns": [[ASK], [{"final": LONG}]]})
    page = await opened(visits, run)
    await expect(page.locator(".question.open")).to_be_visible()
    await run.reply(1, "everything")
    writing = page.locator(".agent.writing .prose")
    await expect(writing).to_be_visible()
    so_far = await writing.inner_text()
    assert so_far
    assert LONG.startswith(so_far)
    assert len(so_far) < len(LONG.strip())
    await expect(page.locator(".end.succeeded")).to_be_visible()
    assert await text_of(page.locator(".agent .prose")) == [LONG.strip()]
    await expect(page.locator(".writing")).to_have_count(0)


async def test_reading_follows_the_newest_line_until_the_reader_goes_back(visits: Visits, world: World) -> None:
    confirm: JsonObject = {"ask": {"kind": "confirm", "prompt": "More?"}}
    pages: JsonObject = {"say": "\n\n".join(f"Paragraph {number}." for number in range(40))}
    run = await world.turnwise.start(
        "Tell me", engine_options={"turns": [[pages, confirm], [pages, confirm], [pages, confirm]]}
    )
    page = await opened(visits, run)
    end = page.locator("#thread > :last-child")
    for number in (1, 2):
        await expect(page.locator(".question")).to_have_count(number)
        await expect(end).to_be_in_viewport(ratio=0.9)
        await page.get_by_role("button", name="Yes").click()
    await expect(page.locator(".question")).to_have_count(3)
    await expect(end).to_be_in_viewport(ratio=0.9)
    await page.locator("#scroll").hover()
    await page.mouse.wheel(0, -600)
    await expect(page.get_by_role("button", name="Newest")).to_be_visible()
    await run.reply(3, True)
    await expect(page.locator(".end.succeeded")).to_have_count(1)
    await expect(end).not_to_be_in_viewport()
    await page.get_by_role("button", name="Newest").click()
    await expect(end).to_be_in_viewport()


async def test_a_finished_run_is_shown_from_its_log(visits: Visits, world: World) -> None:
    run = await world.turnwise.start("Tell me", engine_options={"turns": [[TOOL, {"final": "Three lines."}]]})
    await run.wait()
    page = await opened(visits, run)
    await expect(page.locator(".user .bubble")).to_have_text("Tell me")
    await expect(page.locator(".agent .prose")).to_have_text("Three lines.")
    await expect(page.locator("#state")).to_have_text("Succeeded")
    await expect(page.locator("#cancel")).to_be_hidden()
    await expect(page.locator(".end a")).to_have_count(0)  # it would lead to this very page
    assert "Tell me" in await page.title()


async def test_tool_calls_are_folded_and_open_to_what_was_given_and_returned(visits: Visits, world: World) -> None:
    run = await world.turnwise.start("Read", engine_options={"turns": [[TOOL, {"final": "Read."}]]})
    page = await opened(visits, run)
    tool = page.locator(".tool")
    await expect(tool.locator(".outcome")).to_have_text("done")
    await expect(tool.locator(".body")).to_be_hidden()
    await tool.locator("summary").click()
    await expect(tool.locator(".body")).to_contain_text("notes.txt")
    await expect(tool.locator(".body")).to_contain_text('"lines": 3')


async def test_a_failed_run_says_what_went_wrong(visits: Visits, world: World) -> None:
    run = await world.turnwise.start("Try", engine_options={"turns": [[{"fail": "The upstream is down."}]]})
    page = await opened(visits, run)
    await expect(page.locator(".end.failed")).to_contain_text("The upstream is down.")
    await expect(page.locator(".end.failed code")).to_have_text("TURN_FAILED")
    await expect(page.locator("#state")).to_have_text("Failed")


async def test_cancel_stops_the_run_and_the_page_says_so_when_it_has_stopped(visits: Visits, world: World) -> None:
    run = await world.turnwise.start("Wait", engine_options={"turns": [[{"say": "Waiting."}, WAIT_FOREVER]]})
    page = await opened(visits, run)
    await expect(page.locator("#state")).to_have_text("Running")
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.locator(".end.canceled")).to_be_visible()
    await expect(page.locator("#state")).to_have_text("Canceled")
    await expect(page.locator("#cancel")).to_be_hidden()


async def test_text_with_html_in_it_stays_text(visits: Visits, world: World) -> None:
    script: JsonObject = {"turns": [[{"say": HOSTILE}, {"ask": {"kind": "open_text", "prompt": HOSTILE}}]]}
    run = await world.turnwise.start(HOSTILE, engine_options=script)
    page = await opened(visits, run)
    await expect(page.locator(".question.open")).to_be_visible()
    assert await page.locator("#thread img, #thread script, #thread b, #thread a[href^=javascript]").count() == 0
    assert await text_of(page.locator(".user .bubble, .agent .prose, .question .prose")) == [HOSTILE] * 3
    await expect(page.locator("#title")).to_have_text(HOSTILE)


async def test_the_page_may_only_run_what_it_came_with(visits: Visits, site: str) -> None:
    async with httpx.AsyncClient(base_url=site) as client:
        html = await client.get("/")
        files = [await client.get(f"/static/{name}") for name in ("js/app.js", "css/base.css", "favicon.svg")]
    policy = html.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert {(each.status_code, each.headers["x-content-type-options"]) for each in [html, *files]} == {(200, "nosniff")}
    page = await visits.open()
    refused = await page.evaluate(
        """() => { try { document.body.insertAdjacentHTML("beforeend", "<i>x</i>"); return null; }
                   catch (error) { return error.name; } }"""
    )
    assert refused == "TypeError"
    visits.complaints.clear()  # what was just refused


async def test_the_picture_of_the_statechart_is_the_contracts(visits: Visits, world: World) -> None:
    run = await world.turnwise.start(engine_options={"turns": [[ASK], [ANSWER]]})
    page = await opened(visits, run)
    drawn = await page.eval_on_selector_all(
        ".chart [data-transition]",
        "edges => edges.map(({dataset: edge}) => [edge.transition, edge.from, edge.event, edge.to])",
    )
    contract = yaml.safe_load(contracts.read("statechart.yaml"))
    expected = [[each["id"], each["from"], each["event"], each["to"]] for each in contract["transitions"]]
    assert sorted(drawn) == sorted(expected)
    states = await page.eval_on_selector_all(".chart [data-state]", "all => all.map(one => one.dataset.state)")
    assert sorted(states) == sorted(contract["states"])


async def test_the_state_that_the_run_is_in_is_lit_and_the_way_it_came_is_marked(visits: Visits, world: World) -> None:
    run = await world.turnwise.start("Paint", engine_options={"turns": [[ASK], [WAIT_FOREVER]]})
    page = await opened(visits, run)
    lit, taken = page.locator(".chart .lit"), page.locator(".chart .taken")
    await expect(lit).to_have_attribute("data-state", "waiting_user")
    assert await marked(taken) == ["TR-01", "TR-02"]
    await run.reply(1, "blue")
    await expect(page.locator("#state")).to_have_text("Running")
    await expect(lit).to_have_attribute("data-state", "running")
    assert await marked(taken) == ["TR-01", "TR-02", "TR-03"]
    assert await text_of(page.locator("#path .to")) == ["Queued", "Running", "Waiting for you", "Queued", "Running"]
    await run.cancel()
    await expect(lit).to_have_attribute("data-state", "canceled")


async def marked(edges: Locator) -> list[str]:
    return sorted([str(await edge.get_attribute("data-transition")) for edge in await edges.all()])


async def test_the_run_links_to_its_place_in_the_temporal_ui(visits: Visits, world: World) -> None:
    run = await world.turnwise.start("x", engine_options={"turns": [[{"final": "y"}]]})
    page = await opened(visits, run)
    link = page.get_by_role("link", name="Open in the Temporal UI")
    await expect(link).to_have_attribute("href", f"{TEMPORAL_UI}/namespaces/default/workflows/{run.id}")


@pytest.mark.parametrize("kind", ["runs", "sessions"])
async def test_an_address_that_leads_nowhere_says_so(visits: Visits, kind: str) -> None:
    page = await visits.open(f"#/{kind}/no-such-thing")
    await expect(page.locator("#title")).to_have_text("Not found")
    await expect(page.locator("#thread")).to_contain_text("There is no")
    await expect(page.locator("#toggle-inspector")).to_be_hidden()
    await expect(page.locator("#inspector")).to_be_hidden()


async def test_runs_are_listed_newest_first_and_more_can_be_loaded(visits: Visits, world: World) -> None:
    for number in range(32):
        await world.turnwise.start(f"Number {number}", engine_options={"turns": [[{"final": "done"}]]})
    page = await visits.open()
    await page.locator("label:has(#show-runs)").click()
    rows = page.locator("#list .title")
    await expect(rows).to_have_count(30)
    assert (await text_of(rows))[:3] == ["Number 31", "Number 30", "Number 29"]
    await page.get_by_role("button", name="Load more").click()
    await expect(rows.nth(31)).to_have_text("Number 0")
    await rows.nth(1).click()
    await expect(page.locator("#title")).to_have_text("Number 30")
    await expect(page.locator("#list [aria-current=page]")).to_contain_text("Number 30")


async def test_a_run_is_started_from_the_page(visits: Visits) -> None:
    page = await visits.open()
    await page.locator("label:has(#start-run)").click()
    await page.get_by_label("Prompt").fill("Good morning")
    await page.get_by_role("button", name="Start").click()
    await expect(page.locator(".agent .prose")).to_contain_text("Good morning")
    assert "#/runs/run-" in page.url

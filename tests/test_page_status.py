"""The status line: what the server says, outside the thread, as soon as it says it."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page, expect

from tests.browser import Visits
from tests.world import WAIT_FOREVER, World
from turnwise.client import AgentSession
from turnwise.fcmp.jsonvalue import JsonObject

ASK: JsonObject = {"ask": {"kind": "confirm", "prompt": "Enough?"}}
RECORD = """() => {
  const line = document.querySelector("#status");
  window.shown = [];
  const note = () => {
    const now = `${line.dataset.status} ${line.dataset.reason}`;
    if (window.shown.at(-1) !== now) window.shown.push(now);
  };
  new MutationObserver(note).observe(line, {attributes: true, subtree: true, childList: true, characterData: true});
}"""


@pytest.fixture
async def session(world: World) -> AsyncIterator[AgentSession]:
    session = await world.turnwise.create_session(stall_after_sec=0.4)
    yield session
    if (await session.view()).closed_at is None:
        await session.close()


async def opened(visits: Visits, session: AgentSession) -> Page:
    page = await visits.open(f"#/sessions/{session.id}")
    await expect(page.locator("#status")).to_have_text("Ready when you are.")
    await page.evaluate(RECORD)
    return page


async def test_a_stall_is_shown_and_clears_by_itself_when_output_resumes(visits: Visits, session: AgentSession) -> None:
    page = await opened(visits, session)
    turns: JsonObject = {
        "turns": [[{"say": "I begin."}, {"sleep": 1.2}, {"say": "I go on."}, ASK], [{"final": "Thank you."}]]
    }
    await session.submit("Go", engine_options=turns)
    await expect(page.locator("#status[data-status=stalled]")).to_contain_text("No output since")
    await expect(page.locator("#announcer")).to_contain_text("No output since")
    await expect(page.locator("#status")).to_have_text("The agent waits for your answer.")
    await page.get_by_role("button", name="Yes").click()
    await expect(page.locator("#status")).to_have_text("Done.")
    shown = await page.evaluate("window.shown")
    start = shown.index("stalled silence_elapsed")
    assert shown[start - 1 : start + 3] == [
        "active_output output_written",
        "stalled silence_elapsed",
        "active_output output_written",
        "completed question_asked",
    ]
    assert shown[-1] == "completed run_succeeded"


async def test_the_line_tells_how_a_prompt_ended(visits: Visits, session: AgentSession) -> None:
    page = await opened(visits, session)
    line = page.locator("#status")
    await session.submit("Fail", engine_options={"turns": [[{"fail": "No."}]]})
    await expect(line).to_have_text("The run failed.")
    await session.submit("Wait", engine_options={"turns": [[{"say": "Waiting."}, WAIT_FOREVER]]})
    await expect(line).to_have_attribute("data-status", "stalled")
    await page.get_by_role("button", name="Cancel").click()
    await expect(line).to_have_text("Canceled.")
    await session.close()
    await expect(line).to_have_text("This session is closed.")


async def test_the_line_stands_at_the_composer_and_not_in_the_thread(visits: Visits, session: AgentSession) -> None:
    page = await opened(visits, session)
    assert await page.locator("#thread #status").count() == 0
    line, composer = await page.locator("#status").bounding_box(), await page.locator("#composer").bounding_box()
    assert line is not None
    assert composer is not None
    assert 0 <= composer["y"] - (line["y"] + line["height"]) < 20


async def test_who_comes_later_sees_the_same_status(visits: Visits, session: AgentSession) -> None:
    await session.submit("Wait", engine_options={"turns": [[{"say": "Waiting."}, WAIT_FOREVER]]})
    first = await visits.open(f"#/sessions/{session.id}")
    await expect(first.locator("#status")).to_have_attribute("data-status", "stalled")
    run = await session.active_run()
    assert run is not None
    second = await visits.open(f"#/runs/{run.id}")
    await expect(second.locator("#status")).to_have_text(await first.locator("#status").inner_text())

"""`python -m tests.screenshots`: the page in its main states, as pictures for the README."""

import asyncio
import tempfile
from pathlib import Path

from playwright.async_api import Page, expect

from tests.browser import Scheme, Visits, served, started_browser
from tests.ports import free_port
from tests.world import WAIT_FOREVER, World, start_world
from turnwise.client import AgentSession
from turnwise.connection import connect_temporal
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.runtime.temporal_server import ServerOptions, embedded_temporal
from turnwise.settings import Settings

DOCS = Path(__file__).parent.parent / "docs"

REPORT = """Two things stand out in **September**:

1. Renewals are up by 4 %, mostly in the north.
2. Two invoices are still open: `INV-2041` and `INV-2044`.

The query that I used:

```
SELECT customer, sum(amount) FROM invoices
WHERE NOT paid GROUP BY customer
```"""
SEARCH: JsonObject = {
    "tool": {"name": "search_invoices", "arguments": {"query": "open, September"}, "result": {"found": 2}}
}
READ: JsonObject = {"tool": {"name": "read_file", "arguments": {"path": "reports/q3.csv"}, "result": "customer,amount"}}
CURRENCY: JsonObject = {
    "ask": {
        "kind": "choose_one",
        "prompt": "Which currency shall the report be in?",
        "options": [
            {"label": "Euro", "value": "EUR"},
            {"label": "US dollar", "value": "USD"},
            {"label": "Swiss franc", "value": "CHF"},
        ],
        "default": "EUR",
        "default_decision_policy": "use_default",
    }
}
DETAILS: JsonObject = {
    "ask": {
        "kind": "fill_fields",
        "prompt": "A few details before I send it.",
        "required_fields": ["subject", "send_on"],
        "response_schema": {
            "type": "object",
            "properties": {
                "subject": {"type": "string", "title": "Subject line", "description": "What customers see first."},
                "send_on": {"type": "string", "format": "date", "title": "Send on"},
                "copies": {"enum": ["none", "accounting", "everybody"], "title": "Copies to"},
                "notify": {"type": "boolean", "title": "Tell me when it is sent"},
            },
        },
    }
}
RISK: JsonObject = {"ask": {"kind": "risk_ack", "prompt": "I am about to send the report to 1,240 customers."}}
SCRIPT: JsonObject = {
    "turns": [
        [{"say": "I look at the books first."}, SEARCH, READ, {"say": REPORT}, CURRENCY],
        [{"say": "In {reply}, then."}, DETAILS],
        [RISK],
        [WAIT_FOREVER],
    ]
}
STUCK: JsonObject = {
    "turns": [[{"say": "I ask the warehouse for the deliveries of this month."}, SEARCH, WAIT_FOREVER]]
}
PROMPT = "Prepare the quarterly report and send it to our customers."


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="turnwise-") as folder:
        server = ServerOptions(free_port(), free_port(), Path(folder))
        async with embedded_temporal(server), started_browser() as browser:
            temporal = await connect_temporal(Settings(temporal_port=server.port))
            async with (
                start_world(temporal, f"sqlite:///{folder}/turnwise.db") as world,
                served(world, free_port()) as address,
            ):
                visits = Visits(browser, address)
                await _earlier(world)
                await _pictures(world, visits)
                await visits.close()


async def _earlier(world: World) -> None:
    """What fills the list."""
    for prompt in ("Compare the two offers for the new office", "Which invoices are overdue?", "Plan the offsite"):
        await (await world.turnwise.create_session()).prompt(prompt)


async def _pictures(world: World, visits: Visits) -> None:
    session = await world.turnwise.create_session(interactive_require_user_reply=False)
    page = await _opened(visits, session)
    await session.submit(PROMPT, engine_options=SCRIPT)
    await _asked(page, "choose_one")
    await _picture(page, "page-desktop")
    await page.get_by_role("button", name="US dollar").click()
    await _asked(page, "fill_fields")
    await _picture(page, "page-question")
    phone = await _opened(visits, session, width=390, height=780)
    await _asked(phone, "fill_fields")
    await _picture(phone, "page-phone")
    await page.get_by_label("Subject line").fill("Your third quarter")
    await page.get_by_label("Send on").fill("2026-10-01")
    await page.get_by_role("button", name="Send answer").click()
    dark = await _opened(visits, session, scheme="dark")
    await _asked(dark, "risk_ack")
    await _picture(dark, "page-dark")
    await session.close()
    stuck = await world.turnwise.create_session(stall_after_sec=0.5)
    page = await _opened(visits, stuck)
    await stuck.submit("Which of our suppliers are late?", engine_options=STUCK)
    await stuck.follow_up("Then write to the latest of them.")
    await stuck.steer("Only those in Europe.")
    await expect(page.locator("#status[data-status=stalled]")).to_be_visible()
    await expect(page.locator("#queue-items li")).to_have_count(2)
    await _picture(page, "page-stalled")
    await stuck.close()


async def _opened(
    visits: Visits, session: AgentSession, *, width: int = 1280, height: int = 800, scheme: Scheme = "light"
) -> Page:
    page = await visits.open(f"#/sessions/{session.id}", width=width, height=height, scheme=scheme)
    await expect(page.locator("#composer")).to_be_visible()
    return page


async def _asked(page: Page, kind: str) -> None:
    await expect(page.locator(f".question.open[data-kind={kind}]")).to_be_visible()


async def _picture(page: Page, name: str) -> None:
    await page.screenshot(path=DOCS / f"{name}.png")


if __name__ == "__main__":
    asyncio.run(main())

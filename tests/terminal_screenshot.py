"""`python -m tests.terminal_screenshot`: the terminal UI, as a picture for the README."""

import asyncio
import tempfile
from pathlib import Path

from playwright.async_api import Browser

from tests.browser import started_browser
from tests.ports import free_port
from tests.screenshots import DOCS, PROMPT, SCRIPT
from tests.world import World, start_world, until
from turnwise.adapters.tui import TerminalUi
from turnwise.adapters.tui.question import QuestionForm
from turnwise.adapters.tui.sidebar import Sidebar
from turnwise.connection import connect_temporal
from turnwise.runtime.temporal_server import ServerOptions, embedded_temporal
from turnwise.settings import Settings

SIZE = (104, 40)


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="turnwise-") as folder:
        server = ServerOptions(free_port(), free_port(), Path(folder))
        async with embedded_temporal(server), started_browser() as browser:
            temporal = await connect_temporal(Settings(temporal_port=server.port))
            async with start_world(temporal, f"sqlite:///{folder}/turnwise.db") as world:
                await _picture(await _screen(world), browser)


async def _screen(world: World) -> str:
    """A question with a message behind it, and something in the list."""
    for prompt in ("Compare the two offers for the new office", "Which invoices are overdue?", "Plan the offsite"):
        await (await world.turnwise.create_session()).prompt(prompt)
    session = await world.turnwise.create_session(interactive_require_user_reply=False)
    await session.submit(PROMPT, engine_options=SCRIPT)
    await session.follow_up("Then tell me who has opened it.")
    async with TerminalUi(world.turnwise, session.id).run_test(size=SIZE) as pilot:

        async def form() -> bool:
            await pilot.pause()
            listed = pilot.app.query_one(Sidebar).option_count
            return bool(pilot.app.query(QuestionForm)) and listed > 4

        await until(form, bool)
        await pilot.pause()
        picture = pilot.app.export_screenshot(title="turnwise tui")
    await session.close()
    return picture


async def _picture(svg: str, browser: Browser) -> None:
    page = await browser.new_page(viewport={"width": 1400, "height": 1100})
    await page.set_content(f"<body style='margin: 0; width: 1000px'>{svg}</body>")
    await page.locator("svg").first.screenshot(path=DOCS / "terminal.png")


if __name__ == "__main__":
    asyncio.run(main())

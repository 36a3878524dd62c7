"""A real Chromium, and the page in it."""

import contextlib
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Literal

from playwright.async_api import Browser, ConsoleMessage, Error, Locator, Page, async_playwright, expect

from tests.world import World
from turnwise.runtime.processes import Parts
from turnwise.runtime.serving import serving
from turnwise.settings import Settings

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 20_000
MISSING = (
    "The page is tested in a real browser, and there is none: install Chromium (as root, `make test` does it where"
    " there is apt-get), or name one in CHROMIUM."
)
TEMPORAL_UI = "http://ui.example"

Scheme = Literal["light", "dark"]


def find_chromium() -> str | None:
    return os.environ.get("CHROMIUM") or next((path for name in NAMES if (path := shutil.which(name))), None)


@contextlib.asynccontextmanager
async def started_browser() -> AsyncIterator[Browser]:
    path = find_chromium()
    assert path is not None, MISSING
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        await browser.close()


@contextlib.asynccontextmanager
async def served(world: World, port: int) -> AsyncIterator[str]:
    """What `turnwise api` runs: the API with its page on a real socket, and the clock of the statuses."""
    settings = Settings(api_port=port, task_queue=world.task_queue, temporal_ui_url=TEMPORAL_UI)
    async with world.store.ticking(), serving(Parts(settings, world.temporal, world.store, world.engines)):
        yield f"http://127.0.0.1:{port}"


@dataclass
class Visits:
    """Browser windows, each of a person of its own. None of them may complain on its console."""

    browser: Browser
    address: str
    complaints: list[str] = field(default_factory=list)

    async def open(
        self,
        path: str = "",
        *,
        width: int = 1280,
        height: int = 860,
        scheme: Scheme = "light",
        address: str | None = None,
    ) -> Page:
        context = await self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        page = await context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", self._heard)
        page.on("pageerror", self._failed)
        await page.goto(f"{address or self.address}/{path}")
        return page

    async def close(self) -> None:
        for context in self.browser.contexts:
            await context.close()
        assert self.complaints == []

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not _is_an_answer_of_the_api(message.text):
            self.complaints.append(message.text)

    def _failed(self, error: Error) -> None:
        self.complaints.append(str(error))


def _is_an_answer_of_the_api(text: str) -> bool:
    """The browser itself notes every refused request and every connection that breaks."""
    return text.startswith("Failed to load resource")


async def text_of(locator: Locator) -> list[str]:
    return [text.strip() for text in await locator.all_inner_texts()]

"""How soon a change of status is at everybody who watches: hundreds at one session, hundreds of sessions, a browser."""

import contextlib
from asyncio.subprocess import Process
from collections.abc import AsyncIterator

import orjson
from rich.console import Console

from bench.api import served
from bench.child import child, next_line
from bench.engine import ShortEngine
from bench.measures import STATUS, Measure, percentile
from bench.turnwise_runs import TurnwiseSide
from tests.browser import find_chromium, started_browser
from turnwise.client import AgentSession

RECORD_STATUS = """() => {
  const line = document.querySelector("#status");
  window.taken = [];
  const painted = (since) => requestAnimationFrame(() => window.taken.push(Date.now() - Date.parse(since)));
  new MutationObserver(() => painted(line.dataset.since)).observe(line, {attributeFilter: ["data-since"]});
}"""


async def measure_watchers(side: TurnwiseSide, watchers: int, prompts: int) -> list[Measure]:
    async with served(side) as address:
        lonely = await _session(side)
        alone = await _delays(address, [lonely], [lonely] * prompts)
        crowded = await _session(side)
        crowd = await _delays(address, [crowded] * watchers, [crowded] * prompts)
        sessions = [await _session(side) for _ in range(watchers)]
        spread = await _delays(address, sessions, sessions[:: max(1, watchers // prompts)])
        browser = await _in_a_browser(address, lonely, prompts)
        for session in (lonely, crowded, *sessions):
            await session.close()
    measures = [
        *_measures(f"{watchers} watchers of one session", crowd, alone),
        *_measures(f"{watchers} sessions, each watched", spread, alone),
    ]
    return measures + (_measures("a browser, painted", browser, alone) if browser else [])


def _measures(who: str, delays: list[float], alone: list[float]) -> list[Measure]:
    return [
        Measure(f"{who}, {name}", "ms", percentile(delays, percent), percentile(alone, percent), STATUS)
        for name, percent in (("median", 50), ("p95", 95))
    ]


async def _session(side: TurnwiseSide) -> AgentSession:
    return await side.turnwise.create_session(engine=ShortEngine.name)


async def _delays(address: str, watched: list[AgentSession], prompted: list[AgentSession]) -> list[float]:
    """From each fact to each of its watchers, while one session after the other is given a prompt."""
    delays: list[float] = []
    urls = [f"{address}/v1/sessions/{session.id}/stream?cursor=0" for session in watched]
    async with _watching(urls) as client:
        for session in prompted:
            receivers = sum(each is session for each in watched)
            await session.prompt("Go")
            delays += await _told(client, receivers)
    return delays


@contextlib.asynccontextmanager
async def _watching(urls: list[str]) -> AsyncIterator[Process]:
    async with child("bench.watching_client") as client:
        assert client.stdin is not None
        client.stdin.write(orjson.dumps(urls) + b"\n")
        assert await next_line(client) == "connected"
        yield client


async def _told(client: Process, receivers: int) -> list[float]:
    """What each status took, once so many watchers have heard that the prompt is done."""
    assert client.stdin is not None
    client.stdin.write(f"{receivers}\n".encode())
    delays: list[float] = orjson.loads(await next_line(client))
    return delays


async def _in_a_browser(address: str, session: AgentSession, prompts: int) -> list[float]:
    if find_chromium() is None:
        Console(stderr=True).print("There is no Chromium: what a browser takes is not measured.")
        return []
    async with started_browser() as browser:
        page = await browser.new_page()
        await page.goto(f"{address}/#/sessions/{session.id}")
        await page.wait_for_selector("#status[data-status=completed]")
        await page.evaluate(RECORD_STATUS)
        for number in range(prompts):
            await session.prompt("Go")
            await page.wait_for_function(f"document.querySelectorAll('.end').length >= {number + 1}")
        delays: list[float] = await page.evaluate("window.taken")
        return delays

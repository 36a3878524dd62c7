"""Hundreds of clients of the HTTP API in one process: `python -m bench.watching_client`.

Reads a JSON list of streams from standard input, opens all of them and prints `connected`. For each number that it then
reads, it waits until so many streams have told that a prompt is done, and prints the milliseconds that every status
took to arrive since its fact, as a JSON list. Both processes read the same clock.
"""

import asyncio
import sys
import time
from datetime import datetime
from urllib.parse import urlsplit

import orjson

from bench.child import say

AT_ONCE = 50
"""Connections that are being opened at the same time."""


class Watchers:
    def __init__(self) -> None:
        self.taken: list[float] = []
        self._done = 0
        self._news = asyncio.Event()

    async def follow(self, url: str, connected: asyncio.Event) -> None:
        parts = urlsplit(url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        writer.write(f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode())
        event = b""
        while line := await reader.readline():
            if line.startswith(b"event: "):
                event = line[7:].strip()
            elif line.startswith(b"data: ") and event == b"snapshot":
                connected.set()
            elif line.startswith(b"data: ") and event == b"status":
                self._arrived(orjson.loads(line[6:]))

    def _arrived(self, status: dict[str, str]) -> None:
        self.taken.append((time.time() - datetime.fromisoformat(status["timestamp"]).timestamp()) * 1000)
        if status["status"] == "completed":
            self._done += 1
            self._news.set()

    async def told(self, watchers: int) -> list[float]:
        while self._done < watchers:
            self._news.clear()
            await self._news.wait()
        taken, self.taken, self._done = self.taken, [], 0
        return taken


async def main() -> None:
    watchers = Watchers()
    urls = orjson.loads(await _line())
    opening = asyncio.Semaphore(AT_ONCE)
    async with asyncio.TaskGroup() as group:

        async def opened(url: str) -> asyncio.Task[None]:
            connected = asyncio.Event()
            async with opening:
                task = group.create_task(watchers.follow(url, connected))
                await connected.wait()
            return task

        following = await asyncio.gather(*(opened(url) for url in urls))
        say("connected")
        while line := await _line():
            say(orjson.dumps(await watchers.told(int(line))).decode())
        for task in following:
            task.cancel()


async def _line() -> str:
    return await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    asyncio.run(main())

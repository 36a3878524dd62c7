"""The HTTP API of a world on a real socket, and what comes back from it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tests.ports import free_port
from tests.sse import Frame, frames_of
from tests.world import World
from turnwise.runtime.processes import Parts
from turnwise.runtime.serving import serving
from turnwise.settings import Settings

PROBLEM = "application/problem+json"


@asynccontextmanager
async def api_for(world: World) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(api_port=free_port(), task_queue=world.task_queue, temporal_ui_url="http://ui.example/")
    async with (
        serving(Parts(settings, world.temporal, world.store, world.engines)),
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{settings.api_port}", timeout=30) as client,
    ):
        yield client


async def stream(
    api: httpx.AsyncClient, path: str, cursor: int | None = None, headers: dict[str, str] | None = None
) -> AsyncIterator[Frame]:
    params = {} if cursor is None else {"cursor": cursor}
    async with api.stream("GET", path, params=params, headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        async for frame in frames_of(response):
            yield frame


def refused(response: httpx.Response, status: int, code: str) -> Any:
    assert (response.status_code, response.headers["content-type"]) == (status, PROBLEM), response.text
    body = response.json()
    assert (body["status"], body["code"]) == (status, code)
    assert body["detail"]
    return body

"""What a client of the API sees while Temporal, PostgreSQL or the API itself is away: 503, and no gap in a stream."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest

from tests.faults.stage import DatabaseKind, Stage, staged
from tests.faults.victims import Blow
from tests.sse import frames_of
from tests.world import ASK_THEN_ANSWER, WAIT_FOREVER, until
from turnwise.fcmp.jsonvalue import JsonObject

WHOLE_RUN = list(range(1, 11))
REPLY: JsonObject = {"interaction_id": 1, "response": "blue", "reply_id": "mine"}


@pytest.fixture(scope="module")
async def stage(scratch: Path) -> AsyncIterator[Stage]:
    folder = scratch / "stage"
    folder.mkdir()
    async with staged(DatabaseKind.POSTGRESQL, folder) as stage:
        yield stage


class Stream:
    """One connection, which does not come back when it breaks."""

    def __init__(self, http: httpx.AsyncClient, run_id: str, after: int = 0) -> None:
        self._path = f"/v1/runs/{run_id}/events"
        self._headers = {"Last-Event-ID": str(after)}
        self._http = http
        self._news = asyncio.Condition()
        self.seen: list[int] = []
        self.reading = asyncio.create_task(self._read())

    async def until(self, count: int) -> None:
        async with self._news:
            await self._news.wait_for(lambda: len(self.seen) >= count)

    async def _read(self) -> None:
        async with self._http.stream("GET", self._path, headers=self._headers, timeout=None) as response:
            assert response.status_code == 200
            async for frame in frames_of(response):
                if frame.event == "chat_event":
                    async with self._news:
                        self.seen.append(int(frame.id or 0))
                        self._news.notify_all()


async def asked(stage: Stage) -> tuple[str, Stream]:
    """A run that waits for its reply, and somebody who watches it."""
    started = await stage.http.post("/v1/runs", json={"engine_options": ASK_THEN_ANSWER})
    stream = Stream(stage.http, started.json()["run_id"])
    await stream.until(4)
    return str(started.json()["run_id"]), stream


async def sent(stage: Stage, run_id: str, good: Callable[[int], bool]) -> httpx.Response:
    """Sends the reply until the answer's status is such."""

    async def send() -> httpx.Response | None:
        with contextlib.suppress(httpx.TransportError):
            return await stage.http.post(f"/v1/runs/{run_id}/interaction/reply", json=REPLY)
        return None

    answer = await until(send, lambda answer: answer is not None and good(answer.status_code))
    assert answer is not None
    return answer


def is_refused_for_now(answer: httpx.Response) -> bool:
    return (answer.status_code, answer.json()["code"], "Retry-After" in answer.headers) == (503, "UNAVAILABLE", True)


async def test_while_temporal_is_away_the_api_says_so_and_streams_stay_open(stage: Stage) -> None:
    run_id, stream = await asked(stage)
    await stage.victim("temporal").strike(Blow.PAUSE)
    assert is_refused_for_now(await sent(stage, run_id, lambda status: status == 503))
    assert is_refused_for_now(await stage.http.post("/v1/runs", json={}))
    assert (await stage.http.get(f"/v1/runs/{run_id}")).json()["state"] == "waiting_user"
    await stage.victim("temporal").restore()
    await sent(stage, run_id, lambda status: status == 200)
    await stream.reading
    assert stream.seen == WHOLE_RUN


async def test_while_postgresql_is_away_the_api_says_so_and_streams_stay_open(stage: Stage) -> None:
    run_id, stream = await asked(stage)
    await stage.victim("database").strike(Blow.KILL)
    assert is_refused_for_now(await stage.http.get(f"/v1/runs/{run_id}"))
    assert is_refused_for_now(await stage.http.get("/readyz"))
    await stage.victim("database").restore()
    await sent(stage, run_id, lambda status: status == 200)
    await stream.reading
    assert stream.seen == WHOLE_RUN


@pytest.mark.parametrize("blow", [Blow.KILL, Blow.STOP])
async def test_a_stream_is_resumed_where_it_broke_when_the_api_is_back_on_its_port(stage: Stage, blow: Blow) -> None:
    run_id, stream = await asked(stage)
    await stage.victim("api").strike(blow)
    with contextlib.suppress(httpx.TransportError):
        await stream.reading
    with pytest.raises(httpx.TransportError):
        await stage.http.get("/healthz")
    await stage.victim("api").restore()
    await sent(stage, run_id, lambda status: status == 200)
    resumed = Stream(stage.http, run_id, after=stream.seen[-1])
    await resumed.reading
    assert stream.seen + resumed.seen == WHOLE_RUN


async def test_a_request_that_the_api_cannot_finish_before_it_stops_is_told_to_come_again(stage: Stage) -> None:
    created = await stage.http.post("/v1/sessions", json={"engine_options": {"turns": [[WAIT_FOREVER]]}})
    path = f"/v1/sessions/{created.json()['session_id']}"
    prompt: JsonObject = {"text": "Take your time.", "prompt_id": "long", "wait": True}
    waiting = asyncio.create_task(stage.http.post(f"{path}/prompt", json=prompt, timeout=None))

    async def is_at_work() -> bool:
        return (await stage.http.get(path)).json()["active_run_id"] is not None

    await until(is_at_work, bool)
    await stage.victim("api").strike(Blow.STOP)
    assert is_refused_for_now(await waiting)
    await stage.victim("api").restore()

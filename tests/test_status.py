"""The truthful status on the real server: what people are shown of runs and sessions, whatever happens."""

import itertools
import json
from collections.abc import AsyncIterator

import httpx
import jsonschema_rs
import pytest
from temporalio.client import Client

from tests.api_client import api_for, refused, stream
from tests.status_watcher import StatusWatcher, shown, watching_status
from tests.worker_process import workers
from tests.world import ASK_THEN_ANSWER, WAIT_FOREVER, World, start_world, until
from turnwise import contracts
from turnwise.client import AgentSession
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.status import Reason, Status, StatusView

SCHEMA = jsonschema_rs.Draft202012Validator(json.loads(contracts.read("status.schema.json")))
HESITANT: JsonObject = {"turns": [[{"sleep": 0.7}, {"tool": {"name": "look"}}, {"sleep": 0.7}, {"final": "Well."}]]}
SPEAKS_AND_WAITS: JsonObject = {"turns": [[{"say": "I am at it."}, WAIT_FOREVER]]}
FAILS: JsonObject = {"turns": [[{"fail": "It broke."}]]}
SHORT: JsonObject = {"turns": [[{"final": "Done."}]]}


@pytest.fixture
async def serving(fresh_world: World) -> AsyncIterator[World]:
    """A world whose process keeps the clock, as a worker or an API does."""
    async with fresh_world.store.ticking():
        yield fresh_world


@pytest.fixture
async def api(serving: World) -> AsyncIterator[httpx.AsyncClient]:
    async with api_for(serving) as client:
        yield client


async def payload(api: httpx.AsyncClient, path: str) -> StatusView:
    response = await api.get(path)
    assert response.status_code == 200, response.text
    assert SCHEMA.is_valid(response.json())
    return StatusView.model_validate(response.json())


# Runs


async def test_a_run_shows_over_http_what_is_true_at_each_moment(api: httpx.AsyncClient) -> None:
    run = (await api.post("/v1/runs", json={"engine_options": ASK_THEN_ANSWER, "session_id": "mine"})).json()
    path = f"/v1/runs/{run['run_id']}"
    seen: list[tuple[str, str]] = []
    async for frame in stream(api, f"{path}/events"):
        if frame.event == "snapshot":
            assert SCHEMA.is_valid(frame.data["status"])
            seen.append((frame.data["status"]["status"], frame.data["status"]["reason"]))
        elif frame.event == "status":
            assert SCHEMA.is_valid(frame.data)
            assert frame.id is None
            assert (frame.data["run_id"], frame.data["session_id"]) == (run["run_id"], "mine")
            seen.append((frame.data["status"], frame.data["reason"]))
            if seen[-1] == ("completed", "question_asked"):
                assert await payload(api, f"{path}/status") == StatusView.model_validate(frame.data)
                await api.post(f"{path}/interaction/reply", json={"interaction_id": 1, "response": "blue"})
    second_turn = [
        ("accepted", "input_accepted"),
        ("awaiting_output", "turn_started"),
        ("active_output", "output_written"),
    ]
    end = [*second_turn, ("completed", "run_succeeded")]
    assert seen[seen.index(("completed", "question_asked")) + 1 :] == end
    assert not [before for before, after in itertools.pairwise(seen) if before == after]
    assert (await api.get(path)).json()["status"] == (await api.get(f"{path}/status")).json()


async def test_silence_shows_as_stalled_and_output_clears_it(serving: World) -> None:
    run = await serving.turnwise.start(engine_options=HESITANT, stall_after_sec=0.1)
    async with watching_status(run.frames()) as watcher:
        first = await watcher.first()
        seen = [shown(status) for status in [first, *await watcher.rest()]]
    working = seen[seen.index((Status.AWAITING_OUTPUT, Reason.TURN_STARTED)) :]
    active, stalled = (Status.ACTIVE_OUTPUT, Reason.OUTPUT_WRITTEN), (Status.STALLED, Reason.SILENCE_ELAPSED)
    assert working[1:] == [stalled, active, stalled, active, (Status.COMPLETED, Reason.RUN_SUCCEEDED)]
    assert (await run.status()).last_activity_at is not None


async def test_a_run_that_no_worker_takes_says_so(temporal: Client, store_url: str) -> None:
    async with start_world(temporal, store_url, with_worker=False) as world, world.store.ticking():
        run = await world.turnwise.start(engine_options=SHORT, accepted_ttl_sec=0.1, stall_after_sec=0.2)
        async with watching_status(run.frames()) as watcher:
            assert shown(await watcher.first()) == (Status.ACCEPTED, Reason.INPUT_ACCEPTED)
            assert shown(await watcher.next()) == (Status.AWAITING_OUTPUT, Reason.ACCEPTANCE_EXPIRED)
            assert shown(await watcher.next()) == (Status.STALLED, Reason.SILENCE_ELAPSED)
            async with world.worker():
                assert shown(await watcher.next()) == (Status.AWAITING_OUTPUT, Reason.TURN_STARTED)
                assert shown((await watcher.rest())[-1]) == (Status.COMPLETED, Reason.RUN_SUCCEEDED)


async def test_a_canceled_run_is_closed(serving: World) -> None:
    run = await serving.turnwise.start(engine_options=SPEAKS_AND_WAITS)
    async with watching_status(run.frames()) as watcher:
        await watcher.until(Status.ACTIVE_OUTPUT)
        await run.cancel()
        assert [shown(status) for status in await watcher.rest()] == [(Status.CLOSED, Reason.RUN_CANCELED)]


async def test_the_stall_of_a_dead_worker_is_reported_by_another_process_and_once(
    temporal: Client, store_url: str
) -> None:
    async with start_world(temporal, store_url, with_worker=False) as world, workers(world, store_url) as crew:
        doomed = await crew.start()
        run = await world.turnwise.start(engine_options=SPEAKS_AND_WAITS, stall_after_sec=2)
        async with watching_status(run.frames()) as watcher:
            active = await watcher.until(Status.ACTIVE_OUTPUT)
            await doomed.kill()
            async with world.store.ticking():
                stalled = await watcher.next()
                assert shown(stalled) == (Status.STALLED, Reason.SILENCE_ELAPSED)
                assert stalled.last_activity_at == active.last_activity_at
                await crew.start()
                assert [shown(status) for status in await watcher.rest()] == [(Status.ERROR, Reason.RUN_FAILED)]


# Sessions


@pytest.fixture
async def session(serving: World) -> AgentSession:
    return await serving.turnwise.create_session(engine_options=SHORT, accepted_ttl_sec=3600, stall_after_sec=3600)


async def watch_until(watcher: StatusWatcher, status: Status, reason: Reason) -> StatusView:
    while shown(seen := await watcher.next()) != (status, reason):
        pass
    return seen


async def test_a_session_that_never_had_a_prompt_is_idle(session: AgentSession) -> None:
    status, view = await session.status(), await session.view()
    assert shown(status) == (Status.COMPLETED, Reason.IDLE)
    assert (status.session_id, status.run_id, status.timestamp) == (session.id, None, view.created_at)


async def test_a_session_shows_the_status_of_the_prompt_that_it_works_on(session: AgentSession) -> None:
    async with watching_status(session.frames()) as watcher:
        await watcher.first()
        result = await session.prompt("Hello")
        done = await watch_until(watcher, Status.COMPLETED, Reason.RUN_SUCCEEDED)
        assert (done.run_id, done.session_id) == (result.run_id, session.id)
        assert await session.status() == done
        await session.submit("Slow", engine_options=SPEAKS_AND_WAITS)
        active = await watch_until(watcher, Status.ACTIVE_OUTPUT, Reason.OUTPUT_WRITTEN)
        assert active.run_id != done.run_id
        assert active.run_id is not None
        await session.follow_up("Behind it")
        assert not (await session.status()).differs(active)
        await session.cancel_active_prompt()
        closed = await watcher.next()
        assert (shown(closed), closed.run_id) == ((Status.CLOSED, Reason.RUN_CANCELED), active.run_id)


async def test_a_session_lives_on_after_a_canceled_and_a_failed_prompt(session: AgentSession) -> None:
    async with watching_status(session.frames()) as watcher:
        await watcher.first()
        await session.submit("Slow", engine_options=SPEAKS_AND_WAITS)
        await watch_until(watcher, Status.ACTIVE_OUTPUT, Reason.OUTPUT_WRITTEN)
        await session.cancel_active_prompt()
        closed = await watch_until(watcher, Status.CLOSED, Reason.RUN_CANCELED)
        await until(session.view, lambda view: view.active_run_id is None)
        assert await session.status() == closed
        await session.submit("Failing", engine_options=FAILS)
        accepted = await watcher.next()
        assert accepted.run_id != closed.run_id
        assert accepted.status in (Status.ACCEPTED, Status.AWAITING_OUTPUT)
        failed = await watch_until(watcher, Status.ERROR, Reason.RUN_FAILED)
        await until(session.view, lambda view: view.active_run_id is None)
        await session.prompt("Short")
        again = await watch_until(watcher, Status.COMPLETED, Reason.RUN_SUCCEEDED)
        assert again.run_id != failed.run_id


@pytest.mark.parametrize("had", ["no prompt", "a prompt", "a canceled prompt"])
async def test_a_closed_session_is_closed_whatever_its_last_prompt_became(session: AgentSession, had: str) -> None:
    if had == "a prompt":
        await session.prompt("Hello")
    async with watching_status(session.frames()) as watcher:
        await watcher.first()
        if had == "a canceled prompt":
            await session.submit("Slow", engine_options=SPEAKS_AND_WAITS)
            await watch_until(watcher, Status.ACTIVE_OUTPUT, Reason.OUTPUT_WRITTEN)
        await session.close()
        closed = (await watcher.rest())[-1]
    view = await session.view()
    assert shown(closed) == (Status.CLOSED, Reason.SESSION_CLOSED)
    assert (closed.run_id, closed.timestamp) == (None, view.closed_at)
    assert view.status == closed


async def test_a_session_gives_its_patience_to_its_prompts(serving: World) -> None:
    session = await serving.turnwise.create_session(engine_options=SPEAKS_AND_WAITS, stall_after_sec=0.2)
    async with watching_status(session.frames()) as watcher:
        await watcher.first()
        await session.submit("Hello")
        stalled = await watch_until(watcher, Status.STALLED, Reason.SILENCE_ELAPSED)
        async with watching_status(session.frames()) as late:
            assert await late.first() == stalled
        run = await session.active_run()
        assert run is not None
        assert (await run.view()).stall_after_sec == 0.2
        await session.close()


async def test_a_session_shows_its_status_over_http(api: httpx.AsyncClient) -> None:
    created = (await api.post("/v1/sessions", json={"engine_options": SHORT, "accepted_ttl_sec": 1})).json()
    path = f"/v1/sessions/{created['session_id']}"
    assert created["accepted_ttl_sec"] == 1
    idle = await payload(api, f"{path}/status")
    assert StatusView.model_validate(created["status"]) == idle
    assert shown(idle) == (Status.COMPLETED, Reason.IDLE)
    await api.post(f"{path}/prompt", json={"text": "Hello"})
    async for frame in stream(api, f"{path}/stream"):
        if frame.event == "snapshot":
            assert SCHEMA.is_valid(frame.data["status"])
        if frame.event == "status":
            assert SCHEMA.is_valid(frame.data)
            if frame.data["reason"] == "run_succeeded":
                break
    await api.post(f"{path}/close")
    refused(await api.get("/v1/sessions/unknown/status"), 404, "SESSION_NOT_FOUND")
    refused(await api.get("/v1/runs/unknown/status"), 404, "RUN_NOT_FOUND")
    refused(await api.post("/v1/runs", json={"stall_after_sec": 0}), 422, "REQUEST_INVALID")

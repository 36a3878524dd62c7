"""What the API lets nobody do: reach workflows that are not its own, act for a page of somebody else's, or overflow."""

from collections.abc import AsyncIterator

import httpx
import pytest
from temporalio.client import WorkflowExecutionStatus

from tests.api_client import api_for, refused
from tests.world import ASK_THEN_ANSWER, WAIT_FOREVER, World, until_asked, until_state
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.statechart import State


@pytest.fixture(scope="module")
async def api(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with api_for(world) as client:
        yield client


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/runs/{}/cancel", None),
        ("/v1/runs/{}/interaction/reply", {"interaction_id": 1, "response": "x"}),
        ("/v1/sessions/{}/cancel", None),
        ("/v1/sessions/{}/close", None),
        ("/v1/sessions/{}/prompt", {"text": "x"}),
        ("/v1/sessions/{}/tools", {"source": "native", "name": "text.count"}),
    ],
)
async def test_a_workflow_that_is_not_ours_is_not_found_and_not_touched(
    api: httpx.AsyncClient, world: World, path: str, body: JsonObject | None
) -> None:
    handle = await world.temporal.start_workflow(
        "SomebodyElses", id=f"payroll{path.replace('/', '-')}", task_queue="somebody-elses"
    )
    answer = await api.post(path.format(handle.id), json=body)
    assert answer.status_code == 404
    events = [event.event_type async for event in handle.fetch_history_events()]
    assert len(events) == 2  # started, and a task that nobody takes
    await handle.terminate()


async def test_a_session_is_not_canceled_as_a_run_nor_a_run_closed_as_a_session(
    api: httpx.AsyncClient, world: World
) -> None:
    session = await world.turnwise.create_session()
    run = await world.turnwise.start(engine_options={"turns": [[WAIT_FOREVER]]})
    await until_state(run, State.RUNNING)
    assert (await api.post(f"/v1/runs/{session.id}/cancel")).status_code == 404
    assert (await api.post(f"/v1/sessions/{run.id}/close")).status_code == 404
    assert (await session.prompt("Still there?")).state is State.SUCCEEDED
    described = await world.temporal.get_workflow_handle(run.id).describe()
    assert described.status is WorkflowExecutionStatus.RUNNING
    await session.close()
    await run.cancel()
    await run.wait()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1"},
    ],
)
async def test_a_page_of_somebody_elses_may_change_nothing(api: httpx.AsyncClient, headers: dict[str, str]) -> None:
    refused(await api.post("/v1/runs", json={"prompt": "x"}, headers=headers), 403, "ORIGIN_NOT_ALLOWED")
    assert (await api.get("/v1/runs", headers=headers)).status_code == 200


async def test_our_own_page_may(api: httpx.AsyncClient) -> None:
    own = {"Origin": str(api.base_url).rstrip("/")}
    assert (await api.post("/v1/runs", json={"prompt": "x"}, headers=own)).status_code == 201
    behind_a_proxy = {"Origin": "https://turnwise.example", "Sec-Fetch-Site": "same-origin"}
    assert (await api.post("/v1/runs", json={"prompt": "x"}, headers=behind_a_proxy)).status_code == 201


@pytest.mark.parametrize("number", [2**31, 2**63, 2**64])
async def test_numbers_that_no_database_could_hold_are_refused(
    api: httpx.AsyncClient, world: World, number: int
) -> None:
    assert (await api.post("/v1/runs", json={"max_attempts": number})).status_code == 422
    assert (await api.post("/v1/sessions", json={"max_attempts": number})).status_code == 422
    run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    reply = {"interaction_id": number, "response": "blue"}
    assert (await api.post(f"/v1/runs/{run.id}/interaction/reply", json=reply)).status_code == 422
    await run.reply(1, "blue")
    assert (await run.wait()).state is State.SUCCEEDED


async def test_a_question_that_comes_out_empty_fails_its_turn(api: httpx.AsyncClient, world: World) -> None:
    options: JsonObject = {"turns": [[{"ask": {"kind": "confirm", "prompt": "{reply}"}}]]}
    run = await world.turnwise.start(engine_options=options)
    view = await run.wait()
    assert view.state is State.FAILED
    assert view.error is not None
    assert view.error.code == "TURN_FAILED"


async def test_one_endless_word_is_answered_like_any_other(api: httpx.AsyncClient, world: World) -> None:
    run = await world.turnwise.start("a" * 200_000)
    assert (await run.wait()).state is State.SUCCEEDED


@pytest.mark.parametrize("host", ["LOCALHOST", "localhost.", "LocalHost:80"])
async def test_a_name_is_a_name_however_it_is_written(api: httpx.AsyncClient, host: str) -> None:
    assert (await api.get("/healthz", headers={"Host": host})).status_code == 200

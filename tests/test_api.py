"""The HTTP API on a real socket: what services and people call, and what they get when they call it wrong."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from temporalio.client import Client

from tests.api_client import PROBLEM, api_for, refused, stream
from tests.sse import Frame
from tests.world import ANSWER, ASK, ASK_THEN_ANSWER, WAIT_FOREVER, World, start_world, until_asked
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.statechart import State


@pytest.fixture(scope="module")
async def api(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with api_for(world) as client:
        yield client


def frames(
    api: httpx.AsyncClient, run_id: str, cursor: int | None = None, headers: dict[str, str] | None = None
) -> AsyncIterator[Frame]:
    return stream(api, f"/v1/runs/{run_id}/events", cursor, headers)


async def start(api: httpx.AsyncClient, **body: Any) -> str:
    response = await api.post("/v1/runs", json=body)
    assert response.status_code == 201, response.text
    return str(response.json()["run_id"])


async def start_and_ask(api: httpx.AsyncClient, options: JsonObject = ASK_THEN_ANSWER) -> str:
    run_id = await start(api, engine_options=options)
    async for frame in frames(api, run_id):
        if frame.event == "chat_event" and frame.data["type"] == "user.input.required":
            return run_id
    raise AssertionError("the run ended without asking")


async def reply(
    api: httpx.AsyncClient, run_id: str, response: Any, interaction_id: int = 1, **more: Any
) -> httpx.Response:
    body = {"interaction_id": interaction_id, "response": response, **more}
    return await api.post(f"/v1/runs/{run_id}/interaction/reply", json=body)


async def to_the_end(api: httpx.AsyncClient, run_id: str, cursor: int = 0) -> list[Frame]:
    return [frame async for frame in frames(api, run_id, cursor)]


async def test_a_run_goes_from_start_to_completion_over_http(api: httpx.AsyncClient) -> None:
    started = await api.post("/v1/runs", json={"prompt": "Paint it", "engine_options": ASK_THEN_ANSWER})
    run = started.json()
    assert started.status_code == 201
    assert started.headers["location"] == f"/v1/runs/{run['run_id']}"
    assert run["state"] in ("queued", "running")
    assert (run["recovery_state"], run["auto_decision_count"]) == ("none", 0)
    assert run["temporal_workflow_id"] == run["run_id"]
    assert run["temporal_ui_url"] == f"http://ui.example/namespaces/default/workflows/{run['run_id']}"
    seen = []
    async for frame in frames(api, run["run_id"], 0):
        seen.append(frame)
        if frame.event == "chat_event" and frame.data["type"] == "user.input.required":
            waiting = (await api.get(f"/v1/runs/{run['run_id']}/interaction")).json()
            assert (waiting["state"], waiting["pending"]["prompt"]) == ("waiting_user", "Which colour?")
            accepted = await reply(api, run["run_id"], "blue", reply_id="r-1")
            assert (accepted.status_code, accepted.json()["reply_id"]) == (200, "r-1")
    assert seen[0].event == "snapshot"
    events = [frame for frame in seen if frame.event == "chat_event"]
    assert [frame.id for frame in events] == [str(seq) for seq in range(1, 11)]
    assert [frame.data["seq"] for frame in events] == list(range(1, 11))
    written = "".join(frame.data["text"] for frame in seen if frame.event == "delta")
    assert "It is blue.".startswith(written)
    assert written
    ended = (await api.get(f"/v1/runs/{run['run_id']}")).json()
    assert (ended["state"], ended["last_seq"], ended["pending"]) == ("succeeded", 10, None)
    assert ended["ended_at"] > ended["created_at"]


async def test_a_stream_resumed_at_any_cursor_loses_and_repeats_nothing(api: httpx.AsyncClient) -> None:
    run_id = await start_and_ask(api)
    await reply(api, run_id, "blue")
    whole = [frame.data for frame in await to_the_end(api, run_id) if frame.event == "chat_event"]
    for cursor in range(len(whole) + 1):
        by_query = [frame async for frame in frames(api, run_id, cursor)]
        by_header = [frame async for frame in frames(api, run_id, headers={"Last-Event-ID": str(cursor)})]
        assert [frame.data for frame in by_query[1:]] == whole[cursor:]
        assert by_query == by_header
        assert (by_query[0].event, by_query[0].data["cursor"]) == ("snapshot", cursor)


async def test_last_event_id_wins_over_the_cursor_of_the_first_connection(api: httpx.AsyncClient) -> None:
    run_id = await start(api, engine_options={"turns": [[{"final": "done"}]]})
    await to_the_end(api, run_id)
    resumed = [frame async for frame in frames(api, run_id, 0, {"Last-Event-ID": "4"})]
    assert [frame.id for frame in resumed[1:]] == ["5"]


async def test_a_client_that_comes_in_the_middle_of_a_sentence_gets_the_sentence_so_far(api: httpx.AsyncClient) -> None:
    text = "A long sentence that takes a while to be written, word by word, for everybody to see. " * 3
    run_id = await start(api, engine_options={"turns": [[{"final": text}]]})
    async for frame in frames(api, run_id):
        if frame.event == "delta":
            break
    resumed = await to_the_end(api, run_id)
    begun = resumed[0].data["message"]
    message_id, sentence = begun["message_id"], begun["text"]
    for frame in resumed[1:]:
        if frame.event == "delta":
            assert (frame.data["message_id"], frame.data["offset"]) == (message_id, len(sentence))
            sentence += frame.data["text"]
    assert sentence
    assert text.startswith(sentence)


@pytest.mark.parametrize("cursor", ["-1", "abc", "1.5", "99", "999999999999999999999"])
async def test_a_cursor_that_points_nowhere_is_refused(api: httpx.AsyncClient, cursor: str) -> None:
    run_id = await start_and_ask(api)
    response = await api.get(f"/v1/runs/{run_id}/events", params={"cursor": cursor})
    assert (response.status_code, response.headers["content-type"]) == (422, PROBLEM)
    by_header = await api.get(f"/v1/runs/{run_id}/events", headers={"Last-Event-ID": cursor})
    refused(by_header, 422, "CURSOR_INVALID")


async def test_history_gives_slices_of_the_log(api: httpx.AsyncClient) -> None:
    run_id = await start_and_ask(api)
    url = f"/v1/runs/{run_id}/events/history"
    whole = (await api.get(url)).json()
    assert [event["seq"] for event in whole["events"]] == [1, 2, 3, 4]
    assert whole["last_seq"] == 4
    slice_ = (await api.get(url, params={"from_seq": 2, "to_seq": 3})).json()
    assert slice_["events"] == whole["events"][1:3]
    assert (await api.get(url, params={"from_seq": 2, "limit": 1})).json()["events"] == whole["events"][1:2]
    assert (await api.get(url, params={"from_seq": 50})).json()["events"] == []
    refused(await api.get(url, params={"from_seq": 3, "to_seq": 2}), 422, "CURSOR_INVALID")
    refused(await api.get(url, params={"from_seq": 0}), 422, "REQUEST_INVALID")


async def test_the_audit_trail_is_readable_and_never_in_the_stream(api: httpx.AsyncClient) -> None:
    run_id = await start_and_ask(api)
    records = (await api.get(f"/v1/runs/{run_id}/audit")).json()["records"]
    assert [record["seq"] for record in records] == [1, 2, 3]
    assert [record["event"] for record in records] == ["agent.turn_start", "engine.raw", "agent.turn_complete"]
    assert {record["protocol_version"] for record in records} == {"rasp/1.0"}
    events = (await api.get(f"/v1/runs/{run_id}/events/history")).json()["events"]
    assert not {event["type"] for event in events} & {record["event"] for record in records}


async def test_a_second_reply_is_told_who_was_first(api: httpx.AsyncClient) -> None:
    run_id = await start_and_ask(api, {"turns": [[ASK], [ASK], [ANSWER]]})
    await reply(api, run_id, "blue", reply_id="first")
    again = await reply(api, run_id, "blue", reply_id="first")
    assert (again.status_code, again.json()["reply_id"]) == (200, "first")
    body = refused(await reply(api, run_id, "red", reply_id="second"), 409, "INTERACTION_ALREADY_ANSWERED")
    assert body["receipt"]["reply_id"] == "first"


async def test_a_bad_reply_says_what_is_wrong_and_changes_nothing(api: httpx.AsyncClient) -> None:
    schema: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}}
    question: JsonObject = {
        "kind": "fill_fields",
        "prompt": "Who?",
        "required_fields": ["name", "n"],
        "response_schema": schema,
    }
    run_id = await start_and_ask(api, {"turns": [[{"ask": question}], [ANSWER]]})
    before = (await api.get(f"/v1/runs/{run_id}")).json()
    body = refused(await reply(api, run_id, {"name": "Ada"}), 422, "RESPONSE_INVALID")
    assert "n" in body["missing"]
    body = refused(await reply(api, run_id, {"name": "Ada", "n": "one"}), 422, "RESPONSE_INVALID")
    assert "/n" in body["detail"]
    refused(await reply(api, run_id, "Ada"), 422, "RESPONSE_INVALID")
    refused(await reply(api, run_id, {"name": "Ada", "n": 1}, interaction_id=5), 409, "INTERACTION_STALE")
    refused(await reply(api, run_id, "x", interaction_id=0), 422, "REQUEST_INVALID")
    refused(await api.post(f"/v1/runs/{run_id}/interaction/reply", json={"interaction_id": 1}), 422, "REQUEST_INVALID")
    assert (await api.get(f"/v1/runs/{run_id}")).json() == before
    assert (await reply(api, run_id, {"name": "Ada", "n": 1})).status_code == 200


async def test_replies_and_cancels_after_the_end_are_refused(api: httpx.AsyncClient) -> None:
    run_id = await start(api, engine_options={"turns": [[{"final": "done"}]]})
    await to_the_end(api, run_id)
    refused(await reply(api, run_id, "late"), 409, "RUN_NOT_WAITING")
    refused(await api.post(f"/v1/runs/{run_id}/cancel"), 409, "RUN_ENDED")


async def test_cancel_answers_with_the_state_as_it_is_and_the_stream_tells_the_rest(api: httpx.AsyncClient) -> None:
    run_id = await start(api, engine_options={"turns": [[WAIT_FOREVER]]})
    async for frame in frames(api, run_id):
        if frame.event == "chat_event" and frame.data["type"] == "conversation.state.changed":
            if frame.data["data"]["to"] == "running":
                canceling = await api.post(f"/v1/runs/{run_id}/cancel")
                assert (canceling.status_code, canceling.json()["state"]) == (202, "running")
            last = frame.data["data"]["to"]
    assert last == "canceled"
    ended = (await api.get(f"/v1/runs/{run_id}")).json()
    assert (ended["state"], ended["error"]["code"]) == ("canceled", "RUN_CANCELED")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("GET", "/events"),
        ("GET", "/events/history"),
        ("GET", "/audit"),
        ("GET", "/interaction"),
        ("POST", "/cancel"),
        ("POST", "/interaction/reply"),
    ],
)
@pytest.mark.parametrize("run_id", ["no-such-run", "%00", "%F0%9F%8E%A8", "a" * 2000])
async def test_an_unknown_run_is_not_found(api: httpx.AsyncClient, method: str, path: str, run_id: str) -> None:
    body = {"interaction_id": 1, "response": "x"} if path == "/interaction/reply" else None
    refused(await api.request(method, f"/v1/runs/{run_id}{path}", json=body), 404, "RUN_NOT_FOUND")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "JSON_INVALID"),
        (b"", 422, "REQUEST_INVALID"),
        (b"[]", 422, "REQUEST_INVALID"),
        (b'{"prompt": 7}', 422, "REQUEST_INVALID"),
        (b'{"promt": "typo"}', 422, "REQUEST_INVALID"),
        (b'{"content_ref": "sha256:0"}', 422, "REQUEST_INVALID"),
        (b'{"session_timeout_sec": -1}', 422, "REQUEST_INVALID"),
        (b'{"session_timeout_sec": 1e99}', 422, "REQUEST_INVALID"),
        (b'{"prompt": "\\ud800"}', 422, "REQUEST_INVALID"),
        (b'{"engine": "gpt-12"}', 422, "ENGINE_UNKNOWN"),
        (b'{"engine_options": {"turns": []}}', 422, "ENGINE_OPTIONS_INVALID"),
        (
            b'{"engine_options": {"turns": [[{"ask": {"kind": "guess", "prompt": "?"}}]]}}',
            422,
            "ENGINE_OPTIONS_INVALID",
        ),
        (b'{"prompt": "' + b"x" * 1_100_000 + b'"}', 413, "BODY_TOO_LARGE"),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_what_cannot_be_started_is_refused_and_starts_nothing(
    api: httpx.AsyncClient, body: bytes, status: int, code: str
) -> None:
    before = (await api.get("/v1/runs", params={"limit": 1})).json()["runs"]
    refused(await api.post("/v1/runs", content=body, headers={"content-type": "application/json"}), status, code)
    after = (await api.get("/v1/runs", params={"limit": 1})).json()["runs"]
    assert [run["run_id"] for run in before] == [run["run_id"] for run in after]


async def test_a_huge_body_without_a_declared_length_is_refused_too(api: httpx.AsyncClient) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(30):
            yield b"x" * 100_000

    headers = {"content-type": "application/json"}
    refused(await api.post("/v1/runs", content=chunks(), headers=headers), 413, "BODY_TOO_LARGE")


async def test_an_idempotency_key_returns_the_same_run(api: httpx.AsyncClient) -> None:
    body = {"prompt": "once", "engine_options": ASK_THEN_ANSWER}
    headers = {"Idempotency-Key": "order-77"}
    first, second = await asyncio.gather(*(api.post("/v1/runs", json=body, headers=headers) for _ in range(2)))
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["run_id"] == second.json()["run_id"]
    other = await api.post("/v1/runs", json={"prompt": "other"}, headers=headers)
    refused(other, 422, "IDEMPOTENCY_KEY_REUSED")


async def test_runs_are_listed_newest_first_in_pages_and_by_state(temporal: Client, store_url: str) -> None:
    async with start_world(temporal, store_url) as world, api_for(world) as api:
        waiting = [await world.turnwise.start(engine_options=ASK_THEN_ANSWER) for _ in range(3)]
        for run in waiting:
            await until_asked(run)
        done = await world.turnwise.start(engine_options={"turns": [[{"final": "x"}]]})
        assert (await done.wait()).state is State.SUCCEEDED
        listed = []
        cursor: str | None = None
        while True:
            page = (await api.get("/v1/runs", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
            listed += [run["run_id"] for run in page["runs"]]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert listed == [done.id, *(run.id for run in reversed(waiting))]
        only = (await api.get("/v1/runs", params={"state": "succeeded"})).json()
        assert [run["run_id"] for run in only["runs"]] == [done.id]
        refused(await api.get("/v1/runs", params={"state": "asleep"}), 422, "REQUEST_INVALID")
        refused(await api.get("/v1/runs", params={"cursor": "nonsense"}), 422, "CURSOR_INVALID")
        refused(await api.get("/v1/runs", params={"limit": 0}), 422, "REQUEST_INVALID")


async def test_a_reply_that_no_worker_takes_is_told_when_to_come_again(temporal: Client, store_url: str) -> None:
    async with start_world(temporal, store_url, with_worker=False) as world, api_for(world) as api:
        async with world.worker():
            run_id = await start_and_ask(api)
        response = await reply(api, run_id, "blue", reply_id="mine")
        assert refused(response, 503, "UNAVAILABLE")["reply_id"] == "mine"
        assert int(response.headers["retry-after"]) > 0
        async with world.worker():
            assert (await reply(api, run_id, "blue", reply_id="mine")).status_code == 200


async def test_health_and_readiness(api: httpx.AsyncClient) -> None:
    assert (await api.get("/healthz")).json() == {"status": "ok"}
    assert (await api.get("/readyz")).json() == {"status": "ok"}


async def test_a_page_with_a_name_of_its_own_does_not_reach_the_api(api: httpx.AsyncClient) -> None:
    refused(await api.get("/healthz", headers={"Host": "evil.example"}), 400, "HOST_NOT_ALLOWED")
    assert (await api.get("/healthz", headers={"Host": "localhost:1234"})).status_code == 200


async def test_routes_that_do_not_exist_are_problems_too(api: httpx.AsyncClient) -> None:
    refused(await api.get("/v1/walks"), 404, "NOT_FOUND")
    refused(await api.put("/v1/runs"), 405, "METHOD_NOT_ALLOWED")


async def test_streams_end_when_the_api_stops_so_that_it_can_stop(temporal: Client, store_url: str) -> None:
    async with start_world(temporal, store_url) as world:
        async with api_for(world) as api:
            run_id = await start_and_ask(api)
            stream = frames(httpx.AsyncClient(base_url=api.base_url), run_id)
            assert (await anext(stream)).event == "snapshot"
        assert {frame.event async for frame in stream} == {"chat_event"}

"""Sessions over HTTP on a real socket: what services and people call, and what they get when they call it wrong."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.api_client import api_for, refused, stream
from tests.sse import Frame
from tests.world import World, until
from turnwise.fcmp.jsonvalue import JsonObject

SLOW: JsonObject = {"turns": [[{"say": "I am at it."}, {"sleep": 3600}]]}
ASKS: JsonObject = {"turns": [[{"ask": {"kind": "confirm", "prompt": "Go on?"}}], [{"final": "Gone on."}]]}


@pytest.fixture(scope="module")
async def api(world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with api_for(world) as client:
        yield client


@pytest.fixture
async def path(api: httpx.AsyncClient) -> AsyncIterator[str]:
    """Of a new session."""
    created = await api.post("/v1/sessions", json={})
    assert created.status_code == 201, created.text
    path = f"/v1/sessions/{created.json()['session_id']}"
    assert created.headers["location"] == path
    yield path
    await api.post(f"{path}/close")


async def prompt(api: httpx.AsyncClient, path: str, text: str, **more: Any) -> Any:
    response = await api.post(f"{path}/prompt", json={"text": text, "wait": True, **more})
    assert response.status_code == 200, response.text
    return response.json()


async def submit(api: httpx.AsyncClient, path: str, text: str, **more: Any) -> Any:
    response = await api.post(f"{path}/prompt", json={"text": text, **more})
    assert response.status_code == 202, response.text
    return response.json()


async def get(api: httpx.AsyncClient, path: str, **params: Any) -> Any:
    response = await api.get(path, params=params)
    assert response.status_code == 200, response.text
    return response.json()


async def until_asked(api: httpx.AsyncClient, run_id: str) -> None:
    async def pending() -> Any:
        return (await get(api, f"/v1/runs/{run_id}/interaction"))["pending"]

    await until(pending, lambda question: question is not None)


async def frames_until(frames: AsyncIterator[Frame], kind: str) -> list[Frame]:
    seen = []
    async for frame in frames:
        seen.append(frame)
        if frame.event == "chat_event" and frame.data["type"] == kind:
            return seen
    raise AssertionError(f"the stream ended without {kind}")


async def test_a_prompt_waits_for_its_own_end_and_gives_the_text(api: httpx.AsyncClient, path: str) -> None:
    result = await prompt(api, path, "hello")
    assert result["state"] == "succeeded"
    assert "hello" in result["text"]
    run = await get(api, f"/v1/runs/{result['run_id']}")
    assert run["session_id"] == path.rpartition("/")[2]
    session = await get(api, path)
    assert (session["state"], session["active_run_id"], session["total_entries"]) == ("open", None, 2)
    assert session["temporal_ui_url"] == f"http://ui.example/namespaces/default/workflows/{session['session_id']}"


async def test_a_prompt_that_is_not_awaited_gives_a_run_that_can_be_looked_at_at_once(
    api: httpx.AsyncClient, path: str
) -> None:
    receipt = await submit(api, path, "wait", engine_options=ASKS)
    assert receipt["status"] == "active"
    run = await get(api, f"/v1/runs/{receipt['run_id']}")
    assert run["state"] in ("queued", "running", "waiting_user")
    assert (await get(api, path))["active_run_id"] == receipt["run_id"]


async def test_a_question_inside_a_session_is_answered_like_any_other(api: httpx.AsyncClient, path: str) -> None:
    receipt = await submit(api, path, "ask", engine_options=ASKS)
    await until_asked(api, receipt["run_id"])
    reply = {"interaction_id": 1, "response": True}
    assert (await api.post(f"/v1/runs/{receipt['run_id']}/interaction/reply", json=reply)).status_code == 200
    (await frames_until(stream(api, f"{path}/stream"), "conversation.completed"))
    entries = (await get(api, f"{path}/transcript"))["entries"]
    assert [(entry["role"], entry["text"], entry.get("interaction_id")) for entry in entries] == [
        ("user", "ask", None),
        ("assistant", "Go on?", 1),
        ("user", "true", 1),
        ("assistant", "Gone on.", None),
    ]
    # A reply is no prompt: nobody forks in the middle of a run.
    assert await get(api, f"{path}/forkable-messages") == {"messages": [{"entry_index": 0, "text": "ask"}]}


async def test_one_cursor_goes_over_all_runs_of_the_conversation(api: httpx.AsyncClient, path: str) -> None:
    for text in ("one", "two"):
        await prompt(api, path, text)
    await api.post(f"{path}/close")
    frames = [frame async for frame in stream(api, f"{path}/stream")]
    events = [frame for frame in frames if frame.event == "chat_event"]
    assert frames[0].event == "snapshot"
    assert (frames[0].data["state"], frames[0].data["queue"]) == ("closed", [])
    assert [int(frame.id or 0) for frame in events] == list(range(1, len(events) + 1))
    assert [frame.data["meta"]["session_seq"] for frame in events] == list(range(1, len(events) + 1))
    assert [frame.data["data"]["prompt"] for frame in events if frame.data["type"] == "conversation.started"] == [
        "one",
        "two",
    ]
    assert len({frame.data["run_id"] for frame in events}) == 2
    rest = [frame.id async for frame in stream(api, f"{path}/stream", headers={"Last-Event-ID": "5"})]
    assert rest[1:] == [frame.id for frame in events[5:]]


async def test_a_watcher_of_a_session_sees_the_queue_and_the_text_being_written(
    api: httpx.AsyncClient, path: str
) -> None:
    receipt = await submit(api, path, "ask", engine_options=ASKS)
    await until_asked(api, receipt["run_id"])
    watching = stream(api, f"{path}/stream")
    snapshot = await anext(watching)
    assert (snapshot.data["run_state"], snapshot.data["pending"]["prompt"]) == ("waiting_user", "Go on?")
    await api.post(f"{path}/follow-up", json={"text": "and then this"})
    queues, texts = [], []
    async for frame in watching:
        if frame.event == "queue":
            queues.append([(item["source"], item["text_preview"], item["status"]) for item in frame.data["items"]])
            if len(queues) == 1:
                reply = {"interaction_id": 1, "response": True}
                await api.post(f"/v1/runs/{receipt['run_id']}/interaction/reply", json=reply)
        if frame.event == "delta":
            assert frame.data["run_id"]
            texts.append(frame.data["text"])
        if frame.event == "chat_event" and frame.data["type"] == "conversation.completed" and len(queues) == 2:
            break
    assert queues == [[("follow_up", "and then this", "queued")], []]
    assert any("and then" in "".join(texts[start:]) for start in range(len(texts)))


async def test_who_has_just_seen_a_run_end_can_prompt_again_at_once(api: httpx.AsyncClient, path: str) -> None:
    for number in range(5):
        receipt = await submit(api, path, f"number {number}", engine_options={"turns": [[{"final": "done"}]]})
        await frames_until(stream(api, f"/v1/runs/{receipt['run_id']}/events"), "conversation.completed")


async def test_the_names_on_the_wire(api: httpx.AsyncClient, path: str) -> None:
    registered = await api.post(f"{path}/tools", json={"source": "native", "name": "text.count"})
    assert registered.status_code == 201
    tools = await get(api, f"{path}/tools")
    assert registered.json() == tools
    assert set(tools["tools"][0]) == {"name", "description", "short_description", "parameters", "source", "enabled"}
    call = {"turns": [[{"tool": {"name": "text.count", "arguments": {"text": "a"}}}, {"final": "done"}]]}
    await prompt(api, path, "count", engine_options=call)
    transcript = await get(api, f"{path}/transcript")
    assert [(entry["entry_index"], entry["kind"]) for entry in transcript["entries"]] == [
        (0, "message"),
        (1, "tool_call"),
        (2, "tool_output"),
        (3, "message"),
    ]
    assert transcript["entries"][2]["status"] == "completed"
    events = (await get(api, f"{path}/events"))["events"]
    assert {event["type"] for event in events} == {"message", "tool_call", "tool_execution_update", "tool_result"}
    assert {event["source"] for event in events} == {"transcript"}
    stats = await get(api, f"{path}/stats")
    assert stats.pop("last_updated_at")
    assert stats == {
        "user_messages": 1,
        "assistant_messages": 1,
        "tool_calls": 1,
        "tool_results": 1,
        "total_entries": 4,
        "pending_messages": 0,
        "pending_breakdown": {"prompt_follow_up": 0, "steer": 0, "follow_up": 0},
    }


async def test_sessions_are_listed_with_what_a_person_knows_them_by(api: httpx.AsyncClient, path: str) -> None:
    async def shown() -> tuple[str, str | None]:
        view = await get(api, path)
        assert view in (await get(api, "/v1/sessions"))["sessions"]
        return view["prompt_preview"], view["run_state"]

    assert await shown() == ("", None)
    ask = {"turns": [[{"ask": {"kind": "confirm", "prompt": "Go on?"}}], [{"final": "done"}]]}
    receipt = await submit(api, path, "Plan the summer", engine_options=ask)
    run = f"/v1/runs/{receipt['run_id']}"
    await frames_until(stream(api, f"{run}/events"), "user.input.required")
    assert await shown() == ("Plan the summer", "waiting_user")
    await api.post(f"{run}/interaction/reply", json={"interaction_id": 1, "response": True})
    await frames_until(stream(api, f"{run}/events"), "conversation.completed")
    await prompt(api, path, "And the winter")
    assert await shown() == ("Plan the summer", None)
    fork = (await api.post(f"{path}/fork", json={"from_user_entry_index": 0})).json()
    assert fork["prompt_preview"] == ""


async def test_the_queue_over_http(api: httpx.AsyncClient, path: str) -> None:
    await submit(api, path, "slow", engine_options=SLOW)
    await submit(api, path, "a" * 30, streaming_behavior="follow_up")
    await api.post(f"{path}/steer", json={"text": "b" * 30})
    await api.post(f"{path}/follow-up", json={"text": "c" * 30})
    items = (await get(api, f"{path}/pending", max_length=10))["items"]
    assert [(item["source"], item["text_preview"], item["status"]) for item in items] == [
        ("prompt_follow_up", "a" * 10 + "...", "queued"),
        ("steer", "b" * 10 + "...", "queued"),
        ("follow_up", "c" * 10 + "...", "queued"),
    ]
    history = await api.delete(f"{path}/pending/history")
    assert history.json() == {"queued_removed": 0, "resolved_removed": 0, "active_prompt_canceled": False}
    cleared = await api.delete(f"{path}/pending", params={"cancel_active_prompt": True})
    assert cleared.json() == {"queued_removed": 3, "resolved_removed": 0, "active_prompt_canceled": True}


async def test_a_canceled_prompt_is_told_to_whoever_waits_for_it(api: httpx.AsyncClient, path: str) -> None:
    active = asyncio.create_task(prompt(api, path, "slow", engine_options=SLOW))
    await until(lambda: get(api, path), lambda session: session["active_run_id"] is not None)
    behind = asyncio.create_task(prompt(api, path, "behind", streaming_behavior="follow_up"))
    await until(lambda: get(api, path), lambda session: session["pending_messages"] == 1)
    assert (await api.post(f"{path}/cancel")).status_code == 202
    results = [await active, await behind]
    assert [(result["state"], result["text"]) for result in results] == [("canceled", None), ("canceled", None)]
    assert results[1]["run_id"] is None
    items = (await get(api, f"{path}/pending", include_resolved=True))["items"]
    assert [(item["text_preview"], item["status"]) for item in items] == [("behind", "failed")]


async def test_a_prompt_that_was_removed_from_the_queue_is_a_conflict_for_whoever_waits(
    api: httpx.AsyncClient, path: str
) -> None:
    await submit(api, path, "slow", engine_options=SLOW)
    body = {"text": "behind", "wait": True, "streaming_behavior": "follow_up"}
    behind = asyncio.create_task(api.post(f"{path}/prompt", json=body))
    await until(lambda: get(api, path), lambda session: session["pending_messages"] == 1)
    await api.delete(f"{path}/pending")
    refused(await behind, 409, "PROMPT_CANCELED")


async def test_a_fork_over_http(api: httpx.AsyncClient, path: str) -> None:
    for text in ("one", "two"):
        await prompt(api, path, text)
    forked = await api.post(f"{path}/fork", json={"from_user_entry_index": 2})
    assert forked.status_code == 201
    new = forked.json()
    assert new["parent_session_id"] == path.rpartition("/")[2]
    assert (await get(api, f"/v1/sessions/{new['session_id']}/transcript"))["entries"] == (
        await get(api, f"{path}/transcript")
    )["entries"][:2]
    whole = await api.post(f"{path}/fork", json={})
    assert whole.json()["total_entries"] == 4


@pytest.mark.parametrize("index", [1, 7, -1, -(2**70)])
async def test_a_fork_at_anything_but_a_prompt_names_the_index(api: httpx.AsyncClient, path: str, index: int) -> None:
    await prompt(api, path, "one")
    body = refused(
        await api.post(f"{path}/fork", json={"from_user_entry_index": index}), 422, "INVALID_FORK_ENTRY_INDEX"
    )
    assert body["index"] == index


async def test_a_busy_session_refuses_and_goes_on(api: httpx.AsyncClient, path: str) -> None:
    await submit(api, path, "slow", engine_options=SLOW)
    refused(await api.post(f"{path}/prompt", json={"text": "no"}), 409, "PROMPT_ALREADY_RUNNING")
    refused(await api.post(f"{path}/resume", json={"entries": []}), 409, "SESSION_BUSY")
    assert (await get(api, f"{path}/stats"))["pending_messages"] == 0


async def test_a_closed_session_refuses_everything_and_can_still_be_read(api: httpx.AsyncClient, path: str) -> None:
    await prompt(api, path, "one")
    await submit(api, path, "slow", engine_options=SLOW)
    closed = await api.post(f"{path}/close")
    assert (closed.status_code, closed.json()["state"]) == (200, "closed")
    for call, body in (("prompt", {"text": "no"}), ("steer", {"text": "no"}), ("resume", {"entries": []})):
        refused(await api.post(f"{path}/{call}", json=body), 409, "SESSION_CLOSED")
    refused(await api.post(f"{path}/cancel"), 409, "SESSION_CLOSED")
    refused(await api.post(f"{path}/tools", json={"source": "native", "name": "text.count"}), 409, "SESSION_CLOSED")
    refused(await api.delete(f"{path}/tools/text.count"), 409, "SESSION_CLOSED")
    assert (await get(api, f"{path}/transcript"))["total_entries"] >= 3
    assert (await api.post(f"{path}/fork", json={})).status_code == 201


async def test_an_unknown_session_is_not_found(api: httpx.AsyncClient) -> None:
    path = "/v1/sessions/nobody"
    for way in ("", "/transcript", "/pending", "/stats", "/events", "/stream", "/tools", "/forkable-messages"):
        refused(await api.get(f"{path}{way}"), 404, "SESSION_NOT_FOUND")
    for call, body in (
        ("prompt", {"text": "no"}),
        ("prompt", {"text": "no", "engine_options": SLOW}),
        ("prompt", {"text": "no", "prompt_id": "known"}),
        ("follow-up", {"text": "no"}),
        ("fork", {}),
        ("resume", {"entries": []}),
        ("cancel", None),
        ("close", None),
        ("tools", {"source": "native", "name": "text.count"}),
    ):
        refused(await api.post(f"{path}/{call}", json=body), 404, "SESSION_NOT_FOUND")
    for gone in ("/pending", "/pending/history", "/tools/text.count"):
        refused(await api.delete(f"{path}{gone}"), 404, "SESSION_NOT_FOUND")


@pytest.mark.parametrize(
    ("call", "body", "code"),
    [
        ("prompt", {}, "REQUEST_INVALID"),
        ("prompt", {"text": ""}, "REQUEST_INVALID"),
        ("prompt", {"text": "x", "streaming_behavior": "shout"}, "REQUEST_INVALID"),
        ("prompt", {"text": "x", "colour": "blue"}, "REQUEST_INVALID"),
        ("prompt", {"text": "x", "engine_options": {"turns": "no"}}, "ENGINE_OPTIONS_INVALID"),
        ("resume", {"entries": [{"kind": "message", "role": "user"}]}, "ENTRIES_INVALID"),
        ("resume", {"entries": [{"kind": "thought"}]}, "ENTRIES_INVALID"),
        ("resume", {"entries": "all"}, "REQUEST_INVALID"),
        ("tools", {"source": "native"}, "REQUEST_INVALID"),
        ("tools", {"source": "native", "name": "nothing"}, "TOOL_UNKNOWN"),
        ("tools", {"source": "mcp", "server": "nowhere"}, "TOOL_UNKNOWN"),
        ("fork", {"from_user_entry_index": "two"}, "REQUEST_INVALID"),
    ],
)
async def test_bad_input_is_refused_and_changes_nothing(
    api: httpx.AsyncClient, path: str, call: str, body: Any, code: str
) -> None:
    refused(await api.post(f"{path}/{call}", json=body), 422, code)
    session = await get(api, path)
    assert (session["total_entries"], session["active_run_id"], session["pending_messages"]) == (0, None, 0)
    assert (await prompt(api, path, "still there"))["state"] == "succeeded"


async def test_a_tool_is_switched_off_and_removed(api: httpx.AsyncClient, path: str) -> None:
    await api.post(f"{path}/tools", json={"source": "native", "name": "text.count"})
    changed = await api.patch(f"{path}/tools/text.count", json={"enabled": False})
    assert (changed.status_code, changed.json()["enabled"]) == (200, False)
    assert (await api.delete(f"{path}/tools/text.count")).status_code == 204
    refused(await api.delete(f"{path}/tools/text.count"), 404, "TOOL_NOT_FOUND")
    refused(await api.patch(f"{path}/tools/text.count", json={"enabled": True}), 404, "TOOL_NOT_FOUND")


async def test_a_session_is_created_once_for_an_idempotency_key(api: httpx.AsyncClient) -> None:
    headers = {"Idempotency-Key": "one-conversation"}
    many = await asyncio.gather(*(api.post("/v1/sessions", json={}, headers=headers) for _ in range(4)))
    assert len({each.json()["session_id"] for each in many}) == 1
    other = await api.post("/v1/sessions", json={"mode": "auto"}, headers=headers)
    refused(other, 422, "IDEMPOTENCY_KEY_REUSED")


async def test_a_prompt_sent_again_under_its_id_is_the_same_prompt(api: httpx.AsyncClient, path: str) -> None:
    first = await submit(api, path, "once", prompt_id="mine")
    again = await submit(api, path, "once", prompt_id="mine")
    assert first["run_id"] == again["run_id"]
    await prompt(api, path, "once", prompt_id="mine")
    assert (await get(api, f"{path}/stats"))["user_messages"] == 1


async def test_sessions_are_listed_newest_first_in_pages(api: httpx.AsyncClient) -> None:
    created = [(await api.post("/v1/sessions", json={})).json()["session_id"] for _ in range(3)]
    page = await get(api, "/v1/sessions", limit=2)
    assert [session["session_id"] for session in page["sessions"]] == created[:0:-1]
    rest = await get(api, "/v1/sessions", limit=1, cursor=page["next_cursor"])
    assert rest["sessions"][0]["session_id"] == created[0]
    refused(await api.get("/v1/sessions", params={"cursor": "nonsense"}), 422, "CURSOR_INVALID")


async def test_a_session_takes_the_timeouts_of_a_run_as_defaults(api: httpx.AsyncClient) -> None:
    settings = {"engine_options": ASKS, "interactive_require_user_reply": False, "session_timeout_sec": 0.1}
    session = (await api.post("/v1/sessions", json=settings)).json()
    result = await prompt(api, f"/v1/sessions/{session['session_id']}", "ask")
    assert (result["state"], result["text"]) == ("succeeded", "Gone on.")
    run = await get(api, f"/v1/runs/{result['run_id']}")
    assert (run["auto_decision_count"], run["session_timeout_sec"]) == (1, 0.1)


async def test_a_long_prompt_is_kept_whole(api: httpx.AsyncClient, path: str) -> None:
    text = "long " * 100_000
    await prompt(api, path, text, engine_options={"turns": [[{"final": "done"}]]})
    entries = (await get(api, f"{path}/transcript"))["entries"]
    assert [entry["text"] for entry in entries] == [text, "done"]
    await submit(api, path, "slow", engine_options=SLOW)
    await api.post(f"{path}/follow-up", json={"text": text})
    (item,) = (await get(api, f"{path}/pending"))["items"]
    assert item["text_preview"] == text[:120] + "..."

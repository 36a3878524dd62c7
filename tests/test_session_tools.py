"""Tools in sessions, on the real server: registered by a real worker, called by the turns of real runs."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from pydantic import JsonValue
from temporalio.client import Client, WorkflowHandle, WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from tests.api_client import api_for, refused
from tests.mcp_process import STDIO, config_file, listing
from tests.world import World, start_world, until_event
from turnwise.client import AgentSession, PromptCanceled
from turnwise.errors import (
    SessionClosed,
    ToolLimitReached,
    ToolNotFound,
    ToolServerUnavailable,
    ToolUnknown,
    ToolUnusable,
)
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.runtime.worker import build_worker
from turnwise.sessions import ToolOutputEntry
from turnwise.tools import NativeTools, Tools, ToolServers
from turnwise.tools.config import read_config
from turnwise.tools.toolbox import MAX_CALLS

SECRET = "s3cr3t-key"


class Workshop:
    """What the tools of the test's worker do, and what the servers say."""

    def __init__(self, folder: Path) -> None:
        self.said = folder / "said.json"
        self.heard: list[str] = []
        self.waits = asyncio.Event()
        self.stopped = asyncio.Event()

    def tools(self) -> NativeTools:
        tools = NativeTools()
        for function in (self.add, self.hear, self.fail, self.wait):
            tools.add(function)
        return tools

    async def add(self, a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    def hear(self, text: str) -> int:
        self.heard.append(text)
        return len(self.heard)

    def fail(self) -> None:
        raise OSError("The printer is on fire.")

    async def wait(self) -> None:
        self.waits.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()

    def say(self, *tools: JsonObject, **more: object) -> None:
        self.said.write_text(json.dumps({"pages": [tools], **more}))


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


@pytest.fixture
async def workshop_world(temporal: Client, workshop: Workshop, tmp_path: Path) -> AsyncIterator[World]:
    config = config_file(
        tmp_path,
        test=STDIO,
        other=STDIO,
        listing=listing(workshop.said, KEY=SECRET),
        broken={"command": "false", "env": {"KEY": SECRET}},
    )
    tools = Tools(workshop.tools(), ToolServers(read_config(config)), timeout_sec=30)
    async with start_world(temporal, f"sqlite:///{tmp_path / 'turnwise.db'}", with_worker=False) as world:
        try:
            async with build_worker(temporal, world.store, world.engines, task_queue=world.task_queue, tools=tools):
                yield world
        finally:
            await tools.close()


@pytest.fixture
async def session(workshop_world: World) -> AsyncIterator[AgentSession]:
    session = await workshop_world.turnwise.create_session()
    yield session
    if (await session.view()).closed_at is None:
        await session.close()


@pytest.fixture
async def api(workshop_world: World) -> AsyncIterator[httpx.AsyncClient]:
    async with api_for(workshop_world) as client:
        yield client


def step(name: str, **arguments: JsonValue) -> JsonObject:
    return {"tool": {"name": name, "arguments": arguments}}


def script(*steps: JsonObject) -> JsonObject:
    return {"turns": [[*steps, {"final": "It says {result}."}]]}


def described(name: str, **more: JsonValue) -> JsonObject:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


async def outputs(session: AgentSession, *steps: JsonObject) -> list[tuple[str, JsonValue]]:
    """How the calls of a prompt ended, each with its status; the prompt itself succeeds whatever becomes of them."""
    before = len(await session.transcript())
    await session.prompt("go", engine_options=script(*steps))
    entries = [each.entry for each in (await session.transcript())[before:]]
    return [(entry.status.value, entry.result) for entry in entries if isinstance(entry, ToolOutputEntry)]


async def failure(session: AgentSession, call: JsonObject) -> str:
    ((status, result),) = await outputs(session, call)
    assert status == "failed"
    assert isinstance(result, dict)
    return str(result["error"])


# Calls


async def test_a_step_calls_the_registered_tool_and_its_result_is_in_the_answer(session: AgentSession) -> None:
    await session.register("add")
    scripted: JsonObject = {"tool": {"name": "add", "arguments": {"a": 1, "b": 2}, "result": "not this"}}
    result = await session.prompt("go", engine_options=script(scripted))
    assert result.text == "It says 3."


async def test_a_step_has_its_scripted_result_when_the_session_has_no_such_tool(session: AgentSession) -> None:
    scripted: JsonObject = {"tool": {"name": "add", "arguments": {"a": 1, "b": 2}, "result": None}}
    assert await outputs(session, scripted) == [("completed", None)]


async def test_an_unknown_tool_is_an_error_result(session: AgentSession, workshop: Workshop) -> None:
    await session.register("add")
    assert await failure(session, step("hear", text="x")) == "The tool 'hear' is not known. Usable here: add."
    assert workshop.heard == []


async def test_a_disabled_tool_does_not_run_until_it_is_enabled_again(
    session: AgentSession, workshop: Workshop
) -> None:
    await session.register("hear")
    await session.disable("hear")
    assert await failure(session, step("hear", text="x")) == "The tool 'hear' is disabled. Usable here: none."
    assert workshop.heard == []
    await session.enable("hear")
    assert await outputs(session, step("hear", text="x")) == [("completed", 1)]


async def test_an_unregistered_tool_does_not_run(session: AgentSession, workshop: Workshop) -> None:
    await session.register("hear")
    await session.unregister("hear")
    assert "is not known" in await failure(session, step("hear", text="x"))
    assert workshop.heard == []


async def test_a_tool_that_fails_is_never_completed_and_the_session_lives_on(
    workshop_world: World, session: AgentSession
) -> None:
    await session.register("fail")
    result = await session.prompt("go", engine_options=script(step("fail")))
    assert result.run_id is not None
    event = await until_event(workshop_world.turnwise.run(result.run_id), EventType.TOOL_RESULT)
    assert (event.data["status"], event.data["result"]) == ("failed", {"error": "OSError: The printer is on fire."})
    assert (await session.prompt("still there?")).text


async def test_arguments_that_do_not_fit_never_reach_the_tool(session: AgentSession, workshop: Workshop) -> None:
    await session.register("hear")
    for call in (step("hear"), step("hear", text=5), step("hear", text="x", loudly=True)):
        assert "do not fit the tool's schema" in await failure(session, call)
    assert workshop.heard == []


async def test_a_turn_calls_tools_a_limited_number_of_times(session: AgentSession, workshop: Workshop) -> None:
    await session.register("hear")
    ended = await outputs(session, *[step("hear", text="again")] * (MAX_CALLS + 2))
    assert [status for status, _ in ended] == ["completed"] * MAX_CALLS + ["failed"] * 2
    assert len(workshop.heard) == MAX_CALLS
    assert await outputs(session, step("hear", text="in the next turn")) == [("completed", MAX_CALLS + 1)]


async def test_to_cancel_the_prompt_stops_the_tool(session: AgentSession, workshop: Workshop) -> None:
    await session.register("wait")
    prompt = asyncio.create_task(session.prompt("go", engine_options=script(step("wait"))))
    await workshop.waits.wait()
    await session.cancel_active_prompt()
    with pytest.raises(PromptCanceled):
        await prompt
    assert workshop.stopped.is_set()


async def test_a_tool_of_a_server_is_called_dies_and_is_called_again(session: AgentSession, tmp_path: Path) -> None:
    await session.register("add", server="test")
    await session.register("die", server="test")
    die, add = step("die", file=str(tmp_path / "note")), step("add", a=1, b=2)
    gone: JsonObject = {"error": "The tool server 'test' gave no result: it has gone before it answered."}
    assert await outputs(session, add, die, add) == [
        ("completed", {"result": 3}),
        ("failed", gone),
        ("completed", {"result": 3}),
    ]


# Registration


async def test_what_cannot_be_registered_is_refused_and_the_session_lives_on(
    session: AgentSession, workshop: Workshop
) -> None:
    with pytest.raises(ToolUnknown, match=r"no native tool 'nothing'. Known here: add, fail, hear, wait."):
        await session.register("nothing")
    with pytest.raises(ToolUnknown, match="no tool server 'nowhere'"):
        await session.register(server="nowhere")
    with pytest.raises(ToolUnknown, match="has no tool 'nothing'"):
        await session.register("nothing", server="test")
    with pytest.raises(ToolServerUnavailable, match="'broken' is not available: it has gone before it answered"):
        await session.register(server="broken")
    workshop.say(described("x" * 300))
    with pytest.raises(ToolUnusable, match="at most 200 characters"):
        await session.register(server="listing")
    assert await session.tool_descriptors() == []
    assert [tool.name for tool in await session.register("add")] == ["add"]


@pytest.mark.parametrize(
    "request_", [None, {}, "add", {"source": "native", "name": ""}, {"source": "mcp", "name": "a"}]
)
async def test_a_malformed_request_from_elsewhere_is_refused(
    workshop_world: World, session: AgentSession, request_: JsonValue
) -> None:
    handle: WorkflowHandle[object, object] = workshop_world.temporal.get_workflow_handle(session.id)
    with pytest.raises(WorkflowUpdateFailedError) as failed:
        await handle.execute_update("register_tools", request_)
    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.type == "TOOL_UNKNOWN"
    assert (await session.prompt("still there?")).text


async def test_a_closed_session_takes_no_tools(session: AgentSession) -> None:
    await session.register("add")
    await session.close()
    with pytest.raises(SessionClosed):
        await session.register("add")
    with pytest.raises(SessionClosed):
        await session.unregister("add")
    with pytest.raises(SessionClosed):
        await session.disable("add")
    assert await session.active_tool_names() == ["add"]


async def test_tools_of_the_same_name_are_told_apart_by_their_servers(session: AgentSession) -> None:
    assert [tool.name for tool in await session.register("add")] == ["add"]
    assert [tool.name for tool in await session.register("add", server="test")] == ["test.add"]
    assert [tool.name for tool in await session.register("add", server="other")] == ["other.add"]
    assert [tool.name for tool in await session.register("add", server="test")] == ["test.add"]
    ended = await outputs(session, step("add", a=1, b=2), step("test.add", a=1, b=3), step("other.add", a=1, b=4))
    assert [result for _, result in ended] == [3, {"result": 4}, {"result": 5}]
    await session.unregister("add")
    assert await session.active_tool_names() == ["test.add", "other.add"]


async def test_a_server_is_registered_again_as_it_is_now(session: AgentSession, workshop: Workshop) -> None:
    await session.register("add")
    workshop.say(described("a"), described("b", description="Old."), described("add"))
    assert [tool.name for tool in await session.register(server="listing")] == ["a", "b", "listing.add"]
    await session.disable("b")
    workshop.say(described("b", description="New."), described("add"), described("c"))
    assert [tool.name for tool in await session.register(server="listing")] == ["b", "listing.add", "c"]
    assert [(tool.name, tool.description, tool.enabled) for tool in await session.tool_descriptors()] == [
        ("add", "Adds two numbers.", True),
        ("b", "New.", False),
        ("listing.add", "", True),
        ("c", "", True),
    ]
    with pytest.raises(ToolNotFound):
        await session.unregister("a")


async def test_large_descriptions_and_many_tools_are_no_burden_for_temporal(
    workshop_world: World, session: AgentSession, workshop: Workshop
) -> None:
    large: JsonObject = {"type": "object", "title": "x" * 60_000}
    workshop.say(*(described(f"tool-{number}", inputSchema=large) for number in range(100)))
    assert len(await session.register(server="listing")) == 100
    assert await outputs(session, step("tool-7", wrong=1))  # a turn loads them all
    handle: WorkflowHandle[object, object] = workshop_world.temporal.get_workflow_handle(session.id)
    assert len((await handle.fetch_history()).to_json()) < 64 * 1024
    workshop.say(*(described(f"tool-{number}") for number in range(300)))
    with pytest.raises(ToolLimitReached, match="A session may have 256 tools; with these it would have 300"):
        await session.register(server="listing")
    assert len(await session.tool_descriptors()) == 100


async def test_no_secret_of_a_server_gets_into_temporals_history(
    workshop_world: World, session: AgentSession, workshop: Workshop
) -> None:
    workshop.say(error=f"{SECRET} is not a good key")
    with pytest.raises(ToolServerUnavailable, match=r"does not tell its tools: \*\*\* is not a good key."):
        await session.register(server="listing")
    handle: WorkflowHandle[object, object] = workshop_world.temporal.get_workflow_handle(session.id)
    history = (await handle.fetch_history()).to_json()
    assert "is not a good key" in history
    assert SECRET not in history


async def test_the_tools_of_a_fork_are_its_own(session: AgentSession, workshop: Workshop) -> None:
    await session.register("hear")
    await session.register("add", server="test")
    await session.disable("add")
    await session.prompt("first")
    fork = await session.fork()
    assert await fork.tool_descriptors() == await session.tool_descriptors()
    await session.unregister("hear")
    await fork.enable("add")
    assert (await session.active_tool_names(), await fork.active_tool_names()) == ([], ["hear", "add"])
    assert await outputs(fork, step("hear", text="in the fork"), step("add", a=1, b=2)) == [
        ("completed", 1),
        ("completed", {"result": 3}),
    ]
    assert "is disabled" in await failure(session, step("add", a=1, b=2))
    assert "is not known" in await failure(session, step("hear", text="in the parent"))
    await fork.unregister("add")
    await fork.register("fail")
    assert [tool.name for tool in await session.tool_descriptors()] == ["add"]
    await fork.close()


async def test_a_tool_whose_name_has_a_slash_can_be_changed_and_removed_over_http(
    api: httpx.AsyncClient, session: AgentSession, workshop: Workshop
) -> None:
    workshop.say(described("files/read"))
    path = f"/v1/sessions/{session.id}/tools"
    registered = await api.post(path, json={"source": "mcp", "server": "listing"})
    assert [tool["name"] for tool in registered.json()["tools"]] == ["files/read"]
    assert (await api.patch(f"{path}/files%2Fread", json={"enabled": False})).json()["enabled"] is False
    assert (await api.delete(f"{path}/files/read")).status_code == 204
    workshop.say(described(""))
    refused(await api.post(path, json={"source": "mcp", "server": "listing"}), 502, "TOOL_UNUSABLE")
    workshop.say(*(described(str(number)) for number in range(300)))
    refused(await api.post(path, json={"source": "mcp", "server": "listing"}), 409, "TOOL_LIMIT_REACHED")

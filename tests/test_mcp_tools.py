"""Tools of MCP servers: real processes, over their standard input and output and over HTTP, that fail in every way."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import httpx
import psutil
import pytest
import structlog
from pydantic import JsonValue

from tests.mcp_process import STDIO, HttpServerProcess, config_file, http_server, tools_of
from tests.world import until
from turnwise.descriptors import ToolBinding, ToolOutcome, ToolRequest, ToolSource
from turnwise.errors import ToolServerUnavailable, ToolUnknown
from turnwise.fcmp.events import ToolStatus
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.tools import Tools, connection
from turnwise.tools.config import read_config

GONE = "The tool server 'test' gave no result: it has gone before it answered."


@pytest.fixture
async def stdio(tmp_path: Path) -> AsyncIterator[Tools]:
    async with tools_of(read_config(config_file(tmp_path, test=STDIO))) as tools:
        yield tools


@pytest.fixture(params=["http", "http-with-sessions"])
async def http(request: pytest.FixtureRequest) -> AsyncIterator[HttpServerProcess]:
    """As servers are now, and as they were."""
    async with http_server(request.param) as server:
        yield server


@pytest.fixture
async def over_http(http: HttpServerProcess, tmp_path: Path) -> AsyncIterator[Tools]:
    async with tools_of(read_config(config_file(tmp_path, test={"url": http.url}))) as tools:
        yield tools


async def described(tools: Tools, name: str) -> ToolBinding:
    (binding,) = await tools.describe(ToolRequest(source=ToolSource.MCP, server="test", name=name))
    return binding


async def called(tools: Tools, name: str, **arguments: JsonValue) -> ToolOutcome:
    return await tools.call(await described(tools, name), arguments)


async def result(tools: Tools, name: str, **arguments: JsonValue) -> JsonValue:
    outcome = await called(tools, name, **arguments)
    assert outcome.status is ToolStatus.COMPLETED, outcome.result
    return outcome.result


async def error(tools: Tools, name: str, **arguments: JsonValue) -> str:
    outcome = await called(tools, name, **arguments)
    assert outcome.status is ToolStatus.FAILED
    assert isinstance(outcome.result, dict)
    return str(outcome.result["error"])


def written(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


async def lines(file: Path) -> list[str]:
    return written(file)


def is_of_a_connection(task: asyncio.Task[object]) -> bool:
    """Rather than of the worker that other tests share."""
    files = [frame.f_code.co_filename for frame in task.get_stack()]
    return any(part in file for file in files for part in ("/mcp/", "/anyio/", "/src/tools/"))


def looking_at(children: "Children") -> Callable[[], Awaitable[set[int]]]:
    async def look() -> set[int]:
        return children()

    return look


Children = Callable[[], set[int]]


@pytest.fixture
def children() -> Children:
    """The processes that were started since the test began, and live."""

    def living() -> set[int]:
        return {child.pid for child in psutil.Process().children(recursive=True)}

    before = living()
    return lambda: living() - before


# What a server has


async def test_the_tools_of_a_server_are_described_as_it_describes_them(stdio: Tools) -> None:
    add = (await described(stdio, "add")).descriptor
    assert (add.name, add.source, add.enabled) == ("add", ToolSource.MCP, True)
    assert (add.description, add.short_description) == ("Adds two numbers. It does so at once.", "Adds two numbers.")
    assert add.parameters["required"] == ["a", "b"]
    everything = await stdio.describe(ToolRequest(source=ToolSource.MCP, server="test"))
    assert {"add", "shout", "die"} <= {binding.descriptor.name for binding in everything}


async def test_a_tool_or_server_that_is_not_there_is_refused_and_the_known_ones_are_named(stdio: Tools) -> None:
    with pytest.raises(ToolUnknown, match=r"The tool server 'test' has no tool 'subtract'. It has: add, die, draw, "):
        await described(stdio, "subtract")
    with pytest.raises(ToolUnknown, match=r"There is no tool server 'rest'. Known here: test."):
        await stdio.describe(ToolRequest(source=ToolSource.MCP, server="rest"))


# What a call comes to


async def test_a_result_is_what_the_server_means_for_programs_else_its_text_else_its_parts(stdio: Tools) -> None:
    assert await result(stdio, "add", a=1, b=2) == {"result": 3}
    assert await result(stdio, "shout", text="hello") == "HELLO"
    assert await result(stdio, "draw") == [{"type": "image", "data": "eA==", "mimeType": "image/png"}]


async def test_a_tool_is_called_over_http(over_http: Tools) -> None:
    assert await result(over_http, "add", a=1, b=2) == {"result": 3}


async def test_calls_at_the_same_time_do_not_wait_for_each_other(over_http: Tools, tmp_path: Path) -> None:
    started, stopped = tmp_path / "started", tmp_path / "stopped"
    waiting = asyncio.create_task(called(over_http, "wait", started=str(started), stopped=str(stopped)))
    await until(lambda: lines(started), bool)
    sums = await asyncio.gather(*(result(over_http, "add", a=number, b=1) for number in range(20)))
    assert sums == [{"result": number + 1} for number in range(20)]
    waiting.cancel()
    await until(lambda: lines(stopped), bool)


async def test_an_error_of_the_tool_is_a_failed_outcome(stdio: Tools) -> None:
    assert await error(stdio, "refuse", reason="not today") == "Error executing tool refuse: not today"


async def test_arguments_that_do_not_fit_never_reach_the_tool(stdio: Tools) -> None:
    assert "do not fit the tool's schema at '/'" in await error(stdio, "note")
    assert "do not fit the tool's schema at '/file'" in await error(stdio, "note", file=5)


async def test_a_result_that_is_too_large_is_a_failed_outcome(stdio: Tools) -> None:
    assert "at most 262144 are allowed" in await error(stdio, "repeat", text="x", times=300_000)
    assert await result(stdio, "add", a=1, b=2) == {"result": 3}


async def test_to_cancel_a_call_cancels_it_on_the_server_and_nothing_else(stdio: Tools, tmp_path: Path) -> None:
    before = await result(stdio, "note", file=str(tmp_path / "note"))
    started, stopped = tmp_path / "started", tmp_path / "stopped"
    waiting = asyncio.create_task(called(stdio, "wait", started=str(started), stopped=str(stopped)))
    await until(lambda: lines(started), bool)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await until(lambda: lines(stopped), bool)
    assert await result(stdio, "note", file=str(tmp_path / "note")) == before


# Servers that do not start


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        ({"command": "/nowhere/at-all"}, "/nowhere/at-all: No such file or directory."),
        ({"command": "/"}, "/: Permission denied."),
        ({"command": "true"}, "it has gone before it answered."),
        ({"command": "false"}, "it has gone before it answered."),
        ({"command": "echo", "args": ["hello"]}, "it has gone before it answered."),
        ({"url": "http://127.0.0.1:1/mcp"}, "ConnectError: All connection attempts failed."),
        ({"url": "http://nowhere.invalid/mcp"}, "ConnectError: "),
    ],
)
async def test_a_server_that_does_not_start_is_told_about(tmp_path: Path, server: JsonObject, reason: str) -> None:
    async with tools_of(read_config(config_file(tmp_path, test=server))) as tools:
        with pytest.raises(ToolServerUnavailable) as refused:
            await described(tools, "add")
    assert refused.value.message.startswith(f"The tool server 'test' is not available: {reason}")


async def test_a_server_that_never_answers_is_given_up_and_ended(tmp_path: Path, children: Children) -> None:
    silent: JsonObject = {"command": "sleep", "args": ["3600"]}
    async with tools_of(read_config(config_file(tmp_path, test=silent)), start_sec=0.2) as tools:
        with pytest.raises(ToolServerUnavailable, match=r": it did not answer within 0.2 s."):
            await described(tools, "add")
    assert children() == set()


async def test_an_address_that_is_no_mcp_server_is_told_about(tmp_path: Path) -> None:
    async with http_server() as server:
        elsewhere: JsonObject = {"url": server.url.replace("/mcp", "/elsewhere")}
        async with tools_of(read_config(config_file(tmp_path, test=elsewhere))) as tools:
            with pytest.raises(ToolServerUnavailable, match=r"not available: Not Found."):
                await described(tools, "add")


# Servers that die, hang and come back


async def test_a_server_that_dies_in_the_middle_of_a_call_fails_it_and_is_there_for_the_next(
    stdio: Tools, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    assert await error(stdio, "die", file=str(note)) == GONE
    assert await result(stdio, "add", a=1, b=2) == {"result": 3}
    assert len(await lines(note)) == 1  # what may have been done is not done again


async def test_a_server_that_dies_takes_only_the_calls_of_its_time_along(stdio: Tools, tmp_path: Path) -> None:
    started = tmp_path / "started"
    waiting = asyncio.create_task(error(stdio, "wait", started=str(started), stopped=str(tmp_path / "stopped")))
    await until(lambda: lines(started), bool)
    await error(stdio, "die", file=str(tmp_path / "note"))
    assert await waiting == GONE
    assert len(await lines(started)) == 1


async def test_a_server_that_was_away_is_used_again_when_it_is_back(
    http: HttpServerProcess, over_http: Tools, tmp_path: Path
) -> None:
    note = await described(over_http, "note")
    first = await over_http.call(note, {"file": str(tmp_path / "note")})
    await http.kill()
    while_away = [await over_http.call(note, {"file": str(tmp_path / "note")}) for _ in range(3)]
    assert {outcome.status for outcome in while_away} == {ToolStatus.FAILED}
    assert "ConnectError" in str(while_away[-1].result)
    await http.start()
    second = await over_http.call(note, {"file": str(tmp_path / "note")})
    assert second.status is ToolStatus.COMPLETED
    assert second.result != first.result
    assert len(await lines(tmp_path / "note")) == 2


async def test_a_server_that_was_restarted_unnoticed_is_told_again_who_we_are(
    http: HttpServerProcess, over_http: Tools, tmp_path: Path
) -> None:
    note = await described(over_http, "note")
    first = await over_http.call(note, {"file": str(tmp_path / "note")})
    await http.kill()
    await http.start()
    second = await over_http.call(note, {"file": str(tmp_path / "note")})
    assert second.status is ToolStatus.COMPLETED
    assert second.result != first.result


async def test_a_session_that_is_lost_is_begun_again_and_nothing_is_done_twice(tmp_path: Path) -> None:
    started, note = tmp_path / "started", tmp_path / "note"
    async with (
        http_server("http-with-sessions") as server,
        tools_of(read_config(config_file(tmp_path, test={"url": server.url}))) as tools,
    ):
        leave_note = await described(tools, "note")
        waiting = asyncio.create_task(error(tools, "wait", started=str(started), stopped=str(tmp_path / "stopped")))
        await until(lambda: lines(started), bool)
        async with httpx.AsyncClient() as somebody:
            await somebody.post(server.url.replace("/mcp", "/forget"))
        assert (await tools.call(leave_note, {"file": str(note)})).status is ToolStatus.COMPLETED
        assert await waiting == GONE
    assert (len(written(started)), len(written(note))) == (1, 1)


async def test_a_slow_tool_times_out_and_its_server_lives_on(tmp_path: Path) -> None:
    async with tools_of(read_config(config_file(tmp_path, test=STDIO)), timeout_sec=1) as tools:
        before = await until(lambda: called(tools, "note", file=str(tmp_path / "note")), succeeded)
        started, stopped = tmp_path / "started", tmp_path / "stopped"
        slow = await error(tools, "wait", started=str(started), stopped=str(stopped))
        assert slow == "The tool 'wait' did not finish within 1 s."
        await until(lambda: lines(stopped), bool)
        assert await until(lambda: called(tools, "note", file=str(tmp_path / "note")), succeeded) == before


def succeeded(outcome: ToolOutcome) -> bool:
    return outcome.status is ToolStatus.COMPLETED


@pytest.mark.parametrize("kind", ["stdio", "http", "http-with-sessions"])
async def test_a_server_that_hangs_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, children: Children, kind: str
) -> None:
    monkeypatch.setattr(connection, "SIGN_OF_LIFE_SEC", 0.2)
    note = tmp_path / "note"
    async with (
        http_server("http" if kind == "stdio" else kind) as server,
        tools_of(
            read_config(config_file(tmp_path, test=STDIO if kind == "stdio" else {"url": server.url})), timeout_sec=1
        ) as tools,
    ):
        freeze, leave_note = await described(tools, "freeze"), await described(tools, "note")
        assert "did not finish within 1 s" in str((await tools.call(freeze, {"file": str(note)})).result)
        if kind != "stdio":
            await server.kill()
            await server.start()
        after = await until(lambda: tools.call(leave_note, {"file": str(note)}), succeeded)
        assert isinstance(after.result, dict)
        (frozen, *_), (*_, thawed) = await lines(note), await lines(note)
        assert str(after.result["result"]) == thawed != frozen
    assert children() == set()


async def test_a_server_over_http_that_hangs_does_not_hold_up_the_end(tmp_path: Path) -> None:
    async with http_server("http-with-sessions") as server:
        async with tools_of(read_config(config_file(tmp_path, test={"url": server.url})), timeout_sec=0.5) as tools:
            freeze = await described(tools, "freeze")
            assert (await tools.call(freeze, {"file": str(tmp_path / "note")})).status is ToolStatus.FAILED
        with pytest.raises(ToolServerUnavailable, match="the worker is stopping"):
            await described(tools, "add")


# The end


async def test_nothing_is_left_of_a_server_after_the_end(tmp_path: Path, children: Children) -> None:
    tasks = asyncio.all_tasks()
    async with tools_of(read_config(config_file(tmp_path, test=STDIO))) as tools:
        started = tmp_path / "started"
        waiting = asyncio.create_task(error(tools, "wait", started=str(started), stopped=str(tmp_path / "stopped")))
        await until(lambda: lines(started), bool)
        assert len(children()) == 1
    assert await waiting == GONE
    assert children() == set()
    assert {task for task in asyncio.all_tasks() - tasks if is_of_a_connection(task)} == set()


async def test_a_server_that_is_still_starting_is_ended_too(tmp_path: Path, children: Children) -> None:
    silent: JsonObject = {"command": "sleep", "args": ["3600"]}
    async with tools_of(read_config(config_file(tmp_path, test=silent))) as tools:
        asking = asyncio.create_task(described(tools, "add"))
        await until(looking_at(children), bool)
    with pytest.raises(ToolServerUnavailable, match="it was told to stop"):
        await asking
    assert children() == set()


# Secrets and logs


async def test_a_server_sees_of_our_environment_only_what_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOT_FOR_SERVERS", "s3cr3t-of-ours")
    async with tools_of(read_config(config_file(tmp_path, test=STDIO))) as tools:
        assert "s3cr3t" not in await error(tools, "reveal", variable="NOT_FOR_SERVERS")


async def test_what_a_server_writes_to_its_error_output_is_in_the_debug_log_without_secrets(tmp_path: Path) -> None:
    server: JsonObject = {**STDIO, "env": {**_environment(), "KEY": "s3cr3t-key"}}
    with structlog.testing.capture_logs() as logs:
        async with tools_of(read_config(config_file(tmp_path, test=server))) as tools:
            assert await error(tools, "reveal", variable="KEY") == "Error executing tool reveal: KEY is ***"
    assert {"log_level": "debug", "event": "tool_server.stderr", "server": "test", "line": "KEY is ***"} in logs
    assert "s3cr3t" not in str(logs)


def _environment() -> dict[str, JsonValue]:
    environment = STDIO["env"]
    assert isinstance(environment, dict)
    return environment


async def test_a_server_says_nothing_of_how_it_is_reached(
    http: HttpServerProcess, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    server: JsonObject = {
        "url": f"{http.url}?key=s3cr3t-query",
        "headers": {"Authorization": "Bearer s3cr3t-token", "X-Key": "s3cr3t-header"},
    }
    async with tools_of(read_config(config_file(tmp_path, test=server))) as tools:
        shown = await error(tools, "reveal_request")
        assert "***" in shown
        assert "s3cr3t" not in shown
        add = await described(tools, "add")
        await http.kill()
        outcomes = [await tools.call(add, {"a": 1, "b": 2}) for _ in range(2)]
        with pytest.raises(ToolServerUnavailable) as refused:
            await described(tools, "add")
    assert "s3cr3t" not in str(outcomes) + str(refused.value)
    assert refused.value.__cause__ is None
    assert "s3cr3t" not in caplog.text

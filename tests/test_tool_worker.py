"""A worker as a process of its own, with a module of tools and servers, as people start it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psutil
import pytest
from pydantic import JsonValue
from temporalio.client import Client

from tests.mcp_process import STDIO, config_file, http_server
from tests.worker_process import WorkerProcess, workers
from tests.world import World, start_world, until
from turnwise.client import AgentSession
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.sessions import ToolOutputEntry

SHOP = '''
from turnwise.tools import NativeTools

tools = NativeTools()

@tools.tool()
def price(item: str, pieces: int = 1) -> float:
    """What an item costs."""
    return {"tea": 2.5, "coffee": 3.0}[item] * pieces
'''
SECRETS = ("s3cr3t-query", "s3cr3t-token", "s3cr3t-env")


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'turnwise.db'}"


@pytest.fixture
async def idle(temporal: Client, sqlite_url: str) -> AsyncIterator[World]:
    """A world whose worker the test starts, and ends."""
    async with start_world(temporal, sqlite_url, with_worker=False) as world:
        yield world


async def called(session: AgentSession, name: str, **arguments: JsonValue) -> JsonValue:
    step: JsonObject = {"tool": {"name": name, "arguments": arguments}}
    await session.prompt("go", engine_options={"turns": [[step]]})
    entry = (await session.transcript())[-1].entry
    assert isinstance(entry, ToolOutputEntry)
    return entry.result


async def is_running(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("end", [WorkerProcess.stop, WorkerProcess.kill], ids=["stopped", "killed"])
async def test_a_worker_has_the_tools_that_it_is_told_of_and_leaves_nothing_behind(
    idle: World,
    sqlite_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    end: Callable[[WorkerProcess], Awaitable[None]],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOP_TOKEN", SECRETS[1])
    (tmp_path / "shop.py").write_text(SHOP)
    environment = STDIO["env"]
    assert isinstance(environment, dict)
    process: JsonObject = {**STDIO, "env": {**environment, "KEY": SECRETS[2]}}
    async with http_server() as server:
        address: JsonObject = {
            "url": f"{server.url}?key={SECRETS[0]}",
            "headers": {"Authorization": "Bearer ${SHOP_TOKEN}"},
        }
        path = config_file(tmp_path, process=process, address=address)
        async with workers(idle, sqlite_url, tools="shop", mcp_config=str(path), log_level="debug") as crew:
            worker = await crew.start()
            session = await idle.turnwise.create_session()
            await session.register("price")
            for name in ("note", "reveal", "die"):
                await session.register(name, server="process")
            await session.register("reveal_request", server="address")
            assert await called(session, "price", item="tea", pieces=2) == 5.0
            assert await called(session, "price", item="milk") == {"error": "KeyError: 'milk'"}
            assert "KEY is ***" in str(await called(session, "reveal", variable="KEY"))
            assert "***" in str(await called(session, "reveal_request"))
            await server.kill()
            assert "address" in str(await called(session, "reveal_request"))
            await called(session, "die", file="note")
            found = await called(session, "note", file="note")
            assert isinstance(found, dict)
            pid = int(str(found["result"]))
            assert await is_running(pid)
            await end(worker)
            await until(lambda: is_running(pid), lambda running: not running)
    out, err = capfd.readouterr()
    assert "tool_server.stderr" in err
    assert not [secret for secret in SECRETS if secret in out + err]

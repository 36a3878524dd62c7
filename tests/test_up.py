"""The processes that people start: `turnwise up`, `worker`, `api` and `demo`, and how they stop."""

import asyncio
import contextlib
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import psutil
from temporalio.client import Client

from tests.command_line import PATIENCE_SEC, TURNWISE, Result, environment, terminal, turnwise
from tests.ports import free_port
from turnwise.fcmp.jsonvalue import JsonObject

ASK_AND_ANSWER: JsonObject = {
    "turns": [[{"ask": {"kind": "open_text", "prompt": "Which colour?"}}], [{"final": "It is {reply}."}]]
}


class Service:
    """A process of Turnwise, and what it has said."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.said = ""

    async def until(self, words: str) -> None:
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_SEC):
            while words not in self.said:
                line = await self._process.stdout.readline()
                assert line, f"it ended before it said '{words}': {self.said}"
                self.said += line.decode()

    @property
    def api(self) -> str:
        return str(re.findall(r"API +(http://\S+)", self.said)[0])

    def children(self) -> list[psutil.Process]:
        return list(psutil.Process(self._process.pid).children(recursive=True))

    async def until_it_has_children(self) -> list[psutil.Process]:
        async with asyncio.timeout(PATIENCE_SEC):
            while not (children := self.children()):  # noqa: ASYNC110 (no event tells of a process that starts another)
                await asyncio.sleep(0.01)
        return children

    async def stop(self, number: signal.Signals) -> int:
        self._process.send_signal(number)
        return await self.exit_code()

    async def exit_code(self) -> int:
        async with asyncio.timeout(PATIENCE_SEC):
            out, _ = await self._process.communicate()
        self.said += out.decode()
        assert self._process.returncode is not None
        return self._process.returncode

    async def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
            await self._process.communicate()


@contextlib.asynccontextmanager
async def service(*arguments: str, env: dict[str, str]) -> AsyncIterator[Service]:
    process = await asyncio.create_subprocess_exec(
        TURNWISE, *arguments, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    started = Service(process)
    try:
        yield started
    finally:
        await started.kill()


def settings(data_dir: Path) -> dict[str, str]:
    ports = ("TURNWISE_API_PORT", "TURNWISE_TEMPORAL_PORT", "TURNWISE_TEMPORAL_UI_PORT")
    return environment(TURNWISE_DATA_DIR=str(data_dir), **{name: str(free_port()) for name in ports})


async def run_to_its_end(api: str) -> str:
    """One run by HTTP alone: start, question, reply, end."""
    async with httpx.AsyncClient(base_url=f"{api}/v1", timeout=PATIENCE_SEC) as http:
        started = await http.post("/runs", json={"prompt": "Paint it", "engine_options": ASK_AND_ANSWER})
        assert started.status_code == 201, started.text
        run = f"/runs/{started.json()['run_id']}"
        async with http.stream("GET", f"{run}/events") as events:
            async for line in events.aiter_lines():
                if '"user.input.required"' in line:
                    reply = await http.post(f"{run}/interaction/reply", json={"interaction_id": 1, "response": "blue"})
                    assert reply.status_code == 200, reply.text
        ended = (await http.get(run)).json()
        assert ended["state"] == "succeeded"
        return str(ended["run_id"])


async def states(api: str) -> dict[str, str]:
    async with httpx.AsyncClient() as http:
        listed = (await http.get(f"{api}/v1/runs")).json()["runs"]
    return {run["run_id"]: run["state"] for run in listed}


async def test_up_serves_stops_in_order_and_keeps_its_runs(tmp_path: Path) -> None:
    env = settings(tmp_path / "data")
    async with service("up", env=env) as first:
        await first.until("Ctrl-C stops")
        run_id = await run_to_its_end(first.api)
        children = first.children()
        assert [child.name() for child in children] == ["temporal"]
        assert await first.stop(signal.SIGINT) == 0
        assert "Stopping: turns that are under way have 10 s to end …" in first.said
        assert "Turnwise has stopped." in first.said
        assert "Traceback" not in first.said
        assert not any(child.is_running() for child in children)
    async with service("up", env=env) as second:
        await second.until("Ctrl-C stops")
        assert await states(second.api) == {run_id: "succeeded"}
        assert await second.stop(signal.SIGTERM) == 0


async def test_two_of_them_do_not_get_into_each_others_way(tmp_path: Path) -> None:
    env = settings(tmp_path / "data")
    other_ports = settings(tmp_path / "data")
    async with service("up", env=env) as running:
        await running.until("Ctrl-C stops")
        same_ports, same_folder, runs = await asyncio.gather(
            turnwise("up", "--data-dir", str(tmp_path / "other"), env=env),
            turnwise("up", env=other_ports),
            turnwise("runs", env=env),
        )
        assert (runs.code, runs.out) == (0, "")
        assert await running.stop(signal.SIGTERM) == 0
    assert same_ports == Result(
        1,
        "Turnwise is starting …\n",
        f"Port {env['TURNWISE_API_PORT']} on 127.0.0.1 cannot be used (Address already in use); "
        "free it or set TURNWISE_API_PORT.\n",
    )
    assert same_folder == Result(
        1,
        "Turnwise is starting …\n",
        f"Another `turnwise up` is using {tmp_path / 'data'}; set TURNWISE_DATA_DIR.\n",
    )


async def test_ports_and_hosts_that_cannot_be_are_told_by_the_name_of_their_setting(tmp_path: Path) -> None:
    env = settings(tmp_path / "data")
    port = env["TURNWISE_API_PORT"]
    refused = {
        f"TURNWISE_API_PORT and TURNWISE_TEMPORAL_PORT are both {port}; they must differ.\n": {
            "TURNWISE_TEMPORAL_PORT": port
        },
        f"TURNWISE_API_PORT and TURNWISE_TEMPORAL_UI_PORT are both {port}; they must differ.\n": {
            "TURNWISE_TEMPORAL_UI_PORT": port
        },
        "'192.0.2.1' is no address of this machine (Cannot assign requested address); correct TURNWISE_API_HOST.\n": {
            "TURNWISE_API_HOST": "192.0.2.1"
        },
    }
    results = await asyncio.gather(*(turnwise("up", env={**env, **wrong}) for wrong in refused.values()))
    assert [result.err for result in results] == list(refused)
    assert all(result.code == 1 for result in results)
    no_name = await turnwise("up", env={**env, "TURNWISE_API_HOST": "no-such-host.invalid"})
    assert no_name.err.startswith("'no-such-host.invalid' is no address of this machine (")
    assert no_name.err.endswith("); correct TURNWISE_API_HOST.\n")
    assert not (tmp_path / "data").exists()


async def test_on_a_terminal_what_is_logged_stands_on_lines_of_its_own(tmp_path: Path) -> None:
    async with terminal("up", env=settings(tmp_path / "data")) as person:
        await person.until("Turnwise is starting …\r\n")
        await person.until("✓ Turnwise is ready.\r\n")
        assert "Turnwise is starting" not in person.screen.partition("\n")[2]
        person.type("\x03")
        assert await person.exit_code() == 0


async def test_up_can_be_stopped_while_it_starts(tmp_path: Path) -> None:
    async with service("up", env=settings(tmp_path / "data")) as impatient:
        await impatient.until("Turnwise is starting")
        children = await impatient.until_it_has_children()
        assert await impatient.stop(signal.SIGINT) == 0
        assert "Traceback" not in impatient.said
        assert not any(child.is_running() for child in children)


async def test_worker_and_api_are_processes_of_their_own(temporal: Client, postgres_url: str, tmp_path: Path) -> None:
    env = environment(
        TEMPORAL_ADDRESS=temporal.service_client.config.target_host,
        TURNWISE_DATABASE_URL=postgres_url,
        TURNWISE_TASK_QUEUE=f"separate-{free_port()}",
        TURNWISE_DATA_DIR=str(tmp_path / "unused"),
        TURNWISE_API_PORT=str(free_port()),
    )
    async with service("worker", env=env) as worker, service("api", env=env) as api:
        await asyncio.gather(worker.until("Ctrl-C stops"), api.until("Ctrl-C stops"))
        await run_to_its_end(api.api)
        assert "PostgreSQL" in worker.said
        assert not api.children()
        worker_code, api_code = await asyncio.gather(worker.stop(signal.SIGTERM), api.stop(signal.SIGINT))
        assert (worker_code, api_code) == (0, 0)
        assert "Traceback" not in worker.said + api.said
    assert not (tmp_path / "unused").exists()


async def test_the_demonstration_shows_one_run_from_start_to_end(tmp_path: Path) -> None:
    # Whatever the environment names, it starts its own.
    env = environment(TEMPORAL_ADDRESS="127.0.0.1:1", TURNWISE_DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    result = await turnwise("demo", env=env, cwd=tmp_path)
    assert result.code == 0, result.err
    shown = [line.split()[2] for line in result.out.splitlines() if re.match(r" +\d+\.\d\ds +\d+  ", line)]
    assert shown == [
        "conversation.started",
        "conversation.state.changed",
        "assistant.message.final",
        "tool.call",
        "tool.result",
        "conversation.state.changed",
        "user.input.required",
        "interaction.reply.accepted",
        "conversation.state.changed",
        "conversation.state.changed",
        "assistant.message.final",
        "conversation.state.changed",
        "conversation.completed",
    ]
    assert "you › museum" in result.out
    assert "The run succeeded: 13 events" in result.out
    assert result.err == ""

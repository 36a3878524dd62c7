"""A full disk and a folder that cannot be written: a clear error, nothing half-written, and on it goes later.

A file-size limit on a real process makes the kernel refuse its writes, for any user and on any machine. A small file
system shows the same with Temporal's files included; where none may be mounted, the limit stands in for it.
"""

import asyncio
import contextlib
import ctypes
import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from temporalio.client import Client

from tests.command_line import PATIENCE_SEC, TURNWISE
from tests.test_outages import replied
from tests.test_up import ASK_AND_ANSWER, Service, service, settings
from tests.worker_process import workers
from tests.world import ASK_THEN_ANSWER, start_world, until, until_asked, until_event
from turnwise.errors import Unavailable
from turnwise.fcmp.events import EventType, FcmpEvent
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.ordering import violations
from turnwise.statechart import State

SPEAK_TWICE: JsonObject = {"turns": [[{"say": "Before."}, {"sleep": 1}, {"say": "Meanwhile."}, {"final": "After."}]]}
BLOCK = b"x" * 4096
PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE = 1


@contextlib.contextmanager
def no_room_for(pid: int) -> Iterator[None]:
    """No file may grow beyond its first byte."""
    unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, unlimited[1]))
    yield
    resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)


def fill(disk: Path) -> Path:
    """To the last byte; to remove the returned file makes room again."""
    filler = disk / "filler"
    descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT)
    with contextlib.suppress(OSError):
        while os.write(descriptor, BLOCK):
            pass
    os.close(descriptor)
    return filler


async def test_runs_go_on_where_they_were_when_their_worker_can_write_again(temporal: Client, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'turnwise.db'}"
    async with start_world(temporal, url, with_worker=False) as world, workers(world, url) as crew:
        worker = await crew.start()
        waiting = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
        await until_asked(waiting)
        speaking = await world.turnwise.start(engine_options=SPEAK_TWICE)
        await until_event(speaking, EventType.MESSAGE_FINAL)
        before = await waiting.history(), await speaking.history()
        with no_room_for(worker.pid):
            # Twice: after the first five seconds, the server hears of the workflow task again.
            for _ in range(2):
                with pytest.raises(Unavailable, match="Send it again with the same reply_id"):
                    await waiting.reply(1, "blue", reply_id="mine")
            assert (await waiting.history(), await speaking.history()) == before
        await replied(waiting)
        for run in (waiting, speaking):
            assert (await run.wait()).state is State.SUCCEEDED
            assert violations(await run.history()) == []
        spoken = [event.data["text"] for event in await speaking.history() if event.type == EventType.MESSAGE_FINAL]
        assert spoken == ["Before.", "Meanwhile.", "After."]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path | None]:
    """A small one of the test's own; None where nothing may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", folder], capture_output=True)
    mounted = mount.returncode == 0
    yield folder if mounted else None
    if mounted:
        subprocess.run(["umount", folder], check=True)


@contextlib.contextmanager
def no_room(turnwise: Service, disk: Path | None) -> Iterator[str]:
    """What the database says of it."""
    if disk is None:
        [temporal] = turnwise.children()
        with no_room_for(temporal.ppid()):
            yield "disk I/O error"
    else:
        filler = fill(disk)
        yield "database or disk is full"
        filler.unlink()


async def test_all_of_turnwise_outlives_a_full_disk(disk: Path | None, tmp_path: Path) -> None:
    env = settings((disk or tmp_path) / "data")
    async with service("up", env=env) as turnwise:
        await turnwise.until("Ctrl-C stops")
        async with httpx.AsyncClient(base_url=f"{turnwise.api}/v1", timeout=PATIENCE_SEC) as http:
            await _outlives_it(turnwise, disk, http)
        assert await turnwise.stop(signal.SIGTERM) == 0


async def _outlives_it(turnwise: Service, disk: Path | None, http: httpx.AsyncClient) -> None:
    run_id = (await http.post("/runs", json={"engine_options": ASK_AND_ANSWER})).json()["run_id"]
    await until(lambda: state(http, run_id), lambda seen: seen == "waiting_user")
    log = (await http.get(f"/runs/{run_id}/events/history")).json()
    reply: JsonObject = {"interaction_id": 1, "response": "blue", "reply_id": "mine"}
    with no_room(turnwise, disk) as reason:
        refused = await http.post(f"/runs/{run_id}/interaction/reply", json=reply)
        assert (refused.status_code, refused.json()["code"]) == (503, "UNAVAILABLE")
        refused = await http.post("/runs", json={"prompt": "too long for what is left " * 1000})
        assert (refused.status_code, refused.json()["detail"]) == (503, f"The database cannot be used now: {reason}")
        assert (await http.get(f"/runs/{run_id}/events/history")).json() == log
    taken = await until(
        lambda: http.post(f"/runs/{run_id}/interaction/reply", json=reply), lambda answer: answer.is_success
    )
    assert taken.json()["reply_id"] == "mine"
    await until(lambda: state(http, run_id), lambda seen: seen == "succeeded")
    events = (await http.get(f"/runs/{run_id}/events/history")).json()["events"]
    assert violations([FcmpEvent.model_validate(event) for event in events]) == []


async def state(http: httpx.AsyncClient, run_id: str) -> str:
    return str((await http.get(f"/runs/{run_id}")).json()["state"])


def bound_by_permissions() -> None:
    """As others are: root may write where it has no permission, unless that is taken from it before it executes."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


async def refused(command: str, env: dict[str, str]) -> str:
    """The one line that the command says before it gives up."""
    process = await asyncio.create_subprocess_exec(
        TURNWISE, command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=bound_by_permissions
    )
    try:
        async with asyncio.timeout(PATIENCE_SEC):
            _, said = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):  # should it serve, against what is expected of it
            process.kill()
    assert (process.returncode, said.count(b"\n")) == (1, 1), said
    return said.decode()


async def test_a_data_folder_that_cannot_be_written_is_told_in_one_sentence(temporal: Client, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o555)
    address = {"TEMPORAL_ADDRESS": temporal.service_client.config.target_host}
    told = await asyncio.gather(
        refused("up", settings(folder)),
        refused("worker", {**settings(folder), **address}),
        refused("api", {**settings(folder), **address}),
    )
    for sentence in told:
        assert sentence.startswith(f"The data folder {folder} cannot be written")

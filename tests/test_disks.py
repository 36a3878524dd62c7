"""A full disk and a folder that cannot be written: a clear error, nothing half-written, and on it goes later.

A file-size limit on a real worker makes the kernel refuse its writes, for any user and on any machine. A small file
system shows the same for all of `turnwise up`, Temporal's files included; only root may mount one.
"""

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from temporalio.client import Client

from tests.command_line import PATIENCE_SEC, turnwise
from tests.test_outages import replied
from tests.test_up import ASK_AND_ANSWER, Service, service, settings
from tests.worker_process import WorkerProcess, workers
from tests.world import ASK_THEN_ANSWER, start_world, until, until_asked, until_event
from turnwise.errors import Unavailable
from turnwise.fcmp.events import EventType, FcmpEvent
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.ordering import violations
from turnwise.statechart import State

SPEAK_TWICE: JsonObject = {"turns": [[{"say": "Before."}, {"sleep": 1}, {"say": "Meanwhile."}, {"final": "After."}]]}
BLOCK = b"x" * 4096


@contextlib.contextmanager
def no_room_for(worker: WorkerProcess) -> Iterator[None]:
    """No file may grow beyond its first byte."""
    unlimited = resource.prlimit(worker.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (1, unlimited[1]))
    yield
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, unlimited)


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, text=True)
    if mount.returncode != 0:
        pytest.skip(f"a file system of the test's own cannot be mounted here: {mount.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


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
        with no_room_for(worker):
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
async def up(tmp_path: Path) -> AsyncIterator[tuple[Service, Path]]:
    """All of Turnwise on a small disk of its own."""
    with mounted(tmp_path / "disk", "size=48m") as disk:
        async with service("up", env=settings(disk / "data")) as up:
            await up.until("Ctrl-C stops")
            yield up, disk


async def test_all_of_turnwise_outlives_a_full_disk(up: tuple[Service, Path]) -> None:
    turnwise, disk = up
    async with httpx.AsyncClient(base_url=f"{turnwise.api}/v1", timeout=PATIENCE_SEC) as http:
        run_id = (await http.post("/runs", json={"engine_options": ASK_AND_ANSWER})).json()["run_id"]
        await until(lambda: state(http, run_id), lambda seen: seen == "waiting_user")
        log = (await http.get(f"/runs/{run_id}/events/history")).json()
        filler = fill(disk)
        reply: JsonObject = {"interaction_id": 1, "response": "blue", "reply_id": "mine"}
        refused = await http.post(f"/runs/{run_id}/interaction/reply", json=reply)
        assert (refused.status_code, refused.json()["code"]) == (503, "UNAVAILABLE")
        refused = await http.post("/runs", json={"prompt": "too long for what is left " * 1000})
        assert (refused.status_code, refused.json()["detail"]) == (
            503,
            "The database cannot be used now: database or disk is full",
        )
        assert (await http.get(f"/runs/{run_id}/events/history")).json() == log
        filler.unlink()
        taken = await until(
            lambda: http.post(f"/runs/{run_id}/interaction/reply", json=reply), lambda answer: answer.is_success
        )
        assert taken.json()["reply_id"] == "mine"
        await until(lambda: state(http, run_id), lambda seen: seen == "succeeded")
        events = (await http.get(f"/runs/{run_id}/events/history")).json()["events"]
        assert violations([FcmpEvent.model_validate(event) for event in events]) == []
    assert await turnwise.stop(signal.SIGTERM) == 0


async def state(http: httpx.AsyncClient, run_id: str) -> str:
    return str((await http.get(f"/runs/{run_id}")).json()["state"])


@contextlib.contextmanager
def unwritable(folder: Path) -> Iterator[Path]:
    """For root, whom permissions do not hold back, a file system that is read-only."""
    if os.geteuid() == 0:
        with mounted(folder, "ro") as read_only:
            yield read_only
    else:
        folder.mkdir(mode=0o555)
        yield folder


async def test_a_data_folder_that_cannot_be_written_is_told_in_one_sentence(temporal: Client, tmp_path: Path) -> None:
    with unwritable(tmp_path / "data") as folder:
        address = {"TEMPORAL_ADDRESS": temporal.service_client.config.target_host}
        up, worker, api = await asyncio.gather(
            turnwise("up", env=settings(folder)),
            turnwise("worker", env={**settings(folder), **address}),
            turnwise("api", env={**settings(folder), **address}),
        )
    cannot = f"The data folder {folder} cannot be written"
    for result in (up, worker, api):
        assert (result.code, result.err.count("\n")) == (1, 1), result.err
        assert result.err.startswith(cannot)

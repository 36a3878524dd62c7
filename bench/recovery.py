"""`python -m bench.recovery`: a restart with very many waiting runs, and how soon a killed worker's turns are noticed.

Workers are real `turnwise worker` processes, killed with SIGKILL. Runs are real, too: started, asked, waiting.
"""

import argparse
import asyncio
import contextlib
import os
import sqlite3
import statistics
import sysconfig
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from temporalio.client import WorkflowHandle
from temporalio.service import RPCError

from bench.measures import percentile
from turnwise.client import Run, Turnwise, connect
from turnwise.connection import connect_temporal
from turnwise.errors import RunEnded, Unavailable
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.runtime.logs import configure_logs
from turnwise.runtime.ports import free_ports
from turnwise.runtime.temporal_server import ServerOptions, embedded_temporal
from turnwise.settings import Settings
from turnwise.workflows.recovery import Progress, recovery_id

TURNWISE = Path(sysconfig.get_path("scripts")) / "turnwise"
ASK_THEN_ANSWER: JsonObject = {
    "turns": [[{"ask": {"kind": "open_text", "prompt": "Which colour?"}}], [{"final": "It is {reply}."}]]
}
WORK: JsonObject = {"turns": [[{"sleep": 3600}]]}
STARTS_AT_ONCE = 30
LIVE_RUNS = 60
LIVE_PAUSE_SEC = 0.2
LOOK_SEC = 0.1
KILLS = 8
TURNS_EACH = 6


class Bench:
    def __init__(self, turnwise: Turnwise, settings: Settings) -> None:
        self.turnwise = turnwise
        self.settings = settings
        self._environment = {
            **os.environ,
            "TURNWISE_DATA_DIR": str(settings.data_dir),
            "TURNWISE_TEMPORAL_PORT": str(settings.temporal_port),
            "TURNWISE_LOG_LEVEL": "error",
        }

    @contextlib.asynccontextmanager
    async def worker(self) -> AsyncIterator[asyncio.subprocess.Process]:
        """Serving when the block begins; killed when it ends."""
        before = self._serving()
        process = await asyncio.create_subprocess_exec(
            TURNWISE, "worker", env=self._environment, stdout=asyncio.subprocess.DEVNULL
        )
        try:
            while self._serving() <= before:  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SEC)
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def wait_with(self, number: int) -> None:
        """Starts so many runs, and returns when all of them wait."""
        limit = asyncio.Semaphore(STARTS_AT_ONCE)

        async def start(key: str) -> None:
            async with limit:
                while True:
                    with contextlib.suppress(Unavailable):  # the server is slow to answer: so many are started at once
                        await self.turnwise.start(engine_options=ASK_THEN_ANSWER, idempotency_key=key)
                        return

        await asyncio.gather(*(start(f"waiting {each}") for each in range(number)))
        while len(self._ids("SELECT run_id FROM runs WHERE state = 'waiting_user'")) < number:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SEC)

    async def live_run(self) -> float:
        """How long one run takes from its start over question and reply to its end, in milliseconds."""
        began = time.perf_counter()
        run = await self.turnwise.start(engine_options=ASK_THEN_ANSWER)
        async for event in run.events():
            if event.type is EventType.INPUT_REQUIRED:
                await run.reply(1, "blue")
        took = (time.perf_counter() - began) * 1000
        await asyncio.sleep(LIVE_PAUSE_SEC)
        return took

    def _serving(self) -> set[str]:
        return self._ids("SELECT worker_id FROM workers WHERE serving")

    def _ids(self, query: str) -> set[str]:
        with contextlib.closing(sqlite3.connect(self.settings.data_dir / "turnwise.db")) as database:
            return {str(row[0]) for row in database.execute(query)}


async def measure_sweep(bench: Bench, number: int) -> None:
    async with bench.worker():
        began = time.perf_counter()
        await bench.wait_with(number)
        print(f"{number:,} runs wait ({time.perf_counter() - began:.0f} s).")
        before = [await bench.live_run() for _ in range(LIVE_RUNS)]
    async with bench.worker():
        sweep = await _sweep(bench.settings)
        began = time.perf_counter()
        ending = asyncio.create_task(sweep.result())
        during: list[float] = []
        while not ending.done():
            during.append(await bench.live_run())
        took = time.perf_counter() - began
        progress = await ending
        after = [await bench.live_run() for _ in range(LIVE_RUNS)]
    print(f"The sweep: {progress.preserved:,} preserved in {took:.0f} s, {progress.preserved / took:.0f} a second.")
    for name, times in (("before", before), ("during", during), ("after", after)):
        ratio = statistics.median(times) / statistics.median(before)
        print(
            f"A live run {name} it: median {statistics.median(times):.0f} ms, p95 {percentile(times, 95):.0f} ms "
            f"({len(times)} runs, {ratio:.2f} × before)"
        )


async def _sweep(settings: Settings) -> WorkflowHandle[object, Progress]:
    client = await connect_temporal(settings)
    handle: WorkflowHandle[object, Progress] = client.get_workflow_handle(
        recovery_id(settings.task_queue), result_type=Progress
    )
    while True:
        with contextlib.suppress(RPCError):
            await handle.describe()
            return handle
        await asyncio.sleep(LOOK_SEC)


async def measure_detection(bench: Bench) -> None:
    """From the kill of a worker to the moment when a watcher sees its turns failed, another worker being there."""
    times: list[float] = []
    async with bench.worker():
        for _ in range(KILLS):
            async with bench.worker() as victim:
                runs = [await bench.turnwise.start(engine_options=WORK) for _ in range(TURNS_EACH)]
                for run in runs:
                    await _running(run)
                watching = [asyncio.create_task(_failed_at(run)) for run in runs]
                victim.kill()
                killed = time.perf_counter()
                await asyncio.wait(watching, timeout=10)
            times += [task.result() - killed for task in watching if task.done()]
            for run in runs:
                with contextlib.suppress(RunEnded):
                    await run.cancel()
            await asyncio.gather(*watching)
    print(
        f"A killed worker's turns are failed after: median {statistics.median(times):.1f} s, "
        f"longest {max(times):.1f} s ({len(times)} turns of {KILLS} killed workers)"
    )


async def _running(run: Run) -> None:
    async for event in run.events():
        if event.type is EventType.STATE_CHANGED:
            return


async def _failed_at(run: Run) -> float:
    await run.wait()
    return time.perf_counter()


async def measure(number: int, data_dir: Path) -> None:
    port, ui_port = free_ports(2)
    settings = Settings(data_dir=data_dir, temporal_port=port, temporal_ui_port=ui_port)
    server = ServerOptions(port=settings.temporal_port, ui_port=settings.temporal_ui_port, data_dir=data_dir)
    async with embedded_temporal(server), connect(settings) as turnwise:
        bench = Bench(turnwise, settings)
        await measure_detection(bench)
        await measure_sweep(bench, number)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.recovery", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000, help="how many runs wait")
    number = parser.parse_args().runs
    for name in [name for name in os.environ if name.startswith(("TEMPORAL_", "TURNWISE_"))]:
        del os.environ[name]
    configure_logs("error")
    with tempfile.TemporaryDirectory(prefix="turnwise-bench-") as data_dir:
        asyncio.run(measure(number, Path(data_dir)))


if __name__ == "__main__":
    main()

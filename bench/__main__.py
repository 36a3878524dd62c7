"""`python -m bench`: measures Turnwise beside a bare Temporal workflow and prints what came out.

Exits with 0 whether the targets are reached or not: it measures, the reader judges.
"""

import argparse
import asyncio
import logging
import os
import socket
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from rich.console import Console
from temporalio.client import Client

from bench.bare import Bare, bare_worker
from bench.history import measure_history
from bench.latency import measure_latency
from bench.measures import Measure
from bench.memory import measure_memory
from bench.plot import save_plot
from bench.report import print_table, save_json
from bench.stream import measure_stream
from bench.throughput import measure_throughput
from bench.turnwise_runs import turnwise_side
from turnwise.runtime.temporal_server import HOST, ServerOptions, embedded_temporal
from turnwise.settings import Settings

RESULTS = Path(__file__).parent / "results"
BUSY_PERCENT = 10
BUSY_LOOK_SEC = 2.0


@dataclass(frozen=True, slots=True)
class Effort:
    latency_rounds: int
    throughput_rounds: int
    runs_each: int
    waiting_runs: int
    streamed_runs: int


FULL = Effort(latency_rounds=120, throughput_rounds=5, runs_each=2, waiting_runs=2000, streamed_runs=4)
QUICK = Effort(latency_rounds=30, throughput_rounds=2, runs_each=2, waiting_runs=500, streamed_runs=1)


async def measure(effort: Effort, data_dir: Path) -> list[Measure]:
    settings = Settings(data_dir=data_dir, temporal_port=_free_port(), temporal_ui_port=_free_port())
    server = ServerOptions(port=settings.temporal_port, ui_port=settings.temporal_ui_port, data_dir=data_dir)
    console = Console(stderr=True)
    async with embedded_temporal(server), turnwise_side(settings) as turnwise:
        bare = Bare(await Client.connect(f"{HOST}:{settings.temporal_port}"))
        async with bare_worker(bare.temporal), turnwise.worker():
            console.print("Latency, one run at a time …")
            measures = await measure_latency(bare, turnwise, effort.latency_rounds, warm_up=20)
            console.print("Runs per second …")
            measures += await measure_throughput(bare, turnwise, effort.throughput_rounds, effort.runs_each)
            measures += await measure_history(bare, turnwise)
            console.print("Events to an SSE client …")
            stream = await measure_stream(turnwise, effort.streamed_runs)
        console.print(f"Memory of {effort.waiting_runs:,} waiting runs …")
        return measures + await measure_memory(bare, turnwise, settings, effort.waiting_runs) + stream


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: rougher numbers, in less than a minute")
    effort = QUICK if parser.parse_args().quick else FULL
    for name in [name for name in os.environ if name.startswith(("TEMPORAL_", "TURNWISE_"))]:
        del os.environ[name]  # the server and the database are of our own, for the child processes too
    logging.getLogger("temporalio").setLevel(logging.ERROR)  # runs that fail are counted, not narrated
    _warn_if_busy()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="turnwise-bench-") as data_dir:
        measures = asyncio.run(measure(effort, Path(data_dir)))
    RESULTS.mkdir(exist_ok=True)
    save_json(measures, RESULTS / "bench.json")
    save_plot(measures, RESULTS / "bench.png")
    print_table(measures, time.monotonic() - began)
    print(f"Plot and numbers: {RESULTS}")


def _warn_if_busy() -> None:
    busy = psutil.cpu_percent(interval=BUSY_LOOK_SEC)
    if busy > BUSY_PERCENT:
        print(f"This machine is {busy:.0f} % busy with other things: trust the ratios more than the times.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()

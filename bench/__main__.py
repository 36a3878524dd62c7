"""`python -m bench`: measures Turnwise beside a bare Temporal workflow and prints what came out.

Exits with 0 whether the targets are reached or not: it measures, the reader judges.
"""

import argparse
import asyncio
import logging
import os
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
from bench.report import print_table, print_verdict, save_json
from bench.sessions import measure_sessions
from bench.stream import measure_stream
from bench.throughput import measure_throughput
from bench.turnwise_runs import turnwise_side
from bench.watchers import measure_watchers
from turnwise.runtime.ports import free_ports
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
    session_prompts: int
    forks: int
    watchers: int
    watched_prompts: int


FULL = Effort(
    latency_rounds=120,
    throughput_rounds=5,
    runs_each=2,
    waiting_runs=2000,
    streamed_runs=4,
    session_prompts=1000,
    forks=20,
    watchers=500,
    watched_prompts=20,
)
QUICK = Effort(
    latency_rounds=30,
    throughput_rounds=2,
    runs_each=2,
    waiting_runs=500,
    streamed_runs=1,
    session_prompts=100,
    forks=5,
    watchers=100,
    watched_prompts=5,
)


@dataclass(frozen=True, slots=True)
class Results:
    runs: list[Measure]
    sessions: list[Measure]
    watchers: list[Measure]


async def measure(effort: Effort, data_dir: Path) -> Results:
    port, ui_port = free_ports(2)
    settings = Settings(data_dir=data_dir, temporal_port=port, temporal_ui_port=ui_port)
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
            console.print("Sessions that have grown …")
            sessions = await measure_sessions(turnwise.turnwise, effort.session_prompts, effort.forks)
            console.print(f"Status to {effort.watchers} watchers …")
            watchers = await measure_watchers(turnwise, effort.watchers, effort.watched_prompts)
        console.print(f"Memory of {effort.waiting_runs:,} waiting runs …")
        measures += await measure_memory(bare, turnwise, settings, effort.waiting_runs)
        return Results(measures + stream, sessions, watchers)


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
        results = asyncio.run(measure(effort, Path(data_dir)))
    everything = results.runs + results.sessions + results.watchers
    RESULTS.mkdir(exist_ok=True)
    save_json(everything, RESULTS / "bench.json")
    save_plot(results.runs, RESULTS / "bench.png")
    print_table("Two-turn run: Turnwise beside a bare Temporal workflow", "bare", results.runs)
    print_table("Sessions: when they have grown, beside when they were young", "young", results.sessions)
    print_table("A change of status, from its fact to whoever watches", "alone", results.watchers)
    print_verdict(everything, time.monotonic() - began)
    print(f"Plot and numbers: {RESULTS}")


def _warn_if_busy() -> None:
    busy = psutil.cpu_percent(interval=BUSY_LOOK_SEC)
    if busy > BUSY_PERCENT:
        print(f"This machine is {busy:.0f} % busy with other things: trust the ratios more than the times.")


if __name__ == "__main__":
    main()

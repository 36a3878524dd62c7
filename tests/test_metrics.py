"""What processes tell of their work: metrics for Prometheus, and one log line for each change of a status."""

import asyncio
import json
import signal
from collections import Counter
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families
from temporalio.client import Client

from tests.command_line import PATIENCE_SEC
from tests.ports import free_port
from tests.test_up import run_to_its_end, service, settings
from tests.worker_process import workers
from tests.world import ASK_THEN_ANSWER, start_world, until, until_asked
from turnwise.metrics import Metrics
from turnwise.statechart import State

Labels = tuple[tuple[str, str], ...]

TWO_TURNS = Counter(
    {
        ("none", "accepted", "input_accepted"): 1,
        ("accepted", "awaiting_output", "turn_started"): 2,
        ("awaiting_output", "active_output", "output_written"): 1,
        ("awaiting_output", "completed", "question_asked"): 1,
        ("completed", "accepted", "input_accepted"): 1,
        ("active_output", "completed", "run_succeeded"): 1,
    }
)
"""The changes of the two-turn run, whose first turn only asks."""


def samples(text: str) -> dict[tuple[str, Labels], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def status_changes(found: dict[tuple[str, Labels], float]) -> Counter[tuple[str, str, str]]:
    changes: Counter[tuple[str, str, str]] = Counter()
    for (name, labels), value in found.items():
        if name == "turnwise_status_changes_total":
            told = dict(labels)
            assert told["lane"] == "core"
            changes[told["from"], told["to"], told["reason"]] = int(value)
    return changes


async def scrape(url: str) -> dict[tuple[str, Labels], float]:
    async with httpx.AsyncClient(timeout=PATIENCE_SEC) as http:
        response = await http.get(f"{url}/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    return samples(response.text)


async def test_the_api_shows_what_the_process_measures_and_the_log_has_one_line_for_each_status(tmp_path: Path) -> None:
    async with service("up", env=settings(tmp_path)) as up:
        await up.until("Ctrl-C stops")
        run_id = await run_to_its_end(up.api)
        found = await scrape(up.api)
        assert status_changes(found) == TWO_TURNS
        assert found["turnwise_events_written_total", ()] == 10
        assert found["turnwise_turn_seconds_count", ()] == 2
        assert found["turnwise_reply_to_resume_seconds_count", ()] == 1
        assert 0 < found["turnwise_reply_to_resume_seconds_sum", ()] < PATIENCE_SEC
        runs = {state: found["turnwise_runs", (("state", state.value),)] for state in State}
        assert runs == {state: int(state is State.SUCCEEDED) for state in State}
        assert found["process_resident_memory_bytes", ()] > 0
        await up.stop(signal.SIGTERM)
    lines = [json.loads(line) for line in up.said.splitlines() if '"status.changed"' in line]
    assert Counter((line["from"], line["to"], line["reason"]) for line in lines) == TWO_TURNS
    assert {(line["run_id"], line["session_id"], line["lane"]) for line in lines} == {(run_id, None, "core")}


async def test_watchers_are_counted_while_they_watch(tmp_path: Path) -> None:
    async with service("up", env=settings(tmp_path)) as up:
        await up.until("Ctrl-C stops")

        async def watchers() -> float:
            return (await scrape(up.api))["turnwise_watchers", ()]

        async with httpx.AsyncClient(base_url=f"{up.api}/v1", timeout=PATIENCE_SEC) as http:
            run = (await http.post("/runs", json={"engine_options": ASK_THEN_ANSWER})).json()
            assert await watchers() == 0
            async with http.stream("GET", f"/runs/{run['run_id']}/events") as stream:
                lines = stream.aiter_lines()  # kept: whoever lets go of it leaves the stream
                await anext(lines)
                await until(watchers, lambda number: number == 1)
        await until(watchers, lambda number: number == 0)


async def test_a_worker_alone_shows_its_metrics_where_it_is_told_to(temporal: Client, tmp_path: Path) -> None:
    url, port = f"sqlite:///{tmp_path / 'turnwise.db'}", free_port()
    async with (
        start_world(temporal, url, with_worker=False) as world,
        workers(world, url, metrics_port=str(port)) as crew,
    ):
        worker = await crew.start()
        run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
        await until_asked(run)
        found = await scrape(f"http://127.0.0.1:{port}")
        assert status_changes(found)["accepted", "awaiting_output", "turn_started"] == 1
        await run.reply(1, "blue")
        await run.wait()

        async def turns() -> float:
            return (await scrape(f"http://127.0.0.1:{port}"))["turnwise_turn_seconds_count", ()]

        assert await turns() == 2
        async with asyncio.timeout(PATIENCE_SEC):
            await worker.stop()


def test_metrics_are_shown_without_the_store_when_it_is_away() -> None:
    metrics = Metrics()
    assert ("turnwise_runs", (("state", "failed"),)) in samples(metrics.show({State.FAILED: 2}).decode())
    away = samples(metrics.show(None).decode())
    assert not [name for name, _ in away if name == "turnwise_runs"]
    assert ("turnwise_events_written_total", ()) in away

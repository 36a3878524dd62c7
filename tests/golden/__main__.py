"""Records the golden histories anew: `make golden`, after a deliberate change of the workflows."""

import asyncio
import contextlib
import json
import socket
import tempfile
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowFailureError

from tests.conftest import free_port
from tests.golden import FOLDER
from tests.golden.paths import PATHS
from tests.world import World, start_world
from turnwise.connection import connect_temporal
from turnwise.runtime.temporal_server import ServerOptions, embedded_temporal
from turnwise.settings import Settings

SUGGEST_CONTINUE_AS_NEW = "limit.historyCount.suggestContinueAsNew=60"


async def record(world: World, name: str) -> None:
    run = await PATHS[name](world)
    await run.wait()
    await _closed(world, run.id)
    description = await world.temporal.get_workflow_handle(run.id).describe()
    await _save(world, run.id, description.run_id, name)
    first = description.raw_info.first_run_id
    if first != description.run_id:
        await _save(world, run.id, first, f"{name}.first")


async def _closed(world: World, run_id: str) -> None:
    """The log ends a moment before the workflow does."""
    with contextlib.suppress(WorkflowFailureError):
        await world.temporal.get_workflow_handle(run_id).result()


async def _save(world: World, workflow_id: str, execution: str, name: str) -> None:
    history = await world.temporal.get_workflow_handle(workflow_id, run_id=execution).fetch_history()
    recorded = {"workflow_id": workflow_id, "history": _without_stack_traces(history.to_json_dict())}
    text = json.dumps(recorded, indent=1, sort_keys=True).replace(socket.gethostname(), "golden")
    (FOLDER / f"{name}.json").write_text(text + "\n")


def _without_stack_traces(value: Any) -> Any:
    """They name the folders of the machine that recorded them."""
    if isinstance(value, list):
        return [_without_stack_traces(each) for each in value]
    if isinstance(value, dict):
        return {key: _without_stack_traces(each) for key, each in value.items() if key != "stackTrace"}
    return value


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        options = ServerOptions(free_port(), free_port(), Path(folder), (SUGGEST_CONTINUE_AS_NEW,))
        async with embedded_temporal(options):
            client = await connect_temporal(Settings(temporal_port=options.port))
            async with start_world(client, f"sqlite:///{folder}/turnwise.db") as world:
                for name in PATHS:
                    await record(world, name)


asyncio.run(main())

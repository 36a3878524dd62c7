"""Records the golden histories anew: `make golden`, after a deliberate change of the workflows."""

import asyncio
import contextlib
import json
import socket
import tempfile
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowFailureError

from tests.golden import FOLDER
from tests.golden.conversations import CONVERSATIONS
from tests.golden.paths import PATHS
from tests.golden.recoveries import RECOVERIES
from tests.ports import free_port
from tests.worker_process import workers
from tests.world import World, start_world
from turnwise.client import AgentSession, Run
from turnwise.connection import connect_temporal
from turnwise.runtime.temporal_server import ServerOptions, embedded_temporal
from turnwise.settings import Settings
from turnwise.workflows.recovery import recovery_id

SUGGEST_CONTINUE_AS_NEW = "limit.historyCount.suggestContinueAsNew=60"


async def record(world: World, name: str, run: Run) -> None:
    await run.wait()
    await _save_all(world, name, run.id)


async def record_conversation(world: World, name: str, session: AgentSession) -> None:
    await session.close()
    await _save_all(world, name, session.id)


async def _save_all(world: World, name: str, workflow_id: str) -> None:
    await _closed(world, workflow_id)
    description = await world.temporal.get_workflow_handle(workflow_id).describe()
    await _save(world, workflow_id, description.run_id, name)
    first = description.raw_info.first_run_id
    if first != description.run_id:
        await _save(world, workflow_id, first, f"{name}.first")


async def record_recovery(client: Client, folder: Path, name: str) -> None:
    """In a world of its own, whose workers die; the sweep is recorded, too."""
    url = f"sqlite:///{folder / name}.db"
    path = RECOVERIES[name]
    async with start_world(client, url, with_worker=False) as world:
        async with workers(world, url, recovery=path.recovery.value, grace_sec="0.2") as crew:
            await record(world, name, await path.journey(world, crew))
        if path is RECOVERIES["preserved_while_waiting"]:
            swept = await client.get_workflow_handle(recovery_id(world.task_queue)).describe()
            await _save(world, swept.id, swept.run_id, f"{name}.sweep")


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
                for name, journey in PATHS.items():
                    await record(world, name, await journey(world))
                for name, talk in CONVERSATIONS.items():
                    await record_conversation(world, name, await talk(world))
            for name in RECOVERIES:
                await record_recovery(client, Path(folder), name)


asyncio.run(main())

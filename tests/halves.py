"""A worker in two halves, one that decides and one that acts: what both would do at once can be put in an order."""

from collections.abc import Awaitable, Callable

from temporalio.client import WorkflowHandle
from temporalio.worker import Worker

from tests.world import World, until
from turnwise.activities import Presence, Publishing, Slots, Turns
from turnwise.client import Run
from turnwise.tools import Tools, ToolServers
from turnwise.tools.builtin import builtin_tools
from turnwise.workflows import RunWorkflow


def deciding(world: World) -> Worker:
    """Executes the workflow, and no turn."""
    return Worker(
        world.temporal,
        task_queue=world.task_queue,
        workflows=[RunWorkflow],
        activities=[Publishing(world.store, Slots(1)).close_turn],
        no_remote_activities=True,
    )


def acting(world: World) -> Worker:
    """Executes turns, whose endings nobody takes in."""
    presence = Presence(world.store, world.task_queue)
    presence.settled.set()
    tools = Tools(builtin_tools(), ToolServers())
    turns = Turns(world.store, world.engines, tools, world.temporal, presence, Slots(1))
    return Worker(world.temporal, task_queue=world.task_queue, activities=[turns.run_turn])


async def with_turn_ended(
    world: World, run: Run, before_it_ends: Callable[[], Awaitable[object]] | None = None
) -> None:
    """Brings a run to where its turn has ended, and its workflow does not know it yet."""
    async with deciding(world):
        await _until_turns(world, run, 1)
    if before_it_ends is not None:
        await before_it_ends()
    async with acting(world):
        await _until_turns(world, run, 0)


async def _until_turns(world: World, run: Run, wanted: int) -> None:
    handle: WorkflowHandle[object, object] = world.temporal.get_workflow_handle(run.id)

    async def under_way() -> int:
        return len((await handle.describe()).raw_description.pending_activities)

    await until(under_way, lambda number: number == wanted)

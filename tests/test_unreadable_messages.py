"""What other languages send may be anything: it fails the run or is refused, and never hangs a workflow."""

import json
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowFailureError
from temporalio.common import RawValue
from temporalio.exceptions import ApplicationError

from tests.world import ASK_THEN_ANSWER, World, until, until_asked
from turnwise.fcmp.events import EventType
from turnwise.statechart import State


def raw(data: bytes, encoding: bytes = b"json/plain") -> RawValue:
    return RawValue(Payload(metadata={"encoding": encoding}, data=data))


HALF_A_CHARACTER = raw(b'{"prompt": "\\ud800"}')
TOO_DEEP = raw(b"[" * 300 + b"]" * 300)
NOBODYS_ENCODING = raw(b"x", b"foo/bar")
WAITS_FOR_NOTHING = raw(json.dumps({"state": "waiting_user"}).encode())


@pytest.mark.parametrize(
    "input_",
    [[HALF_A_CHARACTER], [TOO_DEEP], [NOBODYS_ENCODING], [raw(b"{}"), WAITS_FOR_NOTHING]],
    ids=["half a character", "too deep", "unknown encoding", "waits for nothing"],
)
async def test_a_start_that_cannot_be_read_fails(world: World, tmp_path: Path, input_: list[RawValue]) -> None:
    handle = await world.temporal.start_workflow(
        "RunWorkflow", args=input_, id=f"run-{tmp_path.name}", task_queue=world.task_queue
    )
    with pytest.raises(WorkflowFailureError) as failure:
        await handle.result()
    assert isinstance(failure.value.cause, ApplicationError)
    assert failure.value.cause.type == "RUN_INPUT_INVALID"


async def test_signals_that_cannot_be_read_change_nothing_and_a_good_one_counts(world: World) -> None:
    run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    handle = world.temporal.get_workflow_handle(run.id)
    for unreadable in (HALF_A_CHARACTER, TOO_DEEP, NOBODYS_ENCODING):
        await handle.signal("reply", unreadable)
    await handle.signal("reply", {"interaction_id": 2**63, "response": "blue"})
    await until(run.history, lambda log: sum(event.type is EventType.WARNING for event in log) == 4)
    await handle.signal("turn_started")
    await handle.signal("turn_started", args=[1, 2])
    await handle.signal("reply", args=[{"interaction_id": 1, "response": "blue"}, "one too many"])
    assert (await run.wait()).state is State.SUCCEEDED
    await handle.result()

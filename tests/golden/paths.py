"""Every path that a run can take, as a journey that ends with the run's end."""

from collections.abc import Awaitable, Callable

from tests.world import ANSWER, ASK, ASK_THEN_ANSWER, WAIT_FOREVER, World, until_asked, until_event, until_state
from turnwise.client import Run
from turnwise.fcmp.events import EventType, Mode
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.statechart import State

PATHS: dict[str, Callable[[World], Awaitable[Run]]] = {}
"""By the name of the history's file."""

LONG_TURN: JsonObject = {"turns": [[{"sleep": 0.5}, {"final": "done"}]]}


def path(journey: Callable[[World], Awaitable[Run]]) -> Callable[[World], Awaitable[Run]]:
    PATHS[journey.__name__] = journey
    return journey


@path
async def asked_and_answered(world: World) -> Run:
    run = await world.turnwise.start("Paint", engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    await run.reply(1, "blue")
    return run


@path
async def answered_by_signal_after_bad_ones(world: World) -> Run:
    run = await world.turnwise.start("Paint", engine_options=ASK_THEN_ANSWER, session_id="house-7")
    await until_asked(run)
    handle = world.temporal.get_workflow_handle(run.id)
    await handle.signal("reply", "nonsense")
    await until_event(run, EventType.WARNING)
    await handle.signal("reply", {"interaction_id": 1, "response": "blue"})
    return run


@path
async def started_by_plain_temporal(world: World) -> Run:
    request = {"engine_options": {"turns": [[{"final": "done"}]]}}
    handle = await world.temporal.start_workflow(
        "RunWorkflow", request, id=f"plain-{world.task_queue}", task_queue=world.task_queue
    )
    await handle.result()
    return world.turnwise.run(handle.id)


@path
async def deadline_reported_then_answered(world: World) -> Run:
    run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER, session_timeout_sec=0.1)
    await until_event(run, EventType.WARNING)
    await run.reply(1, "blue")
    return run


@path
async def decided_at_the_deadline(world: World) -> Run:
    return await world.turnwise.start(
        engine_options=ASK_THEN_ANSWER, interactive_require_user_reply=False, session_timeout_sec=0.1
    )


@path
async def decided_at_once(world: World) -> Run:
    return await world.turnwise.start(engine_options=ASK_THEN_ANSWER, mode=Mode.AUTO)


@path
async def long_turn(world: World) -> Run:
    return await world.turnwise.start(engine_options=LONG_TURN)


@path
async def failed(world: World) -> Run:
    return await world.turnwise.start(engine_options={"turns": [[{"fail": "no paint"}]]})


@path
async def asked_too_often(world: World) -> Run:
    return await world.turnwise.start(engine_options=ASK_THEN_ANSWER, max_attempts=1)


@path
async def canceled_while_waiting(world: World) -> Run:
    run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    await run.cancel()
    return run


@path
async def canceled_while_running(world: World) -> Run:
    run = await world.turnwise.start(engine_options={"turns": [[WAIT_FOREVER]]})
    await until_state(run, State.RUNNING)
    await run.cancel()
    return run


@path
async def continued_as_new(world: World) -> Run:
    asking: list[object] = [[ASK]] * 12
    options: JsonObject = {"turns": [*asking, [ANSWER]]}  # type: ignore[list-item]
    return await world.turnwise.start(engine_options=options, mode=Mode.AUTO)

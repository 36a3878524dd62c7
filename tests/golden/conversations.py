"""Every path that a session can take, as a journey that ends before the session is closed."""

from collections.abc import Awaitable, Callable

from tests.world import ASK_THEN_ANSWER, WAIT_FOREVER, World, until, until_asked, until_state
from turnwise.client import AgentSession
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.statechart import State

CONVERSATIONS: dict[str, Callable[[World], Awaitable[AgentSession]]] = {}
"""By the name of the history's file."""

SHORT: JsonObject = {"turns": [[{"final": "done"}]]}
LONG: JsonObject = {"turns": [[WAIT_FOREVER]]}


def conversation(journey: Callable[[World], Awaitable[AgentSession]]) -> Callable[[World], Awaitable[AgentSession]]:
    CONVERSATIONS[journey.__name__] = journey
    return journey


@conversation
async def prompted_and_queued(world: World) -> AgentSession:
    session = await world.turnwise.create_session(engine_options=ASK_THEN_ANSWER)
    await session.submit("Paint")
    run = await session.active_run()
    assert run is not None
    await until_asked(run)
    await session.follow_up("and then", prompt_id="second")
    await run.reply(1, "blue")
    second = await until(session.active_run, lambda now: now is not None and now.id != run.id)
    assert second is not None
    await until_asked(second)
    await second.reply(1, "red")
    await session.result("second")
    return session


@conversation
async def canceled_with_a_queue(world: World) -> AgentSession:
    session = await _at_work(world)
    await session.steer("behind")
    await session.cancel_active_prompt()
    await _idle(session)
    return session


@conversation
async def failed_with_a_queue(world: World) -> AgentSession:
    session = await world.turnwise.create_session(engine_options={"turns": [[{"sleep": 0.3}, {"fail": "no paint"}]]})
    await session.submit("Paint")
    await session.follow_up("behind")
    await _idle(session)
    return session


@conversation
async def cleared(world: World) -> AgentSession:
    session = await _at_work(world)
    await session.follow_up("behind")
    await session.clear_pending_state(cancel_active_prompt=True)
    await _idle(session)
    return session


@conversation
async def closed_at_work(world: World) -> AgentSession:
    session = await _at_work(world)
    await session.follow_up("behind")
    return session


@conversation
async def resumed_with_tools(world: World) -> AgentSession:
    session = await world.turnwise.create_session(engine_options=SHORT)
    await session.resume([{"kind": "message", "role": "user", "text": "before"}])
    await session.register("text.count")
    fork = await session.fork()
    await fork.prompt("on")
    await session.close()
    return fork


@conversation
async def talked_for_long(world: World) -> AgentSession:
    session = await world.turnwise.create_session(engine_options=SHORT)
    for number in range(6):
        await session.prompt(f"Prompt {number}")
    return session


async def _at_work(world: World) -> AgentSession:
    session = await world.turnwise.create_session(engine_options=LONG)
    await session.submit("Paint")
    run = await session.active_run()
    assert run is not None
    await until_state(run, State.RUNNING)
    return session


async def _idle(session: AgentSession) -> None:
    await until(session.view, lambda view: view.active_run_id is None and view.pending_messages == 0)

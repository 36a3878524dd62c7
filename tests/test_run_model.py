"""Random journeys of real runs on the real server, each step compared with the contract's own model."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pydantic import JsonValue
from temporalio.client import Client

from tests.contract_model import Refused, contract_step
from tests.world import World, start_world
from turnwise.connection import connect_temporal
from turnwise.engines import Engines
from turnwise.engines.protocol import Ask, Done, Fail, MessageEnd, TextDelta, TurnOutput, TurnTools
from turnwise.errors import AlreadyAnswered, InteractionStale, NotWaiting, ResponseInvalid, RunEnded, TurnwiseError
from turnwise.fcmp.events import EventType, FcmpEvent, Mode
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.ordering import violations
from turnwise.fcmp.questions import Kind, Question
from turnwise.settings import Settings
from turnwise.statechart import State
from turnwise.store.records import TurnContext

T = TypeVar("T")
TERMINAL = {"succeeded", "failed", "canceled"}


class Puppet:
    """An engine whose turns do what the test puts into their queue."""

    name = "puppet"

    def __init__(self) -> None:
        self._strings: dict[str, asyncio.Queue[TurnOutput]] = {}

    def strings(self, run_id: str) -> asyncio.Queue[TurnOutput]:
        return self._strings.setdefault(run_id, asyncio.Queue())

    def check_options(self, options: JsonObject) -> None:
        pass

    async def validate_handle(self, handle: JsonValue) -> bool:
        return True

    async def run_turn(self, turn: TurnContext, tools: TurnTools) -> AsyncGenerator[TurnOutput, None]:
        while True:
            output = await self.strings(turn.run_id).get()
            yield output
            if isinstance(output, TextDelta):
                yield MessageEnd()


class Stage:
    """The server's side, on an event loop of its own: Hypothesis steps through its machines synchronously."""

    def __init__(self, target: str, folder: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self._stack = contextlib.AsyncExitStack()
        self.puppet = Puppet()
        self.world: World = self.do(self._enter(target, folder))

    async def _enter(self, target: str, folder: Path) -> World:
        client = await connect_temporal(Settings(temporal_port=int(target.rpartition(":")[2])))
        url = f"sqlite:///{folder / 'model.db'}"
        return await self._stack.enter_async_context(start_world(client, url, Engines([self.puppet])))

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout=60)

    def close(self) -> None:
        self.do(self._stack.aclose())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@pytest.fixture
def stage(temporal: Client, tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(temporal.service_client.config.target_host, tmp_path)
    yield stage
    stage.close()


class RunMachine(RuleBasedStateMachine):
    stage: Stage

    @initialize(mode=st.sampled_from(list(Mode)), strict=st.booleans())
    def start(self, mode: Mode, strict: bool) -> None:
        self.strict = strict and mode is Mode.INTERACTIVE
        self.decides_at_once = mode is Mode.AUTO
        self.state = "queued"
        self.asked = 0
        self.run = self.stage.do(
            self.stage.world.turnwise.start(engine="puppet", mode=mode, interactive_require_user_reply=strict)
        )
        self._take("turn.started")

    def _take(self, event: str) -> None:
        """What the contract says of an event that was caused for real; the run must come to the same state."""
        facts = {"interactive_require_user_reply": self.strict, "pending_valid": True, "handle_valid": True}
        self.state = contract_step(self.state, event, facts)
        self.stage.do(self._until(event))

    async def _until(self, trigger: str) -> None:
        seen = getattr(self, "cursor", 0)
        async for event in self.run.events(seen):
            self.cursor = event.seq
            if event.type == EventType.STATE_CHANGED and event.data["trigger"] == trigger:
                return
        raise AssertionError(f"the run ended without {trigger}")

    def _pull(self, output: TurnOutput) -> None:
        self.stage.loop.call_soon_threadsafe(self.stage.puppet.strings(self.run.id).put_nowait, output)

    @precondition(lambda self: self.state == "running")
    @rule(text=st.text(min_size=1, max_size=20))
    def the_engine_speaks(self, text: str) -> None:
        self._pull(TextDelta(text))

    @precondition(lambda self: self.state == "running")
    @rule()
    def the_engine_asks(self) -> None:
        self._pull(Ask(Question(kind=Kind.CONFIRM, prompt="Go on?")))
        self._take("turn.needs_input")
        self.asked += 1
        if self.decides_at_once:
            self._take("interaction.auto_decide.timeout")
            self._take("turn.started")

    @precondition(lambda self: self.state == "running")
    @rule()
    def the_engine_finishes(self) -> None:
        self._pull(Done())
        self._take("turn.succeeded")

    @precondition(lambda self: self.state == "running")
    @rule()
    def the_engine_fails(self) -> None:
        self._pull(Fail("it broke"))
        self._take("turn.failed")

    @rule(response=st.booleans())
    def the_user_replies(self, response: bool) -> None:
        """In every state: where the contract has no such transition, it must be refused."""
        try:
            contract_step(self.state, "interaction.reply.accepted", {})
        except Refused:
            self._refused(self.asked or 1, response, NotWaiting, AlreadyAnswered)
            return
        self.stage.do(self.run.reply(self.asked, response))
        self._take("interaction.reply.accepted")
        self._take("turn.started")

    @rule(ahead=st.integers(min_value=1, max_value=3))
    def the_user_replies_to_a_question_that_was_never_asked(self, ahead: int) -> None:
        self._refused(self.asked + ahead, True, NotWaiting, InteractionStale)

    @rule(response=st.sampled_from(["yes", 1, None, {}, []]))
    def the_user_replies_with_something_that_is_no_answer(self, response: Any) -> None:
        self._refused(self.asked or 1, response, NotWaiting, AlreadyAnswered, ResponseInvalid)

    @rule()
    def the_user_cancels(self) -> None:
        try:
            contract_step(self.state, "run.canceled", {})
        except Refused:
            with contextlib.suppress(RunEnded):
                assert self.stage.do(self.run.cancel()).state is State.CANCELED
            return
        self.stage.do(self.run.cancel())
        self._take("run.canceled")

    def _refused(self, interaction_id: int, response: Any, *allowed: type[TurnwiseError]) -> None:
        with pytest.raises(allowed):
            self.stage.do(self.run.reply(interaction_id, response))

    @invariant()
    def log_state_and_contract_agree(self) -> None:
        if not hasattr(self, "run"):
            return
        view, log = self.stage.do(self._look())
        assert view.state.value == self.state
        assert (view.pending is not None) == (self.state == "waiting_user")
        assert violations(log) == []
        assert self._replayed(log) == self.state

    async def _look(self) -> tuple[Any, list[FcmpEvent]]:
        return await self.run.view(), await self.run.history()

    def _replayed(self, log: list[FcmpEvent]) -> str:
        """The contract, fed with the triggers in the log, comes to the state that the log tells."""
        facts = {"interactive_require_user_reply": self.strict, "pending_valid": True, "handle_valid": True}
        state = "queued"
        for event in log:
            if event.type == EventType.STATE_CHANGED:
                assert event.data["from"] == state
                state = contract_step(state, str(event.data["trigger"]), facts)
                assert event.data["to"] == state
        return state

    def teardown(self) -> None:
        if hasattr(self, "run") and self.state not in TERMINAL:
            self.the_user_cancels()
        if hasattr(self, "run"):
            assert self.stage.do(self._temporal_status()) == self.state

    async def _temporal_status(self) -> str:
        """What Temporal itself says of the ended workflow."""
        handle = self.stage.world.temporal.get_workflow_handle(self.run.id)
        with contextlib.suppress(Exception):
            await handle.result()
        return str(await handle.query("state"))


def test_random_journeys_keep_the_contract(stage: Stage) -> None:
    class Journey(RunMachine):
        pass

    Journey.stage = stage
    run_state_machine_as_test(
        Journey,
        settings=settings(
            max_examples=25,
            stateful_step_count=10,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            derandomize=False,
        ),
    )

"""The scenarios of an agent session, one test each, on the real server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest
from temporalio.client import Client

from tests.mcp_process import STDIO, config_file
from tests.world import World, start_world, until, until_event, until_state
from turnwise.client import (
    AgentSession,
    InvalidForkEntryIndex,
    PromptAlreadyRunning,
    PromptCanceled,
    PromptFailed,
    SessionBusy,
)
from turnwise.descriptors import ToolSource
from turnwise.errors import ToolNotFound
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.runtime.worker import build_worker
from turnwise.sessions import (
    Cleared,
    EventSource,
    ItemSource,
    ItemStatus,
    PendingBreakdown,
    PromptResult,
    SessionStats,
    StreamingBehavior,
    TranscriptEventType,
)
from turnwise.statechart import State
from turnwise.tools import Tools, ToolServers
from turnwise.tools.builtin import builtin_tools
from turnwise.tools.config import read_config

SLOW: JsonObject = {"turns": [[{"say": "I am at it."}, {"sleep": 3600}]]}
FAILS: JsonObject = {"turns": [[{"fail": "The upstream is down."}]]}
CALLS_A_TOOL: JsonObject = {
    "turns": [[{"tool": {"name": "text.count", "arguments": {"text": "one two"}}}, {"final": "Counted {result}."}]]
}
FOLLOW_UP = StreamingBehavior.FOLLOW_UP


@pytest.fixture(scope="module")
async def world(temporal: Client, shared_store_url: str, scratch: Path) -> AsyncIterator[World]:
    """On each of the two databases, with a worker that knows an MCP server."""
    servers = ToolServers(read_config(config_file(scratch, numbers=STDIO)))
    tools = Tools(builtin_tools(), servers)
    async with start_world(temporal, shared_store_url, with_worker=False) as world:
        try:
            async with build_worker(temporal, world.store, world.engines, task_queue=world.task_queue, tools=tools):
                yield world
        finally:
            await tools.close()


@pytest.fixture
async def session(world: World) -> AsyncIterator[AgentSession]:
    """Of the friendly agent, which answers what it is told."""
    session = await world.turnwise.create_session()
    yield session
    if (await session.view()).closed_at is None:
        await session.close()


@pytest.fixture
async def busy(session: AgentSession) -> AgentSession:
    """At work on a prompt that does not end by itself, with all said that it will say."""
    await session.submit("slow", engine_options=SLOW)
    run = await session.active_run()
    assert run is not None
    await until_event(run, EventType.MESSAGE_FINAL)
    return session


async def texts(session: AgentSession) -> list[str]:
    return [str(entry.wire().get("text")) for entry in await session.transcript()]


async def user_texts(session: AgentSession) -> list[str]:
    return [message.text for message in await session.forkable_user_messages()]


async def idle(session: AgentSession) -> None:
    """Until all that was accepted has ended."""
    await until(session.view, lambda view: view.active_run_id is None and view.pending_messages == 0)


async def queued(session: AgentSession, *, of: int) -> None:
    await until(session.pending_message_count, lambda count: count == of)


def awaiting(prompt: Awaitable[PromptResult]) -> asyncio.Task[PromptResult]:
    async def wait() -> PromptResult:
        return await prompt

    return asyncio.create_task(wait())


async def statuses(session: AgentSession) -> list[tuple[str, ItemStatus]]:
    return [(item.text_preview, item.status) for item in await session.pending_messages(include_resolved=True)]


async def test_01_a_prompt_returns_the_assistants_text_and_both_are_in_the_transcript(session: AgentSession) -> None:
    result = await session.prompt("hello")
    assert result.state is State.SUCCEEDED
    assert result.text is not None
    assert "hello" in result.text
    entries = [entry.wire() for entry in await session.transcript()]
    assert [(entry["entry_index"], entry["kind"], entry["role"], entry["text"]) for entry in entries] == [
        (0, "message", "user", "hello"),
        (1, "message", "assistant", result.text),
    ]


async def test_02_a_fork_begins_with_the_parents_transcript_and_goes_its_own_way(session: AgentSession) -> None:
    await session.prompt("first")
    fork = await session.fork()
    assert fork.id != session.id
    assert await fork.transcript() == await session.transcript()
    await fork.prompt("only in the fork")
    await session.prompt("only in the parent")
    assert await user_texts(fork) == ["first", "only in the fork"]
    assert await user_texts(session) == ["first", "only in the parent"]
    await fork.close()


async def test_03_a_resumed_session_has_the_transcript_that_it_was_given(world: World, session: AgentSession) -> None:
    await session.register("text.count")
    await session.prompt("count", engine_options=CALLS_A_TOOL)
    saved = [entry.wire() for entry in await session.transcript()]
    other = await world.turnwise.create_session()
    await other.resume(saved)
    assert [entry.wire() for entry in await other.transcript()] == saved
    assert (await other.stats()).model_dump(exclude={"last_updated_at"}) == (await session.stats()).model_dump(
        exclude={"last_updated_at"}
    )
    await other.prompt("and on")
    assert await user_texts(other) == ["count", "and on"]
    assert [entry.wire() for entry in await session.transcript()] == saved
    await other.close()


async def test_04_a_canceled_prompt_raises_for_whoever_awaits_it(session: AgentSession) -> None:
    waiting = awaiting(session.prompt("slow", engine_options=SLOW))
    run = await until(session.active_run, lambda run: run is not None)
    assert run is not None
    await until_state(run, State.RUNNING)
    assert await session.cancel_active_prompt()
    with pytest.raises(PromptCanceled):
        await waiting
    assert (await run.view()).state is State.CANCELED
    assert await user_texts(session) == ["slow"]
    assert (await session.prompt("again")).state is State.SUCCEEDED
    assert not await session.cancel_active_prompt()


async def test_05_forkable_messages_are_the_users_in_the_order_of_the_transcript(session: AgentSession) -> None:
    for text in ("one", "two", "three"):
        await session.prompt(text)
    forkable = await session.forkable_user_messages()
    assert [(message.entry_index, message.text) for message in forkable] == [(0, "one"), (2, "two"), (4, "three")]


async def test_06_a_fork_at_a_users_message_keeps_only_what_came_before_it(session: AgentSession) -> None:
    for text in ("one", "two", "three"):
        await session.prompt(text)
    before = await session.transcript()
    second = (await session.forkable_user_messages())[1]
    fork = await session.fork(second.entry_index)
    assert await fork.transcript() == before[:2]
    await fork.prompt("another two")
    assert await user_texts(fork) == ["one", "another two"]
    assert await session.transcript() == before
    await fork.close()


async def test_07_messages_that_meet_a_session_at_work_are_queued_and_executed_in_order(session: AgentSession) -> None:
    script: JsonObject = {"turns": [[{"ask": {"kind": "confirm", "prompt": "Go on?"}}], [{"final": "Gone on."}]]}
    first = awaiting(session.prompt("first", engine_options=script))
    run = await until(session.active_run, lambda run: run is not None)
    assert run is not None
    await until_state(run, State.WAITING_USER)
    with pytest.raises(PromptAlreadyRunning):
        await session.prompt("refused")
    second = awaiting(session.prompt("second", streaming_behavior=FOLLOW_UP))
    await queued(session, of=1)
    await session.steer("third")
    receipt = await session.follow_up("fourth")
    assert (receipt.status, receipt.run_id) == (ItemStatus.QUEUED, None)
    assert await session.pending_message_count() == 3
    await run.reply(1, True)
    assert (await first).text == "Gone on."
    assert (await second).state is State.SUCCEEDED
    await session.result(receipt.prompt_id)
    assert await user_texts(session) == ["first", "second", "third", "fourth"]
    assert await session.pending_message_count() == 0


async def test_08_tools_are_described_and_only_the_enabled_ones_are_active(session: AgentSession) -> None:
    await session.register("text.count")
    await session.register("clock.now")
    await session.disable("clock.now")
    count, now = await session.tool_descriptors()
    assert (count.name, count.source, count.enabled) == ("text.count", ToolSource.NATIVE, True)
    assert (
        count.description == count.short_description == "Counts the user-visible characters, words and lines of a text."
    )
    assert count.parameters["required"] == ["text"]
    assert (now.name, now.enabled) == ("clock.now", False)
    assert await session.active_tool_names() == ["text.count"]
    await session.enable("clock.now")
    assert await session.active_tool_names() == ["text.count", "clock.now"]
    await session.unregister("text.count")
    assert [tool.name for tool in await session.tool_descriptors()] == ["clock.now"]
    assert await session.active_tool_names() == ["clock.now"]
    with pytest.raises(ToolNotFound):
        await session.unregister("text.count")


async def test_09_events_tell_their_source_and_share_the_index_of_their_entry(session: AgentSession) -> None:
    await session.register("text.count")
    await session.prompt("count", engine_options=CALLS_A_TOOL)
    events = await session.events()
    assert {event.source for event in events} == {EventSource.TRANSCRIPT}
    assert [(event.entry_index, event.type) for event in events] == [
        (0, TranscriptEventType.MESSAGE),
        (1, TranscriptEventType.TOOL_CALL),
        (1, TranscriptEventType.TOOL_EXECUTION_UPDATE),
        (2, TranscriptEventType.TOOL_EXECUTION_UPDATE),
        (2, TranscriptEventType.TOOL_RESULT),
        (3, TranscriptEventType.MESSAGE),
    ]
    assert events[4].data["status"] == "completed"


async def test_09_what_is_being_written_is_an_event_of_the_session(session: AgentSession) -> None:
    # Forty pieces with a pause after each: the message is being written for most of a second.
    text = "word " * 100
    receipt = await session.submit("write", engine_options={"turns": [[{"final": text}]]})
    events = await until(session.events, lambda events: events[-1].source is EventSource.SESSION)
    assert (events[-1].type, events[-1].entry_index) == (TranscriptEventType.MESSAGE, None)
    assert text.startswith(str(events[-1].data["text"]))
    assert (await session.result(receipt.prompt_id)).text == text


async def test_10_stats_agree_with_the_transcript(session: AgentSession) -> None:
    assert await session.stats() == SessionStats(
        total_entries=0, pending_messages=0, pending_breakdown=PendingBreakdown(), last_updated_at=None
    )
    await session.register("text.count")
    await session.prompt("count", engine_options=CALLS_A_TOOL)
    stats = await session.stats()
    kinds = [(entry.wire()["kind"], entry.wire().get("role")) for entry in await session.transcript()]
    assert (stats.user_messages, stats.assistant_messages) == (
        kinds.count(("message", "user")),
        kinds.count(("message", "assistant")),
    )
    assert (stats.tool_calls, stats.tool_results, stats.total_entries) == (1, 1, len(kinds))
    assert (stats.pending_messages, stats.pending_breakdown) == (0, PendingBreakdown())
    assert stats.last_updated_at is not None
    await session.prompt("more")
    later = (await session.stats()).last_updated_at
    assert later is not None
    assert later > stats.last_updated_at


async def test_11_the_queue_can_be_seen_in_its_order_with_previews(busy: AgentSession) -> None:
    await busy.submit("a" * 121, streaming_behavior=FOLLOW_UP)
    await busy.steer("b" * 120)
    await busy.follow_up("👩‍👩‍👧‍👦" * 121)
    pending = await busy.pending_messages()
    assert [(item.source, item.text_preview, item.status) for item in pending] == [
        (ItemSource.PROMPT_FOLLOW_UP, "a" * 120 + "...", ItemStatus.QUEUED),
        (ItemSource.STEER, "b" * 120, ItemStatus.QUEUED),
        (ItemSource.FOLLOW_UP, "👩‍👩‍👧‍👦" * 120 + "...", ItemStatus.QUEUED),
    ]
    assert [item.text_preview for item in await busy.pending_messages(max_length=3)] == [
        "aaa...",
        "bbb...",
        "👩‍👩‍👧‍👦" * 3 + "...",
    ]


async def test_11_what_was_executed_is_marked_as_resolved(session: AgentSession) -> None:
    receipt = await session.follow_up("done")
    await session.result(receipt.prompt_id)
    assert await session.pending_messages() == []
    assert await statuses(session) == [("done", ItemStatus.RESOLVED)]


async def test_12_pending_messages_are_counted_by_their_source(busy: AgentSession) -> None:
    await busy.submit("one", streaming_behavior=FOLLOW_UP)
    await busy.steer("two")
    await busy.submit("three", streaming_behavior=StreamingBehavior.STEER)
    await busy.follow_up("four")
    stats = await busy.stats()
    assert stats.pending_breakdown == PendingBreakdown(prompt_follow_up=1, steer=2, follow_up=1)
    assert stats.pending_messages == 4
    await busy.cancel_active_prompt()
    await idle(busy)
    assert (await busy.stats()).pending_breakdown == PendingBreakdown()


async def test_13_clearing_the_history_leaves_the_queue(session: AgentSession) -> None:
    resolved = await session.follow_up("resolved")
    await session.result(resolved.prompt_id)
    await session.submit("slow", engine_options=SLOW)
    await session.follow_up("queued")
    assert await session.clear_pending_history() == Cleared(resolved_removed=1)
    assert await statuses(session) == [("queued", ItemStatus.QUEUED)]
    assert await session.clear_pending_history() == Cleared()


async def test_13_clearing_the_state_empties_both_and_cancels_whoever_awaits(session: AgentSession) -> None:
    resolved = await session.follow_up("resolved")
    await session.result(resolved.prompt_id)
    await session.submit("slow", engine_options=SLOW)
    waiting = awaiting(session.prompt("queued", streaming_behavior=FOLLOW_UP))
    await queued(session, of=1)
    assert await session.clear_pending_state() == Cleared(queued_removed=1, resolved_removed=1)
    with pytest.raises(PromptCanceled):
        await waiting
    assert await statuses(session) == []
    assert (await session.view()).active_run_id is not None
    assert "queued" not in await user_texts(session)


async def test_13_clearing_the_state_can_cancel_the_active_prompt_as_well(session: AgentSession) -> None:
    active = awaiting(session.prompt("slow", engine_options=SLOW))
    await until(session.active_run, lambda run: run is not None)
    waiting = awaiting(session.prompt("queued", streaming_behavior=FOLLOW_UP))
    await queued(session, of=1)
    cleared = await session.clear_pending_state(cancel_active_prompt=True)
    assert cleared == Cleared(queued_removed=1, active_prompt_canceled=True)
    for prompt in (active, waiting):
        with pytest.raises(PromptCanceled):
            await prompt
    assert await statuses(session) == []


async def test_14_a_follow_up_to_an_idle_session_is_executed_once(session: AgentSession) -> None:
    receipt = await session.follow_up("just once")
    assert receipt.status is ItemStatus.ACTIVE
    await session.result(receipt.prompt_id)
    assert await user_texts(session) == ["just once"]
    assert (await session.follow_up("just once", prompt_id=receipt.prompt_id)).run_id == receipt.run_id
    await idle(session)
    assert await user_texts(session) == ["just once"]


async def test_15_an_mcp_tool_that_is_unregistered_is_gone_from_the_session_and_its_turns(
    session: AgentSession,
) -> None:
    call: JsonObject = {
        "turns": [
            [{"tool": {"name": "add", "arguments": {"a": 1, "b": 2}, "result": "scripted"}}, {"final": "{result}"}]
        ]
    }
    registered = await session.register("add", server="numbers")
    assert [(tool.name, tool.source) for tool in registered] == [("add", ToolSource.MCP)]
    assert await session.active_tool_names() == ["add"]
    assert "3" in str((await session.prompt("add", engine_options=call)).text)
    await session.unregister("add")
    assert await session.active_tool_names() == []
    assert await session.tool_descriptors() == []
    assert (await session.prompt("add", engine_options=call)).text == "scripted"


async def test_16_what_was_queued_behind_a_canceled_prompt_is_recorded_as_failed(busy: AgentSession) -> None:
    waiting = awaiting(busy.prompt("awaited", streaming_behavior=FOLLOW_UP))
    await queued(busy, of=1)
    await busy.steer("steered")
    await busy.cancel_active_prompt()
    with pytest.raises(PromptCanceled):
        await waiting
    assert await statuses(busy) == [("awaited", ItemStatus.FAILED), ("steered", ItemStatus.FAILED)]
    assert await user_texts(busy) == ["slow"]


async def test_16_what_was_queued_behind_a_failed_prompt_fails_with_its_error(session: AgentSession) -> None:
    script: JsonObject = {"turns": [[{"ask": {"kind": "confirm", "prompt": "Go on?"}}], [{"fail": "No more."}]]}
    active = awaiting(session.prompt("first", engine_options=script))
    run = await until(session.active_run, lambda run: run is not None)
    assert run is not None
    await until_state(run, State.WAITING_USER)
    waiting = awaiting(session.prompt("behind", streaming_behavior=FOLLOW_UP))
    await queued(session, of=1)
    await run.reply(1, True)
    for prompt in (active, waiting):
        with pytest.raises(PromptFailed, match="No more"):
            await prompt
    (item,) = await session.pending_messages(include_resolved=True)
    assert item.status is ItemStatus.FAILED
    assert item.error is not None
    assert item.error.message == "No more."


async def test_17_the_history_keeps_the_latest_twenty(busy: AgentSession) -> None:
    for number in range(25):
        await busy.follow_up(f"message {number}")
    await busy.cancel_active_prompt()
    await idle(busy)
    assert await statuses(busy) == [(f"message {number}", ItemStatus.FAILED) for number in range(5, 25)]


async def test_18_previews_of_queued_and_resolved_are_cut_alike(session: AgentSession) -> None:
    resolved = await session.follow_up("abcdefghijklmnop")
    await session.result(resolved.prompt_id)
    await session.submit("slow", engine_options=SLOW)
    await session.follow_up("qrstuvwxyzabcdefgh")
    pending = await session.pending_messages(max_length=10, include_resolved=True)
    assert [(item.text_preview, item.status) for item in pending] == [
        ("abcdefghij...", ItemStatus.RESOLVED),
        ("qrstuvwxyz...", ItemStatus.QUEUED),
    ]


@pytest.mark.parametrize("way", ["follow_up", "steer"])
async def test_19_what_an_idle_session_was_told_is_remembered_as_resolved_or_failed(world: World, way: str) -> None:
    good = await world.turnwise.create_session()
    bad = await world.turnwise.create_session(engine_options=FAILS)
    for session in (good, bad):
        receipt = await getattr(session, way)("a message")
        await session.result(receipt.prompt_id)
    assert await statuses(good) == [("a message", ItemStatus.RESOLVED)]
    assert await statuses(bad) == [("a message", ItemStatus.FAILED)]
    for session in (good, bad):
        await session.close()


@pytest.mark.parametrize("index", [1, 99, -1, 2**40])
async def test_20_a_fork_at_anything_but_a_users_message_is_an_error(
    world: World, session: AgentSession, index: int
) -> None:
    await session.prompt("hello")
    before = {each.session_id for each in (await world.turnwise.sessions(limit=200)).sessions}
    with pytest.raises(InvalidForkEntryIndex) as error:
        await session.fork(index)
    assert error.value.index == index
    assert {each.session_id for each in (await world.turnwise.sessions(limit=200)).sessions} == before


async def test_21_a_fork_has_neither_the_queue_nor_the_history(session: AgentSession) -> None:
    resolved = await session.follow_up("resolved")
    await session.result(resolved.prompt_id)
    await session.submit("slow", engine_options=SLOW)
    await session.follow_up("queued")
    fork = await session.fork()
    assert await fork.pending_messages(include_resolved=True) == []
    assert (await fork.stats()).pending_messages == 0
    assert (await fork.transcript())[:2] == (await session.transcript())[:2]
    await fork.prompt("on")
    assert await session.pending_message_count() == 1
    await fork.close()


async def test_22_tools_of_parent_and_fork_are_isolated_in_both_directions(session: AgentSession) -> None:
    await session.register("text.count")
    await session.register("clock.now")
    fork = await session.fork()
    await session.unregister("text.count")
    assert await fork.active_tool_names() == ["text.count", "clock.now"]
    await fork.unregister("clock.now")
    assert await session.active_tool_names() == ["clock.now"]
    await session.register("text.count")
    await fork.disable("text.count")
    assert await session.active_tool_names() == ["clock.now", "text.count"]
    assert await fork.active_tool_names() == []
    await fork.close()


async def test_a_transcript_is_not_replaced_in_the_middle_of_a_prompt(busy: AgentSession) -> None:
    before = await texts(busy)
    with pytest.raises(SessionBusy):
        await busy.resume([])
    assert await texts(busy) == before

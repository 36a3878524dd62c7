"""Sessions on the command line and in a chat: real processes, a real terminal, the real server."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.command_line import Terminal, terminal, turnwise
from tests.world import World, until, until_asked, until_state
from turnwise.client import AgentSession
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.sessions import ItemStatus, SessionState
from turnwise.statechart import State

SLOW: JsonObject = {"turns": [[{"say": "I am at it."}, {"sleep": 3600}]]}
CONFIRM: JsonObject = {"turns": [[{"ask": {"kind": "confirm", "prompt": "Go on?"}}], [{"final": "Gone on: {reply}."}]]}


@pytest.fixture
async def session(world: World) -> AsyncIterator[AgentSession]:
    """Of the friendly agent, which answers what it is told."""
    session = await world.turnwise.create_session()
    yield session
    if (await session.view()).closed_at is None:
        await session.close()


def session_id(person: Terminal) -> str:
    return str(re.findall(r"session-[0-9a-f-]{36}", person.screen)[0])


async def answers(session: AgentSession) -> list[str]:
    return [str(entry.wire().get("text")) for entry in await session.transcript()]


# The chat


async def test_a_chat_begins_a_session_asks_until_the_answer_fits_and_says_how_to_come_back(
    env: dict[str, str], world: World
) -> None:
    async with terminal("chat", env=env) as person:
        await person.until("Session session-")
        await person.until("› ")
        person.type("Shall we have tea or coffee?\n")
        await person.until("Let me make sure that I get this right.")
        await person.until("Your choice:")
        person.type("beer\n")
        await person.until("Not accepted: Please type one of 1, 2, or its name.")
        await person.until("Your choice:")
        person.type("2\n")
        await person.until("I go with “coffee”")
        await person.until("› ")
        person.type("\x04")
        await person.until("The session stays.")
        await person.until(f"turnwise chat {session_id(person)}")
        assert await person.exit_code() == 0
    session = world.turnwise.session(session_id(person))
    assert (await session.view()).state is SessionState.OPEN
    assert (await answers(session))[0] == "Shall we have tea or coffee?"
    await session.close()


async def test_a_chat_that_is_come_back_to_shows_what_was_said_and_asks_the_open_question(
    env: dict[str, str], session: AgentSession
) -> None:
    await session.prompt("hello")
    receipt = await session.submit("decide", engine_options=CONFIRM)
    run = await session.active_run()
    assert run is not None
    await until_asked(run)
    async with terminal("chat", session.id, env=env) as person:
        await person.until("› hello")
        await person.until("You said: “hello”.")
        await person.until("› decide")
        await person.until("Go on?")
        await person.until("(y/n):")
        person.type("y\n")
        await person.until("Gone on: true.")
        assert person.screen.count("Go on?") == 1
    assert (await session.result(receipt.prompt_id)).state is State.SUCCEEDED


async def test_what_is_typed_in_a_chat_while_the_session_works_follows(
    env: dict[str, str], session: AgentSession
) -> None:
    # Three seconds to type a line in, which takes milliseconds.
    script: JsonObject = {"turns": [[{"say": "One moment."}, {"sleep": 3}, {"final": "The first is done."}]]}
    async with terminal("chat", session.id, env=env) as person:
        await person.until("› ")
        await session.submit("first", engine_options=script)
        await person.until("› first")
        await person.until("One moment.")
        person.type("second\n")
        await person.until("Queued: it follows when this is done.")
        assert [item.text_preview for item in await session.pending_messages()] == ["second"]
        await person.until("The first is done.")
        await person.until("› second")
        await person.until("You said: “second”.")


async def test_ctrl_c_in_a_chat_cancels_the_prompt_and_the_chat_goes_on(
    env: dict[str, str], session: AgentSession
) -> None:
    async with terminal("chat", session.id, env=env) as person:
        await person.until("› ")
        await session.submit("slow", engine_options=SLOW)
        await person.until("I am at it.")
        person.type("and then this\n")
        await person.until("Queued:")
        person.type("\x03")
        await person.until("Canceling it …")
        await person.until("■ Canceled after")
        await person.until("Not executed, because it was queued: and then this")
        await person.until("› ")
        person.type("hello\n")
        await person.until("You said: “hello”.")
        await person.until("› ")
        person.type("\x03")
        await person.until("Nothing is under way.")
        person.type("\x03")
        await person.until("The session stays.")
        assert await person.exit_code() == 130
    assert (await session.view()).state is SessionState.OPEN


async def test_a_question_in_a_chat_that_is_answered_elsewhere_is_taken_away(
    env: dict[str, str], session: AgentSession
) -> None:
    async with terminal("chat", session.id, env=env) as person:
        await person.until("› ")
        await session.submit("decide", engine_options=CONFIRM)
        await person.until("(y/n):")
        person.type("half an ans")
        run = await session.active_run()
        assert run is not None
        await run.reply(1, False)
        await person.until("Answered elsewhere: false")
        await person.until("Gone on: false.")
        await session.close()
        await person.until("The session was closed.")
        assert await person.exit_code() == 0


async def test_what_needs_a_terminal_is_refused_without_one(env: dict[str, str], session: AgentSession) -> None:
    chat, tui = await asyncio.gather(turnwise("chat", session.id, env=env), turnwise("tui", session.id, env=env))
    assert (chat.code, chat.out, chat.err.count("\n")) == (1, "", 1)
    assert f"turnwise sessions prompt {session.id}" in chat.err
    assert (tui.code, tui.out, tui.err) == (1, "", "The terminal UI needs a terminal.\n")


async def test_the_terminal_ui_runs_on_a_real_terminal_and_says_how_to_come_back(
    env: dict[str, str], session: AgentSession
) -> None:
    await session.prompt("hello")
    async with terminal("tui", session.id, env={**env, "COLUMNS": "100", "LINES": "30"}) as person:
        await person.until("You said: “hello”.")
        person.type("\x11")
        await person.until(f"turnwise tui {session.id}")
        assert await person.exit_code() == 0


# In scripts


async def test_a_transcript_that_was_written_to_a_file_goes_on_in_another_session(
    env: dict[str, str], world: World, tmp_path: Path
) -> None:
    created = await turnwise("sessions", "create", "--no-strict", "--timeout", "5", "--json", env=env)
    first = json.loads(created.out)
    assert (first["state"], first["session_timeout_sec"], first["interactive_require_user_reply"]) == ("open", 5, False)
    answered = await turnwise("sessions", "prompt", first["session_id"], "hello", "--wait", "--json", env=env)
    assert (answered.code, json.loads(answered.out)["state"]) == (0, "succeeded")
    written = await turnwise("sessions", "transcript", first["session_id"], "--json", env=env)
    file = tmp_path / "transcript.json"
    file.write_text(written.out)
    other = await world.turnwise.create_session()
    resumed = await turnwise("sessions", "resume", other.id, str(file), "--json", env=env)
    assert (resumed.code, json.loads(resumed.out)["total_entries"]) == (0, 2)
    assert [entry.wire() for entry in await other.transcript()] == json.loads(written.out)["entries"]
    readable = await turnwise("sessions", "transcript", other.id, env=env)
    assert [line.split(maxsplit=2)[:2] for line in readable.out.splitlines()] == [["0", "user"], ["1", "agent"]]


async def test_a_fork_keeps_what_was_said_before_an_entry_and_both_are_listed(
    env: dict[str, str], world: World, session: AgentSession
) -> None:
    await session.prompt("one")
    await session.prompt("two")
    forked, refused = await asyncio.gather(
        turnwise("sessions", "fork", session.id, "--at", "2", env=env),
        turnwise("sessions", "fork", session.id, "--at", "1", "--json", env=env),
    )
    fork = world.turnwise.session(forked.out.strip())
    assert await answers(fork) == (await answers(session))[:2]
    assert (refused.code, refused.out) == (1, "")
    assert json.loads(refused.err) == {
        "code": "INVALID_FORK_ENTRY_INDEX",
        "detail": "There is no prompt of the user at entry 1.",
        "index": 1,
    }
    listed = await turnwise("sessions", "list", "--limit", "2", env=env)
    rows = {line.split()[0]: line for line in listed.out.splitlines()[1:]}
    assert list(rows) == [fork.id, session.id]
    assert all(" idle " in row for row in rows.values())
    assert rows[fork.id].rstrip().endswith("(a fork)")
    assert rows[session.id].rstrip().endswith("one")
    await fork.close()


async def test_a_session_at_work_is_shown_refuses_queues_is_cleared_and_canceled(
    env: dict[str, str], session: AgentSession
) -> None:
    started = await turnwise("sessions", "prompt", session.id, "slow", "--options", json.dumps(SLOW), "--json", env=env)
    run_id = json.loads(started.out)["run_id"]
    run = await session.active_run()
    assert run is not None
    await until_state(run, State.RUNNING)
    refused, queued = await asyncio.gather(
        turnwise("sessions", "prompt", session.id, "no", "--json", env=env),
        turnwise("sessions", "prompt", session.id, "later", "--follow-up", env=env),
    )
    assert (refused.code, json.loads(refused.err)["code"]) == (1, "PROMPT_ALREADY_RUNNING")
    assert queued.out.startswith("✓ The prompt is queued")
    ui = {**env, "TURNWISE_TEMPORAL_UI_URL": "http://temporal.example"}
    shown, as_json, pending = await asyncio.gather(
        turnwise("sessions", "show", session.id, env=ui),
        turnwise("sessions", "show", session.id, "--json", env=ui),
        turnwise("sessions", "pending", session.id, env=env),
    )
    link = f"http://temporal.example/namespaces/default/workflows/{session.id}"
    for words in ("at work", run_id, "1 (queued prompt: 1)", "1 from the user", link):
        assert words in shown.out
    found = json.loads(as_json.out)
    assert (found["active_run_id"], found["stats"]["user_messages"], found["temporal_ui_url"]) == (run_id, 1, link)
    assert [item["text_preview"] for item in found["pending"]] == ["later"]
    assert pending.out.splitlines()[1].split() == ["queued", "queued", "prompt", "later"]
    cleared = await turnwise("sessions", "pending", session.id, "--clear", "--json", env=env)
    assert json.loads(cleared.out) == {"queued_removed": 1, "resolved_removed": 0, "active_prompt_canceled": False}
    canceled = await turnwise("sessions", "cancel", session.id, "--wait", env=env)
    assert canceled.out.startswith("✓ The prompt is canceled")
    assert (await run.view()).state is State.CANCELED
    again = await turnwise("sessions", "cancel", session.id, "--json", env=env)
    assert (again.code, json.loads(again.out)["active_prompt_canceled"]) == (0, False)


async def test_a_prompt_that_is_waited_for_tells_its_question_and_exits_as_it_ended(
    env: dict[str, str], session: AgentSession
) -> None:
    prompt = ("sessions", "prompt", session.id, "--wait", "--options")
    asking = asyncio.create_task(turnwise(*prompt, json.dumps(CONFIRM), "decide", env=env))
    run = await until(session.active_run, lambda run: run is not None)
    assert run is not None
    await until_asked(run)
    await run.reply(1, True)
    asked = await asking
    assert (asked.code, asked.out) == (0, "Gone on: true.\n")
    assert "Go on?" in asked.err
    assert f"turnwise reply {run.id} 1 true" in asked.err
    fails: JsonObject = {"turns": [[{"fail": "The upstream is down."}]]}
    failed = await turnwise(*prompt, json.dumps(fails), "try", env=env)
    assert (failed.code, failed.out, failed.err) == (1, "", "The upstream is down. (TURN_FAILED)\n")
    waiting = asyncio.create_task(turnwise(*prompt, json.dumps(SLOW), "slow", env=env))
    await until(session.active_run, lambda run: run is not None)
    await session.cancel_active_prompt()
    assert (await waiting).code == 130


async def test_the_history_of_a_queue_is_shown_and_forgotten(env: dict[str, str], session: AgentSession) -> None:
    receipt = await session.follow_up("done")
    await session.result(receipt.prompt_id)
    shown = await turnwise("sessions", "pending", session.id, "--all", "--max-length", "2", "--json", env=env)
    item = json.loads(shown.out)["items"][0]
    assert (item["text_preview"], item["status"]) == ("do...", ItemStatus.RESOLVED)
    forgotten = await turnwise("sessions", "pending", session.id, "--clear-history", env=env)
    assert forgotten.out == "✓ 0 removed from the queue, 1 from its history.\n"
    assert await session.pending_messages(include_resolved=True) == []


async def test_tools_are_added_switched_and_removed(env: dict[str, str], session: AgentSession) -> None:
    tools = ("sessions", "tools")
    none = await turnwise(*tools, "list", session.id, env=env)
    assert (none.code, none.out) == (0, "")
    assert none.err.startswith("This session has no tools.")
    added = await turnwise(*tools, "add", session.id, "text.count", env=env)
    assert added.out.splitlines()[1].split()[:3] == ["text.count", "native", "yes"]
    disabled = await turnwise(*tools, "disable", session.id, "text.count", env=env)
    assert disabled.out == "✓ text.count may not be called any more.\n"
    assert await session.active_tool_names() == []
    enabled = await turnwise(*tools, "enable", session.id, "text.count", "--json", env=env)
    assert [tool["enabled"] for tool in json.loads(enabled.out)["tools"]] == [True]
    await turnwise(*tools, "remove", session.id, "text.count", env=env)
    assert await session.tool_descriptors() == []


async def test_a_session_is_watched_from_a_cursor_over_all_of_its_runs_until_it_is_closed(
    env: dict[str, str], session: AgentSession
) -> None:
    await session.prompt("one")
    cursor = (await session.view()).last_seq
    watching = asyncio.create_task(
        turnwise("sessions", "watch", session.id, "--cursor", str(cursor - 1), "--json", env=env)
    )
    await session.prompt("two")
    readable = await turnwise("sessions", "watch", session.id, "--no-follow", env=env)
    assert [line.split()[1] for line in readable.out.splitlines()] == [str(seq) for seq in range(1, 2 * cursor + 1)]
    closed = await turnwise("sessions", "close", session.id, env=env)
    assert closed.out == "✓ The session is closed.\n"
    watched = await watching
    log = [json.loads(line) for line in watched.out.splitlines()]
    assert [event["meta"]["session_seq"] for event in log] == list(range(cursor, 2 * cursor + 1))
    assert len({event["run_id"] for event in log}) == 2


# What goes wrong


async def test_what_is_refused_of_a_session_is_told_in_one_sentence(
    env: dict[str, str], session: AgentSession, tmp_path: Path
) -> None:
    nobody = "There is no session 'nobody'."
    no_json = tmp_path / "no.json"
    no_json.write_text("{broken")
    no_transcript = tmp_path / "no_transcript.json"
    no_transcript.write_text('{"entries": [{"kind": "song"}]}')
    refused = [
        (["show", "nobody"], nobody),
        (["prompt", "nobody", "hello"], nobody),
        (["transcript", "nobody"], nobody),
        (["watch", "nobody"], nobody),
        (["close", "nobody"], nobody),
        (["cancel", "nobody"], nobody),
        (["pending", "nobody"], nobody),
        (["tools", "list", "nobody"], nobody),
        (["tools", "add", session.id, "no.such.tool"], "There is no native tool 'no.such.tool'"),
        (["tools", "remove", session.id, "no.such.tool"], "The session has no tool 'no.such.tool'"),
        (["resume", session.id, str(tmp_path / "none.json")], f"The file {tmp_path / 'none.json'} cannot be read"),
        (["resume", session.id, str(no_json)], f"The file {no_json} is not valid JSON"),
        (["resume", session.id, str(no_transcript)], "entries.0"),
    ]
    results = await asyncio.gather(*(turnwise("sessions", *arguments, env=env) for arguments, _ in refused))
    for (arguments, words), result in zip(refused, results, strict=True):
        assert (result.code, result.out) == (1, ""), arguments
        assert result.err.startswith(words), arguments
        assert result.err.count("\n") == 1

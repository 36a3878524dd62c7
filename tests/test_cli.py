"""The command line as people and scripts use it: real processes, a real terminal, the real server."""

import asyncio
import json
import re
from pathlib import Path

from tests.command_line import TURNWISE, environment, terminal, turnwise
from tests.ports import free_port
from tests.world import ASK_THEN_ANSWER, World, until_asked, until_state
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.statechart import State

SCRIPT = json.dumps(ASK_THEN_ANSWER)


def is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


# On a terminal


async def test_on_a_terminal_a_run_asks_again_until_the_answer_fits(env: dict[str, str]) -> None:
    script = {
        "turns": [
            [
                {"say": "Let me see."},
                {"tool": {"name": "look", "arguments": {"where": "kitchen"}, "result": "both"}},
                {
                    "ask": {
                        "kind": "choose_one",
                        "prompt": "Tea or coffee?",
                        "options": [{"label": "Black tea", "value": "tea"}, {"label": "Coffee", "value": "coffee"}],
                    }
                },
            ],
            [
                {
                    "ask": {
                        "kind": "fill_fields",
                        "prompt": "For whom?",
                        "required_fields": ["name", "cups"],
                        "response_schema": {"properties": {"cups": {"type": "integer", "maximum": 9}}},
                    }
                }
            ],
            [{"ask": {"kind": "risk_ack", "prompt": "It is hot. Go on?"}}],
            [{"final": "Here it is: {reply}."}],
        ]
    }
    async with terminal("run", "drinks", "--options", json.dumps(script), env=env) as person:
        await person.until("Let me see.")
        await person.until("look(where=kitchen)")
        await person.until("Tea or coffee?")
        await person.until("Your choice:")
        person.type("3\n")
        await person.until("Not accepted: Please type one of 1, 2, or its name.")
        await person.until("Your choice:")
        person.type("2\n")
        await person.until("name:")
        person.type("Ann\n")
        await person.until("cups:")
        person.type("10\n")
        await person.until("Not accepted:")
        await person.until("name [Ann]:")
        person.type("\n")
        await person.until("cups [10]:")
        person.type("2\n")
        await person.until("It is hot. Go on?")
        await person.until("(y/n):")
        person.type("\n")
        await person.until("Please type y or n.")
        person.type("y\n")
        await person.until("Here it is: true.")
        await person.until("Succeeded in 4 turns")
        assert await person.exit_code() == 0


async def test_on_a_terminal_an_answer_from_elsewhere_takes_the_question_away(
    env: dict[str, str], world: World
) -> None:
    async with terminal("run", "--options", SCRIPT, env=env) as person:
        await person.until("Run ")
        await person.until("Your answer:")
        person.type("half an ans")
        run_id = re.findall(r"run-[0-9a-f-]{36}", person.screen)[0]
        await world.turnwise.run(run_id).reply(1, "blue")
        await person.until("Answered elsewhere: blue")
        await person.until("It is blue.")
        assert await person.exit_code() == 0


async def test_on_a_terminal_the_deadline_takes_the_question_away(env: dict[str, str]) -> None:
    async with terminal("run", "--options", SCRIPT, "--no-strict", "--timeout", "0.5", env=env) as person:
        await person.until("Without a reply, the agent decides in")
        await person.until("Nobody replied in time; the agent decides by itself.")
        assert await person.exit_code() == 0


async def test_ctrl_c_leaves_the_run_running_and_says_how_to_come_back(env: dict[str, str], world: World) -> None:
    async with terminal("run", "--options", SCRIPT, env=env) as person:
        await person.until("Your answer:")
        person.type("\x03")
        await person.until("The run goes on.")
        assert await person.exit_code() == 130
        run_id = re.findall(r"run-[0-9a-f-]{36}", person.screen)[0]
        for command in (f"turnwise events {run_id}", f"turnwise cancel {run_id}", f"turnwise reply {run_id} 1 "):
            assert command in person.screen
    assert (await world.turnwise.run(run_id).view()).state is State.WAITING_USER


# In scripts


async def test_a_run_in_a_script_stops_at_its_question_and_goes_on_after_the_reply(
    env: dict[str, str], world: World
) -> None:
    started = await turnwise("run", "Paint it", "--options", SCRIPT, "--json", env=env)
    log = [json.loads(line) for line in started.out.splitlines()]
    assert (started.code, started.err) == (0, "")
    assert log[-1]["type"] == "user.input.required"
    run_id = log[0]["run_id"]
    receipt = await turnwise("reply", run_id, "1", "42", "--reply-id", "r1", "--json", env=env)
    again, late = await asyncio.gather(
        turnwise("reply", run_id, "1", "42", "--reply-id", "r1", "--json", env=env),
        turnwise("reply", run_id, "1", "43", "--json", env=env),
    )
    assert receipt.code == 0
    assert json.loads(receipt.out).keys() == {"run_id", "interaction_id", "reply_id", "accepted_at"}
    assert again == receipt
    assert (late.code, late.out) == (1, "")
    assert json.loads(late.err)["code"] == "INTERACTION_ALREADY_ANSWERED"
    followed = await turnwise("events", run_id, "--cursor", "4", "--json", env=env)
    stored = await world.store.events(run_id, after=4)
    assert followed.out.splitlines() == [event.body for event in stored]
    assert json.loads(followed.out.splitlines()[0])["data"]["response"] == "42"


async def test_a_run_in_a_script_can_be_waited_for(env: dict[str, str], world: World) -> None:
    run = await world.turnwise.start(engine_options=ASK_THEN_ANSWER, idempotency_key="waited-for")
    watching = asyncio.create_task(
        turnwise("run", "--options", SCRIPT, "--idempotency-key", "waited-for", "--wait", env=env)
    )
    await until_asked(run)
    await run.reply(1, "blue")
    result = await watching
    assert result.code == 0
    assert "It is blue." in result.out


async def test_a_run_that_fails_exits_with_1_and_its_text_cannot_control_the_terminal(env: dict[str, str]) -> None:
    script = {"turns": [[{"say": "\x1b]0;owned\x07[bold]plain[/bold]"}, {"fail": "no \x1b[2Jpaint"}]]}
    result = await turnwise("run", "--options", json.dumps(script), env=env)
    assert result.code == 1
    assert "[bold]plain[/bold]" in result.out
    assert "(TURN_FAILED)" in result.out
    assert "\x1b" not in result.out


async def test_a_run_that_is_canceled_meanwhile_exits_with_130(env: dict[str, str], world: World) -> None:
    options: JsonObject = {"turns": [[{"say": "Working."}, {"sleep": 60}]]}
    run = await world.turnwise.start(engine_options=options, idempotency_key="canceled")
    arguments = ["run", "--options", json.dumps(options), "--idempotency-key", "canceled", "--json"]
    watching = asyncio.create_task(turnwise(*arguments, env=env))
    await until_state(run, State.RUNNING)
    canceled = await turnwise("cancel", run.id, "--wait", "--json", env=env)
    assert (canceled.code, json.loads(canceled.out)["state"]) == (0, "canceled")
    assert (await watching).code == 130


async def test_runs_are_listed_page_by_page(env: dict[str, str], world: World) -> None:
    for number in range(3):
        run = await world.turnwise.start(f"Job [{number}]", engine_options={"turns": [[]]})
        await run.wait()
    first = json.loads((await turnwise("runs", "--limit", "1", "--state", "succeeded", "--json", env=env)).out)
    assert [run["prompt_preview"] for run in first["runs"]] == ["Job [2]"]
    second = await turnwise("runs", "--limit", "1", "--state", "succeeded", "--cursor", first["next_cursor"], env=env)
    assert "Job [1]" in second.out
    assert second.out.splitlines()[1].split()[1:3] == ["succeeded", "completed"]
    assert len(second.out.splitlines()) == 2
    assert re.match(r"More: \S*turnwise runs --cursor \S+\n$", second.err)


async def test_a_pipe_that_closes_early_is_no_error(env: dict[str, str]) -> None:
    shell = f"{TURNWISE} runs --limit 200 | head -c 3"
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", shell, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    assert out == b"RUN"
    assert b"Traceback" not in err
    assert b"roken pipe" not in err


async def test_events_are_readable(env: dict[str, str], world: World) -> None:
    run = await world.turnwise.start("Paint it", engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    result = await turnwise("events", run.id, "--no-follow", env=env)
    lines = [line.split(maxsplit=3) for line in result.out.splitlines()]
    assert [line[1:3] for line in lines] == [
        ["1", "conversation.started"],
        ["2", "conversation.state.changed"],
        ["3", "conversation.state.changed"],
        ["4", "user.input.required"],
    ]
    assert lines[2][3].strip() == "running → waiting_user"
    assert "Which colour?" in lines[3][3]


async def test_who_follows_the_events_sees_the_status_between_them(env: dict[str, str], world: World) -> None:
    run = await world.turnwise.start("Paint it", engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    process = await asyncio.create_subprocess_exec(TURNWISE, "events", run.id, env=env, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    while b"user.input.required" not in await process.stdout.readline():
        pass
    await run.reply(1, "blue")
    rest, _ = await process.communicate()
    told = [line.split()[-2:] for line in rest.decode().splitlines() if line.split()[1] == "status"]
    assert told[-1] == ["completed", "(run_succeeded)"]
    assert rest.decode().splitlines()[-2].split()[2] == "conversation.completed"


# The doctor


async def test_the_doctor_finds_everything_that_runs(env: dict[str, str]) -> None:
    result = await turnwise("doctor", env=env)
    assert result.code == 0, result.out
    assert "Everything that is needed is here." in result.out


async def test_the_doctor_says_what_is_missing_hides_passwords_and_changes_nothing(
    env: dict[str, str], tmp_path: Path
) -> None:
    database = f"postgresql://someone:sesame@127.0.0.1:{free_port()}/db?password=sesame"
    missing = {"TURNWISE_TASK_QUEUE": "nobody-works-here", "TURNWISE_DATABASE_URL": database}
    # Without a server that somebody else runs: all is well before the first `turnwise up`, and nothing is made.
    ports = {name: str(free_port()) for name in ("TURNWISE_API_PORT", "TURNWISE_TEMPORAL_PORT")}
    alone, lacking = await asyncio.gather(
        turnwise("doctor", env=environment(**ports), cwd=tmp_path),
        turnwise("doctor", "--json", env={**env, **missing}, cwd=tmp_path),
    )
    assert alone.code == 0, alone.out
    assert "Start everything with `turnwise up`." in alone.out
    found = json.loads(lacking.out)
    advice = {check["name"]: check["advice"] for check in found["checks"] if check["status"] == "missing"}
    assert (lacking.code, found["ok"]) == (1, False)
    assert advice.keys() == {"Workers", "Database"}
    assert all(advice.values())
    assert "sesame" not in lacking.out + lacking.err
    assert is_empty(tmp_path)

"""What the command line says, and exits with, when something goes wrong: one sentence and no traceback."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from tests.command_line import Result, environment, turnwise
from tests.ports import free_port
from tests.world import ASK_THEN_ANSWER, World, until_asked
from turnwise.fcmp.jsonvalue import JsonObject


def is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


REFUSED = [
    (["events", "run-nobody"], 1, "There is no run 'run-nobody'."),
    (["runs", "--cursor", "nonsense"], 1, "This is not a cursor that a list has given."),
    (["run", "--options", "{broken"], 2, "--options is not valid JSON"),
    (["run", "--engine", "diesel"], 2, "There is no engine 'diesel'."),
    (["run", "--options", '{"turns": [[{"sing": "la"}]]}'], 2, "engine_options.turns.0.0"),
    (["runs", "--temporal-port", "99999"], 2, "--temporal-port cannot be '99999'"),
    (["sessions", "create", "--engine", "diesel"], 2, "There is no engine 'diesel'."),
]


async def test_what_is_refused_is_told_in_one_sentence(env: dict[str, str]) -> None:
    results = await asyncio.gather(*(turnwise(*arguments, env=env) for arguments, _, _ in REFUSED))
    for (arguments, code, words), result in zip(REFUSED, results, strict=True):
        assert (result.code, result.out) == (code, ""), arguments
        assert result.err.startswith(words)
        assert result.err.count("\n") == 1


async def test_a_reply_that_nobody_takes_can_be_sent_again_with_the_command_that_is_shown(
    env: dict[str, str], world: World
) -> None:
    nobody_works_here = {**env, "TURNWISE_TASK_QUEUE": "nobody-works-here"}
    run_id = (await turnwise("run", "--options", json.dumps(ASK_THEN_ANSWER), "--detach", env=nobody_works_here)).out
    run = world.turnwise.run(run_id.strip())
    for_people, for_machines = await asyncio.gather(
        turnwise("reply", run.id, "1", "sky  blue", env=nobody_works_here),
        turnwise("reply", run.id, "1", "sky  blue", "--reply-id", "r1", "--json", env=nobody_works_here),
    )
    assert (for_people.code, for_people.out) == (1, "")
    what, again, _ = for_people.err.split("\n")
    assert what == "No worker could take the reply. To send it again:"
    assert re.fullmatch(rf"  \S*turnwise reply {run.id} 1 'sky  blue' --reply-id [0-9a-f-]{{36}}", again)
    assert (for_machines.code, json.loads(for_machines.err)["reply_id"]) == (1, "r1")
    await world.temporal.get_workflow_handle(run.id).terminate()


async def test_a_namespace_that_does_not_exist_is_named(env: dict[str, str]) -> None:
    result = await turnwise("run", "hello", "--detach", env={**env, "TEMPORAL_NAMESPACE": "nope"})
    words = "The Temporal server has no namespace 'nope': make it, or correct TEMPORAL_NAMESPACE.\n"
    assert result == Result(1, "", words)


async def test_a_reply_that_does_not_fit_is_refused_with_the_reason(env: dict[str, str], world: World) -> None:
    ask: JsonObject = {"ask": {"kind": "confirm", "prompt": "Sure?"}}
    run = await world.turnwise.start(engine_options={"turns": [[ask]]})
    await until_asked(run)
    unfit, stale = await asyncio.gather(
        turnwise("reply", run.id, "1", "perhaps", env=env), turnwise("reply", run.id, "7", "true", "--json", env=env)
    )
    assert unfit == Result(1, "", "A confirm is answered with true or false.\n")
    assert (stale.code, stale.out) == (1, "")
    assert json.loads(stale.err)["code"] == "INTERACTION_STALE"


async def test_a_server_or_database_that_does_not_answer_is_told_in_one_sentence(env: dict[str, str]) -> None:
    port = free_port()
    database = f"postgresql://someone:sesame@127.0.0.1:{port}/db?password=sesame"
    no_server, no_database = await asyncio.gather(
        turnwise("runs", env={**env, "TEMPORAL_ADDRESS": f"127.0.0.1:{port}"}),
        turnwise("runs", env={**env, "TURNWISE_DATABASE_URL": database}),
    )
    assert no_server == Result(1, "", f"No Temporal server answers at 127.0.0.1:{port} (check TEMPORAL_ADDRESS).\n")
    assert (no_database.code, no_database.out, no_database.err.count("\n")) == (1, "", 1)
    assert no_database.err.startswith("The database cannot be used now")
    assert "sesame" not in no_database.err


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("TURNWISE_API_PORT", "abc", "input should be a valid integer"),
        ("TURNWISE_LOG_LEVEL", "loud", "input should be 'debug', 'info', 'warning' or 'error'"),
    ],
)
async def test_a_bad_setting_is_named_with_what_it_may_be(
    env: dict[str, str], variable: str, value: str, words: str
) -> None:
    result = await turnwise("runs", env={**env, variable: value})
    assert result == Result(1, "", f"{variable} cannot be '{value}': {words}.\n")


async def test_looking_for_runs_in_the_wrong_folder_makes_no_database_there(tmp_path: Path) -> None:
    result = await turnwise("runs", env=environment(), cwd=tmp_path)
    assert result.code == 1
    assert f"There is no Turnwise in {tmp_path}/.turnwise" in result.err
    assert is_empty(tmp_path)

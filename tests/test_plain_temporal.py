"""Services that know only Temporal: start, signal, cancel, query and the UI, with no Turnwise client."""

import pytest
from temporalio.api.sdk.v1 import WorkflowMetadata
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import ApplicationError

from tests.world import ASK, ASK_THEN_ANSWER, World, until, until_asked, until_event, until_state
from turnwise.client import Run
from turnwise.fcmp.events import EventType
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.ordering import violations
from turnwise.statechart import State

RUN_STATE = SearchAttributeKey.for_keyword("RunState")
SESSION_ID = SearchAttributeKey.for_keyword("SessionId")

Handle = WorkflowHandle[object, object]


@pytest.fixture
async def plain(temporal: Client) -> Client:
    """A client as another service has it: JSON in, JSON out."""
    return await Client.connect(temporal.service_client.config.target_host)


async def start(plain: Client, world: World, name: str, *args: object) -> Handle:
    return await plain.start_workflow("RunWorkflow", args=list(args), id=name, task_queue=world.task_queue)


async def registered(world: World, run_id: str) -> Run:
    """The run, once its workflow has brought it into the store."""
    await until(lambda: world.turnwise.runs(limit=200), lambda page: run_id in {run.run_id for run in page.runs})
    return world.turnwise.run(run_id)


async def failure(handle: Handle) -> ApplicationError:
    with pytest.raises(WorkflowFailureError) as raised:
        await handle.result()
    assert isinstance(raised.value.cause, ApplicationError)
    return raised.value.cause


async def test_a_service_starts_signals_and_gets_the_answer_as_the_workflows_result(
    plain: Client, fresh_world: World
) -> None:
    request: JsonObject = {"prompt": "Paint", "engine_options": ASK_THEN_ANSWER, "session_id": "house-7"}
    handle = await start(plain, fresh_world, "order-1-" + fresh_world.task_queue, request)
    run = await registered(fresh_world, handle.id)
    await until_asked(run)
    assert await handle.query("state") == "waiting_user"
    attributes = (await handle.describe()).typed_search_attributes
    assert (attributes.get(RUN_STATE), attributes.get(SESSION_ID)) == ("waiting_user", "house-7")
    await handle.signal("reply", {"interaction_id": 1, "response": "blue"})
    result = await handle.result()
    assert isinstance(result, dict)
    assert (result["state"], result["output"]) == ("succeeded", "It is blue.")
    assert (await handle.describe()).typed_search_attributes.get(RUN_STATE) == "succeeded"
    assert violations(await run.history()) == []


async def test_a_bad_signal_changes_nothing_and_is_published_as_a_warning(plain: Client, world: World) -> None:
    handle = await start(plain, world, "bad-signals", {"engine_options": ASK_THEN_ANSWER})
    run = await registered(world, handle.id)
    await until_asked(run)
    bad: list[list[object]] = [
        [],
        ["blue"],
        [{"interaction_id": 7, "response": "blue"}],
        [{"interaction_id": 1, "response": 5}],
        [{"interaction_id": 1, "response": "blue", "colour": 3}],
    ]
    reasons = []
    cursor = 0
    for args in bad:
        await handle.signal("reply", args=args)
        warning = await until_event(run, EventType.WARNING, cursor)
        cursor = warning.seq
        assert warning.data["code"] == "REPLY_SIGNAL_REFUSED"
        details = warning.data["details"]
        assert isinstance(details, dict)
        reasons.append(details["reason"])
    assert reasons == [
        "REPLY_MALFORMED",
        "REPLY_MALFORMED",
        "INTERACTION_STALE",
        "RESPONSE_INVALID",
        "REPLY_MALFORMED",
    ]
    assert (await run.view()).state is State.WAITING_USER
    await handle.signal("reply", {"interaction_id": 1, "response": "blue", "reply_id": "s-1"})
    await handle.signal("reply", {"interaction_id": 1, "response": "blue", "reply_id": "s-1"})
    await handle.result()
    assert violations(await run.history()) == []


async def test_a_signal_that_comes_before_the_first_turn_is_refused_and_the_run_lives(
    plain: Client, world: World
) -> None:
    handle = await plain.start_workflow(
        "RunWorkflow",
        {"engine_options": ASK_THEN_ANSWER},
        id="early-signal",
        task_queue=world.task_queue,
        start_signal="reply",
        start_signal_args=[{"interaction_id": 1, "response": "early"}],
    )
    run = await registered(world, handle.id)
    await until_asked(run)
    assert [e.data["code"] for e in await run.history() if e.type == EventType.WARNING] == ["REPLY_SIGNAL_REFUSED"]
    await handle.signal("reply", {"interaction_id": 1, "response": "blue"})
    await handle.result()


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["just text"],
        [None],
        [{"promt": "typo"}],
        [{"session_timeout_sec": -1}],
        [{"prompt": {"not": "text"}}],
        [7, 8],
    ],
    ids=str,
)
async def test_an_input_that_cannot_be_read_fails_the_workflow_with_a_clear_error(
    plain: Client, world: World, args: list[object]
) -> None:
    handle = await start(plain, world, f"bad-input-{args}", *args)
    assert (await failure(handle)).type == "RUN_INPUT_INVALID"


async def test_an_unknown_engine_and_a_malformed_script_fail_the_run_honestly(plain: Client, world: World) -> None:
    unknown = await start(plain, world, "unknown-engine", {"engine": "gpt-12"})
    malformed = await start(plain, world, "malformed-script", {"engine_options": {"turns": [[{"shout": "x"}]]}})
    assert (await failure(unknown)).type == "ENGINE_UNKNOWN"
    assert (await failure(malformed)).type == "ENGINE_OPTIONS_INVALID"
    run = world.turnwise.run(unknown.id)
    assert (await run.view()).state is State.FAILED
    assert violations(await run.history()) == []
    assert (await unknown.describe()).status is WorkflowExecutionStatus.FAILED


async def test_a_workflow_id_used_again_does_not_continue_the_log_of_the_first_run(plain: Client, world: World) -> None:
    first = await start(plain, world, "twice", {"engine_options": {"turns": [[{"final": "first"}]]}})
    await first.result()
    before = await world.turnwise.run("twice").history()
    second = await start(plain, world, "twice", {"engine_options": {"turns": [[{"final": "second"}]]}})
    assert (await failure(second)).type == "RUN_ID_TAKEN"
    assert await world.turnwise.run("twice").history() == before


async def test_the_temporal_ui_shows_the_state_of_a_long_turn_and_what_it_waits_for(
    plain: Client, world: World
) -> None:
    script: JsonObject = {"turns": [[{"sleep": 1}, ASK], [{"final": "ok"}]]}
    run = await world.turnwise.start("Choose a colour", engine_options=script)
    handle = plain.get_workflow_handle(run.id)
    await until_state(run, State.RUNNING)
    assert await until(lambda: handle.query("state"), lambda state: state != "queued") == "running"
    await until_asked(run)
    metadata = await handle.query("__temporal_workflow_metadata", result_type=WorkflowMetadata)
    assert "Which colour?" in metadata.current_details
    assert await (await handle.describe()).static_summary() == "scripted: Choose a colour"
    await run.reply(1, "blue")
    await run.wait()

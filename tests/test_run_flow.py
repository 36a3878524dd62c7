"""The life of runs on the real server: questions, replies, deadlines, failures, limits."""

import asyncio

import pytest

from tests.world import ANSWER, ASK, ASK_THEN_ANSWER, World, until_asked, until_event
from turnwise.client import Run
from turnwise.errors import (
    AlreadyAnswered,
    EngineOptionsInvalid,
    EngineUnknown,
    InteractionStale,
    NotWaiting,
    ReplyMalformed,
    ResponseInvalid,
    RunNotFound,
)
from turnwise.fcmp.events import EventType, FcmpEvent, Mode
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.fcmp.ordering import violations
from turnwise.statechart import State
from turnwise.workflows.replies import Receipt

ASK_WITH_DEFAULT: JsonObject = {
    "ask": {
        "kind": "choose_one",
        "prompt": "Which one?",
        "options": [{"label": "One", "value": 1}, {"label": "Two", "value": 2}],
        "default": 2,
        "default_decision_policy": "use_default",
    }
}


def types(log: list[FcmpEvent]) -> list[str]:
    return [event.type.value for event in log]


async def ended(run: Run) -> tuple[State, list[FcmpEvent]]:
    """How the run ended, and its log, which must keep every rule."""
    view = await run.wait()
    log = await run.history()
    assert violations(log) == []
    assert view.last_seq == len(log)
    return view.state, log


async def test_a_run_asks_waits_for_the_reply_and_completes(fresh_world: World) -> None:
    run = await fresh_world.turnwise.start("Paint it", engine_options=ASK_THEN_ANSWER)
    asked = await until_asked(run)
    receipt = await run.reply(1, "blue")
    state, log = await ended(run)
    assert state is State.SUCCEEDED
    assert (receipt.interaction_id, receipt.run_id) == (1, run.id)
    assert asked.data["prompt"] == "Which colour?"
    assert types(log) == [
        "conversation.started",
        "conversation.state.changed",
        "conversation.state.changed",
        "user.input.required",
        "interaction.reply.accepted",
        "conversation.state.changed",
        "conversation.state.changed",
        "assistant.message.final",
        "conversation.state.changed",
        "conversation.completed",
    ]
    assert log[7].data["text"] == "It is blue."


async def test_a_strict_run_reports_its_deadline_once_and_keeps_waiting(fresh_world: World) -> None:
    run = await fresh_world.turnwise.start(engine_options=ASK_THEN_ANSWER, session_timeout_sec=0.1)
    warning = await until_event(run, EventType.WARNING)
    assert warning.data["code"] == "SESSION_TIMEOUT_ELAPSED"
    assert (await run.view()).state is State.WAITING_USER
    await run.reply(1, "late but welcome")
    state, log = await ended(run)
    assert state is State.SUCCEEDED
    assert types(log).count("diagnostic.warning") == 1


async def test_a_run_that_is_not_strict_lets_the_engine_decide_at_the_deadline(fresh_world: World) -> None:
    run = await fresh_world.turnwise.start(
        engine_options=ASK_THEN_ANSWER, interactive_require_user_reply=False, session_timeout_sec=0.05
    )
    state, log = await ended(run)
    decided = next(event for event in log if event.type == EventType.AUTO_DECIDED)
    assert state is State.SUCCEEDED
    assert decided.data["policy"] == "engine_judgement"
    assert decided.data["resolution_mode"] == "auto_decide_timeout"
    assert (await run.view()).auto_decision_count == 1


async def test_the_deadline_takes_the_questions_own_default_when_it_says_so(world: World) -> None:
    options: JsonObject = {"turns": [[ASK_WITH_DEFAULT], [ANSWER]]}
    run = await world.turnwise.start(
        engine_options=options, interactive_require_user_reply=False, session_timeout_sec=0.05
    )
    _, log = await ended(run)
    decided = next(event for event in log if event.type == EventType.AUTO_DECIDED)
    assert (decided.data["policy"], decided.data["response"]) == ("use_default", 2)
    assert next(e for e in log if e.type == EventType.MESSAGE_FINAL).data["text"] == "It is 2."


async def test_an_auto_run_decides_every_question_at_once_through_the_same_chart(world: World) -> None:
    run = await world.turnwise.start(engine_options={"turns": [[ASK], [ASK], [ANSWER]]}, mode=Mode.AUTO)
    state, log = await ended(run)
    changes = [(e.data["from"], e.data["to"]) for e in log if e.type == EventType.STATE_CHANGED]
    asking = [("queued", "running"), ("running", "waiting_user"), ("waiting_user", "queued")]
    assert state is State.SUCCEEDED
    assert changes == [*asking, *asking, ("queued", "running"), ("running", "succeeded")]
    assert (await run.view()).auto_decision_count == 2


async def test_a_question_after_the_last_attempt_fails_the_run(world: World) -> None:
    run = await world.turnwise.start(engine_options={"turns": [[ASK], [ASK], [ANSWER]]}, max_attempts=2)
    await until_asked(run)
    await run.reply(1, "go on")
    state, log = await ended(run)
    assert state is State.FAILED
    assert log[-1].data["error"] == {
        "code": "INTERACTIVE_MAX_ATTEMPT_EXCEEDED",
        "message": "The agent asked again after 2 attempts.",
    }


async def test_a_failing_turn_fails_the_run_and_keeps_the_unfinished_sentence_out_of_the_future(world: World) -> None:
    run = await world.turnwise.start(engine_options={"turns": [[{"say": "First."}, {"fail": "no more paint"}]]})
    state, log = await ended(run)
    view = await run.view()
    assert state is State.FAILED
    assert types(log)[-3:] == ["assistant.message.final", "conversation.state.changed", "conversation.failed"]
    assert view.error is not None
    assert (view.error.code, view.error.message) == ("TURN_FAILED", "no more paint")


async def test_tools_and_messages_appear_in_the_order_in_which_they_happened(world: World) -> None:
    tool: JsonObject = {"tool": {"name": "mix", "arguments": {"a": "blue"}, "result": {"is": "green"}}}
    run = await world.turnwise.start(engine_options={"turns": [[{"say": "Mixing."}, tool, {"final": "Green."}]]})
    _, log = await ended(run)
    assert types(log)[2:6] == ["assistant.message.final", "tool.call", "tool.result", "assistant.message.final"]
    assert log[3].data["call_id"] == log[4].data["call_id"]
    assert (log[4].data["status"], log[4].data["result"]) == ("completed", {"is": "green"})


async def test_of_replies_that_race_the_first_wins_and_the_others_get_its_receipt(fresh_world: World) -> None:
    run = await fresh_world.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    outcomes = await asyncio.gather(*(run.reply(1, f"colour {n}") for n in range(8)), return_exceptions=True)
    accepted = [outcome for outcome in outcomes if isinstance(outcome, Receipt)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, AlreadyAnswered)]
    assert (len(accepted), len(refused)) == (1, 7)
    for refusal in refused:
        receipt = refusal.details["receipt"]
        assert isinstance(receipt, dict)
        assert receipt["reply_id"] == accepted[0].reply_id
    _, log = await ended(run)
    assert types(log).count("interaction.reply.accepted") == 1


async def test_the_same_reply_id_gets_the_same_receipt_even_after_the_end(fresh_world: World) -> None:
    run = await fresh_world.turnwise.start(engine_options=ASK_THEN_ANSWER)
    await until_asked(run)
    receipts = await asyncio.gather(*(run.reply(1, "blue", reply_id="mine") for _ in range(3)))
    await run.wait()
    again = await run.reply(1, "blue", reply_id="mine")
    assert {receipt.model_dump_json() for receipt in [*receipts, again]} == {again.model_dump_json()}


async def test_a_reply_that_does_not_fit_is_refused_and_changes_nothing(world: World) -> None:
    options: JsonObject = {"turns": [[ASK_WITH_DEFAULT], [ANSWER]]}
    run = await world.turnwise.start(engine_options=options)
    await until_asked(run)
    before = await run.view()
    with pytest.raises(ResponseInvalid, match="one of the options"):
        await run.reply(1, "three")
    with pytest.raises(InteractionStale):
        await run.reply(2, 1)
    with pytest.raises(ReplyMalformed):
        await run.reply(0, 1)
    with pytest.raises(RunNotFound):
        await world.turnwise.run("no-such-run").reply(1, 1)
    assert await run.view() == before
    await run.reply(1, 1)
    assert (await ended(run))[0] is State.SUCCEEDED


async def test_a_reply_while_the_run_works_or_after_its_end_is_refused(world: World) -> None:
    run = await world.turnwise.start(engine_options={"turns": [[{"sleep": 0.3}, {"final": "done"}]]})
    with pytest.raises(NotWaiting):
        await run.reply(1, "too early")
    await run.wait()
    with pytest.raises(NotWaiting, match="succeeded"):
        await run.reply(1, "too late")


async def test_what_cannot_be_run_is_refused_before_it_starts(world: World) -> None:
    with pytest.raises(EngineUnknown, match="scripted"):
        await world.turnwise.start(engine="gpt-12")
    with pytest.raises(EngineOptionsInvalid, match=r"turns\.0\.0"):
        await world.turnwise.start(engine_options={"turns": [[{"say": "a", "fail": "b"}]]})


async def test_without_options_the_scripted_engine_asks_when_it_needs_to(world: World) -> None:
    asking = await world.turnwise.start("Shall we have tea or coffee?")
    question = await until_asked(asking)
    assert question.data["kind"] == "choose_one"
    await asking.reply(1, "tea")
    _, log = await ended(asking)
    answers = [str(event.data["text"]) for event in log if event.type == EventType.MESSAGE_FINAL]
    assert "tea" in answers[-1]
    direct = await world.turnwise.start("Hello there")
    _, log = await ended(direct)
    assert "user.input.required" not in types(log)

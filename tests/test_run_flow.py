"""The life of runs on the real server: questions, replies, deadlines, failures, cancellation."""

from turnwise.fcmp.ordering import violations
from turnwise.statechart import State

from tests.world import ASK_THEN_ANSWER, World, until_asked


async def test_a_run_asks_waits_for_the_reply_and_completes(fresh_world: World) -> None:
    run = await fresh_world.turnwise.start("Paint it", engine_options=ASK_THEN_ANSWER)
    asked = await until_asked(run)
    receipt = await run.reply(1, "blue")
    ended = await run.wait()
    log = await run.history()
    assert ended.state is State.SUCCEEDED
    assert (receipt.interaction_id, receipt.run_id) == (1, run.id)
    assert asked.data["prompt"] == "Which colour?"
    assert [event.type.value for event in log] == [
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
    assert violations(log) == []

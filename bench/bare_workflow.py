"""The yardstick: the two-turn run as one would write it by hand on Temporal, and nothing else.

One activity per turn, one Update for the reply. Kept in a file of its own, as Temporal's samples are, because the
sandbox loads a workflow's module anew for every run.
"""

from datetime import timedelta

from temporalio import activity, workflow

with workflow.unsafe.imports_passed_through():
    from bench.moments import asked

TURN_TIMEOUT = timedelta(minutes=1)


@activity.defn
async def take_turn(reply: str | None) -> str:
    return "Which colour?" if reply is None else f"It is {reply}."


@workflow.defn
class BareWorkflow:
    def __init__(self) -> None:
        self._reply: str | None = None

    @workflow.run
    async def run(self) -> str:
        await workflow.execute_activity(take_turn, None, start_to_close_timeout=TURN_TIMEOUT)
        asked(workflow.info().workflow_id)
        await workflow.wait_condition(lambda: self._reply is not None)
        return await workflow.execute_activity(take_turn, self._reply, start_to_close_timeout=TURN_TIMEOUT)

    @workflow.update
    def reply(self, text: str) -> None:
        self._reply = text

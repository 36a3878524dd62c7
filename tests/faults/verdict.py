"""What must be true of every run when all is over, whatever happened to the processes."""

from collections import Counter

import httpx
from temporalio.client import Client, WorkflowExecutionStatus

from tests.faults.journeys import Journey
from tests.faults.users import User
from turnwise.api.models import EventHistory, RunDetail
from turnwise.fcmp.events import EventType, FcmpEvent
from turnwise.fcmp.ordering import violations
from turnwise.statechart import State

CLOSED_AS = {
    State.SUCCEEDED: WorkflowExecutionStatus.COMPLETED,
    State.FAILED: WorkflowExecutionStatus.FAILED,
    State.CANCELED: WorkflowExecutionStatus.CANCELED,
}
MAX_EVENTS = 1000


async def judge(journey: Journey, user: User, http: httpx.AsyncClient, temporal: Client) -> list[str]:
    """Everything that is wrong with this run, in words."""
    if user.watcher is None:
        return [*user.complaints, "the run was never started"]
    view = RunDetail.model_validate((await http.get(f"/v1/runs/{user.run_id}")).json())
    path = f"/v1/runs/{user.run_id}/events/history?limit={MAX_EVENTS}"
    log = EventHistory.model_validate((await http.get(path)).json()).events
    return [
        *user.complaints,
        *user.watcher.complaints,
        *violations(log),
        *_end(journey, view),
        *_watched(user.watcher.seen, log),
        *_replies(user, log),
        *await _in_temporal(view, temporal),
    ]


def _end(journey: Journey, view: RunDetail) -> list[str]:
    end = (view.state, view.error.code if view.error else None)
    return [] if end in journey.ends else [f"it ended as {view.state.value}, {view.error}"]


def _watched(seen: list[FcmpEvent], log: list[FcmpEvent]) -> list[str]:
    return [] if seen == log else [f"its watcher saw {len(seen)} events, the log has {len(log)}"]


def _replies(user: User, log: list[FcmpEvent]) -> list[str]:
    """Whoever got a receipt is in the log, once; whoever lost was told the winner."""
    accepted = Counter(str(event.data["reply_id"]) for event in log if event.type is EventType.REPLY_ACCEPTED)
    promised = {*user.spoken.receipts, *user.spoken.signals}
    wrong = [
        f"reply '{each}' was accepted and is {accepted[each]} times in the log" for each in promised - _once(accepted)
    ]
    wrong += [f"reply '{each}' is {times} times in the log" for each, times in accepted.items() if times > 1]
    wrong += [
        f"reply '{loser}' was told that '{winner}' had won"
        for loser, winner in user.spoken.losers.items()
        if winner not in accepted or loser in accepted
    ]
    return wrong


def _once(accepted: Counter[str]) -> set[str]:
    return {reply_id for reply_id, times in accepted.items() if times == 1}


async def _in_temporal(view: RunDetail, temporal: Client) -> list[str]:
    description = await temporal.get_workflow_handle(view.run_id).describe()
    expected = CLOSED_AS.get(view.state)
    return [] if description.status is expected else [f"the store says {view.state}, Temporal {description.status}"]

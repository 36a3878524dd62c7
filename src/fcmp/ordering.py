"""The ordering rules OR-01 to OR-04 and the pairings PE-01, PE-02, as a check over a whole log."""

from collections.abc import Sequence

from turnwise.fcmp.events import EventType, FcmpEvent
from turnwise.statechart import TERMINAL, State

_OUTPUT = {EventType.MESSAGE_FINAL, EventType.TOOL_CALL, EventType.TOOL_RESULT}
_RESOLUTIONS = {EventType.REPLY_ACCEPTED, EventType.AUTO_DECIDED}


def violations(log: Sequence[FcmpEvent]) -> list[str]:
    """Every broken rule, in words; an empty list for a log that keeps the contract."""
    return [*_contiguous(log), *_terminal(log), *_questions(log), *_resolutions(log)]


def _contiguous(log: Sequence[FcmpEvent]) -> list[str]:
    return [
        f"OR-03: event {position} has seq {event.seq}"
        for position, event in enumerate(log, start=1)
        if event.seq != position
    ]


def _terminal(log: Sequence[FcmpEvent]) -> list[str]:
    ends = [i for i, event in enumerate(log) if _entered(event) in TERMINAL]
    if len(ends) > 1:
        return [f"OR-01: {len(ends)} terminal states"]
    if not ends:
        closings = [e.seq for e in log if e.type in {EventType.COMPLETED, EventType.FAILED}]
        return [f"OR-01: terminal event {seq} without a terminal state" for seq in closings]
    expected = EventType.COMPLETED if _entered(log[ends[0]]) is State.SUCCEEDED else EventType.FAILED
    tail = [event.type for event in log[ends[0] + 1 :]]
    return [] if tail == [expected] else [f"OR-01: {expected} must be all that follows the terminal state, not {tail}"]


def _questions(log: Sequence[FcmpEvent]) -> list[str]:
    return [
        f"OR-02: seq {event.seq} enters waiting_user without user.input.required"
        for event, following in _with_next(log)
        if _entered(event) is State.WAITING_USER and (following is None or following.type != EventType.INPUT_REQUIRED)
    ]


def _resolutions(log: Sequence[FcmpEvent]) -> list[str]:
    broken: list[str] = []
    state = State.QUEUED
    answered: set[object] = set()
    for event, following in _with_next(log):
        if event.type in _RESOLUTIONS:
            interaction = event.data["interaction_id"]
            if interaction in answered:
                broken.append(f"PE: question {interaction} is answered twice (seq {event.seq})")
            answered.add(interaction)
            if following is None or following.data.get("trigger") != event.type.value:
                broken.append(f"PE: seq {event.seq} is not followed by its waiting_user -> queued")
        if event.type in _OUTPUT and state is not State.RUNNING:
            broken.append(f"OR-04: output at seq {event.seq} while {state}")
        if event.type == EventType.STATE_CHANGED:
            if event.data["from"] != state.value:
                broken.append(f"seq {event.seq} leaves {event.data['from']}, but the run was {state}")
            state = State(str(event.data["to"]))
    return broken


def _entered(event: FcmpEvent) -> State | None:
    return State(str(event.data["to"])) if event.type == EventType.STATE_CHANGED else None


def _with_next(log: Sequence[FcmpEvent]) -> list[tuple[FcmpEvent, FcmpEvent | None]]:
    return list(zip(log, [*log[1:], None], strict=True))

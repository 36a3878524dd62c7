"""The ordering rules OR-01 to OR-04 and the pairings PE-01, PE-02, as a check over a whole log."""

from collections.abc import Sequence

from turnwise.fcmp.events import EventType, FcmpEvent
from turnwise.statechart import TERMINAL, TRANSITIONS, State

_OUTPUT = {EventType.MESSAGE_FINAL, EventType.TOOL_CALL, EventType.TOOL_RESULT}
_RESOLUTIONS = {EventType.REPLY_ACCEPTED, EventType.AUTO_DECIDED}
_CLOSINGS = {EventType.COMPLETED, EventType.FAILED}
_MOVES = {(t.source.value, t.event.value, t.target.value) for t in TRANSITIONS}


def violations(log: Sequence[FcmpEvent]) -> list[str]:
    """Every broken rule, in words; an empty list for a log that keeps the contract."""
    return [*_contiguous(log), *_terminal(log), *_questions(log), *_resolutions(log), *_states(log)]


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
    before = log[: ends[0]] if ends else log
    early = [f"OR-01: {e.type} at seq {e.seq} without a terminal state" for e in before if e.type in _CLOSINGS]
    if not ends:
        return early
    expected = EventType.COMPLETED if _entered(log[ends[0]]) is State.SUCCEEDED else EventType.FAILED
    tail = [event.type for event in log[ends[0] + 1 :]]
    if tail == [expected]:
        return early
    return [*early, f"OR-01: {expected} must be all that follows the terminal state, not {tail}"]


def _questions(log: Sequence[FcmpEvent]) -> list[str]:
    broken: list[str] = []
    for before, event, after in _with_neighbours(log):
        if _entered(event) is State.WAITING_USER and (after is None or after.type != EventType.INPUT_REQUIRED):
            broken.append(f"OR-02: seq {event.seq} enters waiting_user without user.input.required")
        if event.type == EventType.INPUT_REQUIRED and (before is None or _entered(before) is not State.WAITING_USER):
            broken.append(f"OR-02: the question at seq {event.seq} does not come with entering waiting_user")
    return broken


def _resolutions(log: Sequence[FcmpEvent]) -> list[str]:
    broken: list[str] = []
    open_question: object = None
    for before, event, after in _with_neighbours(log):
        if event.type == EventType.INPUT_REQUIRED:
            open_question = event.data["interaction_id"]
        elif event.type in _RESOLUTIONS:
            if event.data["interaction_id"] != open_question:
                broken.append(f"PE: question {event.data['interaction_id']} is not open at seq {event.seq}")
            open_question = None
            if after is None or _trigger(after) != event.type.value:
                broken.append(f"PE: seq {event.seq} is not followed by its waiting_user -> queued")
        elif _trigger(event) in _RESOLUTIONS and (before is None or before.type.value != _trigger(event)):
            broken.append(f"PE: seq {event.seq} does not follow its {_trigger(event)}")
    return broken


def _states(log: Sequence[FcmpEvent]) -> list[str]:
    broken: list[str] = []
    state = State.QUEUED
    for event in log:
        if event.type in _OUTPUT and state is not State.RUNNING:
            broken.append(f"OR-04: output at seq {event.seq} while {state}")
        if event.type == EventType.STATE_CHANGED:
            source, trigger, target = (str(event.data[name]) for name in ("from", "trigger", "to"))
            if source != state.value:
                broken.append(f"seq {event.seq} leaves {source}, but the run was {state}")
            if (source, trigger, target) not in _MOVES:
                broken.append(f"seq {event.seq}: {trigger} does not lead from {source} to {target}")
            state = State(target)
    return broken


def _entered(event: FcmpEvent) -> State | None:
    return State(str(event.data["to"])) if event.type == EventType.STATE_CHANGED else None


def _trigger(event: FcmpEvent) -> str | None:
    return str(event.data["trigger"]) if event.type == EventType.STATE_CHANGED else None


def _with_neighbours(log: Sequence[FcmpEvent]) -> list[tuple[FcmpEvent | None, FcmpEvent, FcmpEvent | None]]:
    padded = [None, *log, None]
    return [(padded[i], event, padded[i + 2]) for i, event in enumerate(log)]

"""What people see of a run in the Temporal UI."""

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from turnwise.fcmp.questions import OpenQuestion
from turnwise.runs import RunInput
from turnwise.sessions import SessionInput
from turnwise.statechart import State

RUN_STATE = SearchAttributeKey.for_keyword("RunState")
SESSION_ID = SearchAttributeKey.for_keyword("SessionId")

SUMMARY_LENGTH = 100


def initial_attributes(run_input: RunInput) -> TypedSearchAttributes:
    """Given at the start, they cost no history event of their own."""
    pairs: list[SearchAttributePair[str]] = [SearchAttributePair(RUN_STATE, State.QUEUED.value)]
    if run_input.session_id is not None:
        pairs.append(SearchAttributePair(SESSION_ID, run_input.session_id))
    return TypedSearchAttributes(pairs)


def summary(run_input: RunInput) -> str:
    first_line = run_input.prompt.strip().partition("\n")[0]
    return f"{run_input.engine}: {first_line}"[:SUMMARY_LENGTH]


def session_summary(session: SessionInput) -> str:
    origin = f", forked from {session.origin.session_id}" if session.origin else ""
    return f"{session.engine} session{origin}"[:SUMMARY_LENGTH]


class Visibility:
    def __init__(self, run_input: RunInput) -> None:
        self._session_id = run_input.session_id

    def show(self, state: State, attempt: int, question: OpenQuestion | None) -> None:
        self._upsert(state)
        self.describe(state, attempt, question)

    def describe(self, state: State, attempt: int, question: OpenQuestion | None) -> None:
        """Of a state that is over before a list of runs could show it: an upsert costs the server as much as a turn."""
        lines = [f"**{state.value}** · turn {attempt}"]
        if state is State.WAITING_USER and question is not None:
            lines += [
                f"Question {question.interaction_id} ({question.kind.value}): {question.prompt[:500]}",
                f"Deadline: {question.deadline}",
                "Answer with the Update or Signal `reply`: "
                f'`{{"interaction_id": {question.interaction_id}, "response": …, "reply_id": "…"}}`',
            ]
        workflow.set_current_details("\n\n".join(lines))

    def _upsert(self, state: State) -> None:
        """Only what changed: each upsert is a history event."""
        shown = workflow.info().typed_search_attributes
        updates = []
        if shown.get(RUN_STATE) != state.value:
            updates.append(RUN_STATE.value_set(state.value))
        if self._session_id is not None and shown.get(SESSION_ID) is None:
            updates.append(SESSION_ID.value_set(self._session_id))
        if updates:
            workflow.upsert_search_attributes(updates)

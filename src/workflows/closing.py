"""What a turn's ending means for its run: the transition to take, and what belongs to it."""

from datetime import timedelta

from temporalio import workflow

from turnwise import errors
from turnwise.activities.turns import TurnRef
from turnwise.fcmp.events import ErrorInfo
from turnwise.fcmp.jsonvalue import iso
from turnwise.fcmp.questions import OpenQuestion, Question
from turnwise.runs import RunInput
from turnwise.statechart import Event
from turnwise.store.records import Asked, Canceled, Failed, Interrupted, Succeeded, TurnClosing, TurnResult


def closing_of(result: TurnResult, turn: TurnRef, run_input: RunInput, asked: int) -> TurnClosing:
    """`asked` is how many questions the run has asked before this turn."""
    closing = TurnClosing(run_id=turn.run_id, attempt=turn.attempt, event=Event.TURN_FAILED, usage=result.usage)
    match result.ending:
        case Asked() if run_input.max_attempts is not None and asked + 1 >= run_input.max_attempts:
            message = f"The agent asked again after {run_input.max_attempts} attempts."
            closing.error = ErrorInfo(code=errors.INTERACTIVE_MAX_ATTEMPT_EXCEEDED, message=message)
        case Asked(question=question, handle=handle, handle_ref=handle_ref):
            closing.event = Event.TURN_NEEDS_INPUT
            closing.question = _opened(question, run_input, asked + 1)
            closing.handle, closing.handle_ref = handle, handle_ref
        case Succeeded(message_id=message_id):
            closing.event = Event.TURN_SUCCEEDED
            closing.message_id = message_id
        case Failed(error=error):
            closing.error = error
        case Canceled(message=message):
            closing.event = Event.RUN_CANCELED
            closing.error = ErrorInfo(code=errors.RUN_CANCELED, message=message)
        case Interrupted(error=error):
            closing.event = Event.RESTART_RECONCILE_FAILED
            closing.error = error
    return closing


def _opened(question: Question, run_input: RunInput, interaction_id: int) -> OpenQuestion:
    deadline = workflow.now() + timedelta(seconds=run_input.session_timeout_sec)
    asked = question.model_dump(exclude_defaults=True)
    return OpenQuestion(**asked, interaction_id=interaction_id, deadline=iso(deadline))

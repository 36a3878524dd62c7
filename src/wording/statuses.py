"""The truthful status in words. What is said here follows from the status alone."""

from datetime import datetime

from turnwise.status import Reason, Status, StatusView

SENTENCES: dict[tuple[Status, Reason | None], str] = {
    (Status.ACCEPTED, None): "Received. The agent has not started yet.",
    (Status.AWAITING_OUTPUT, None): "The agent is at work. No output yet.",
    (Status.AWAITING_OUTPUT, Reason.ACCEPTANCE_EXPIRED): "Received, and still waiting for the agent to start.",
    (Status.AWAITING_OUTPUT, Reason.QUESTION_DECIDED): "Nobody answered in time. The agent goes on by itself.",
    (Status.ACTIVE_OUTPUT, None): "The agent is at work.",
    (Status.STALLED, None): "No output since {activity}. The agent may be stuck.",
    (Status.COMPLETED, None): "Done.",
    (Status.COMPLETED, Reason.IDLE): "Ready when you are.",
    (Status.COMPLETED, Reason.QUESTION_ASKED): "The agent waits for your answer.",
    (Status.ERROR, None): "The run failed.",
    (Status.CLOSED, None): "Canceled.",
    (Status.CLOSED, Reason.SESSION_CLOSED): "This session is closed.",
}
"""By status and reason; a reason without a sentence of its own gets that of its status."""


WORDS: dict[tuple[Status, Reason | None], str] = {
    (Status.ACCEPTED, None): "received",
    (Status.AWAITING_OUTPUT, None): "at work",
    (Status.ACTIVE_OUTPUT, None): "at work",
    (Status.STALLED, None): "silent",
    (Status.COMPLETED, None): "done",
    (Status.COMPLETED, Reason.IDLE): "new",
    (Status.COMPLETED, Reason.QUESTION_ASKED): "asks you",
    (Status.ERROR, None): "failed",
    (Status.CLOSED, None): "canceled",
    (Status.CLOSED, Reason.SESSION_CLOSED): "closed",
}
"""The same where there is room for a word or two."""


def status_words(status: StatusView) -> str:
    return WORDS.get((status.status, status.reason)) or WORDS[status.status, None]


def status_sentence(status: StatusView) -> str:
    sentence = SENTENCES.get((status.status, status.reason)) or SENTENCES[status.status, None]
    activity = datetime.fromisoformat(status.last_activity_at or status.timestamp)
    return sentence.replace("{activity}", activity.astimezone().strftime("%H:%M:%S"))

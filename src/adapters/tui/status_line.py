"""The status line at the composer. It says what the status says and nothing of its own."""

from textual.widgets import Static

from turnwise.status import Reason, Status, StatusView
from turnwise.wording.statuses import status_sentence

MARKS = {
    Status.ACCEPTED: "○",
    Status.AWAITING_OUTPUT: "◌",
    Status.ACTIVE_OUTPUT: "●",
    Status.STALLED: "▲",
    Status.COMPLETED: "✓",
    Status.ERROR: "✗",
    Status.CLOSED: "■",
}


class StatusLine(Static):
    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 3; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    StatusLine.accepted, StatusLine.awaiting_output, StatusLine.active_output { color: $text-primary; }
    StatusLine.stalled { color: $text-warning; }
    StatusLine.error { color: $text-error; }
    """

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self.words = ""

    def show(self, status: StatusView | None) -> None:
        self.words = "" if status is None else status_sentence(status)
        self.set_classes(status.status.value if status else "")
        self.update(f"{_mark(status)} {self.words}" if status else "")


def _mark(status: StatusView) -> str:
    return "?" if status.reason is Reason.QUESTION_ASKED else MARKS[status.status]

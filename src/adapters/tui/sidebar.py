"""The list on the left: sessions, and the runs that belong to none; newest first."""

from dataclasses import dataclass
from datetime import UTC, datetime

from rich.text import Text
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from turnwise.sessions import SessionView
from turnwise.status import Reason, Status, StatusView
from turnwise.store.records import RunView
from turnwise.wording.sessions import session_title
from turnwise.wording.statuses import status_words
from turnwise.wording.texts import one_line
from turnwise.wording.times import ago, seconds_since

TITLE_LENGTH = 60
STYLES = {
    Status.ACCEPTED: "cyan",
    Status.AWAITING_OUTPUT: "cyan",
    Status.ACTIVE_OUTPUT: "cyan",
    Status.STALLED: "yellow",
    Status.COMPLETED: "green",
    Status.ERROR: "red",
    Status.CLOSED: "dim",
}


class Sidebar(OptionList):
    DEFAULT_CSS = """
    Sidebar {
        width: 30;
        height: 1fr;
        border: none;
        border-right: solid $surface-lighten-1;
        background: transparent;
        padding: 0;
        scrollbar-size-vertical: 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    Sidebar > .option-list--option { padding: 0 1; }
    Sidebar > .option-list--option-disabled { color: $text-muted; text-style: bold; }
    Sidebar:focus { border: none; border-right: solid $primary; }
    """

    @dataclass
    class Chosen(Message):
        id: str

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._shown: list[tuple[str, str]] = []

    def show(self, sessions: list[SessionView], runs: list[RunView]) -> None:
        """Leaves the person's place in the list where it is."""
        now = datetime.now(UTC)
        rows = [("", _heading("Sessions")), *((each.session_id, _row(each, each.status, now)) for each in sessions)]
        alone = [run for run in runs if run.session_id is None]
        if alone:
            rows += [("", _heading("Runs")), *((run.run_id, _row(run, run.status, now)) for run in alone)]
        keys = [(key, row.plain) for key, row in rows]
        if keys == self._shown:
            return
        self._shown = keys
        place = self.highlighted_option.id if self.highlighted_option else None
        self.set_options([Option(row, id=key or None, disabled=not key) for key, row in rows])
        if place is not None and any(key == place for key, _ in rows):
            self.highlighted = self.get_option_index(place)

    def point_at(self, conversation_id: str) -> None:
        if any(key == conversation_id for key, _ in self._shown):
            self.highlighted = self.get_option_index(conversation_id)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option_id is not None:
            self.post_message(self.Chosen(event.option_id))


def _heading(text: str) -> Text:
    return Text(text.upper())


def _row(view: SessionView | RunView, status: StatusView, now: datetime) -> Text:
    asks = status.reason is Reason.QUESTION_ASKED
    if isinstance(view, SessionView):
        title = session_title(view, TITLE_LENGTH)
    else:
        title = one_line(view.prompt_preview, TITLE_LENGTH) or "(nothing said yet)"
    row = Text(title, no_wrap=True, overflow="ellipsis")
    row.append(f"\n{status_words(status)}", style="bold magenta" if asks else STYLES[status.status])
    row.append(f" · {ago(seconds_since(view.created_at, now))}", style="dim")
    return row

"""The log of a run, one event a line: seconds since its start, number, type, and the gist; the status between them."""

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from turnwise.cli.rendering import STATUS_STYLES, gist
from turnwise.fcmp.events import DATA_MODELS, FcmpEvent
from turnwise.status import StatusView
from turnwise.store.records import StoredEvent
from turnwise.store.watching import Delta, Frame, SessionSnapshot, Snapshot, StatusChanged
from turnwise.wording.texts import clean
from turnwise.wording.times import seconds_between

OFFSET_WIDTH, SEQ_WIDTH, TYPE_WIDTH = 7, 4, 26


class Timeline:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._started_at = ""
        self._writing: Live | None = None
        self._text = ""

    def show(self, frame: Frame) -> FcmpEvent | None:
        """Returns the event, if the frame was one."""
        match frame:
            case Snapshot(message=message) | SessionSnapshot(message=message):
                self._started_at = (frame.session if isinstance(frame, SessionSnapshot) else frame.run).created_at
                if message is not None:
                    self._show_text(message.text)
            case Delta(offset=offset, text=text):
                self._show_text(self._text[:offset] + text)
            case StatusChanged(status=status):
                self._show_status(status)
            case StoredEvent(seq=seq, body=body):
                event = FcmpEvent.model_validate_json(body)
                self._show_event(seq, event)
                return event
            case _:
                pass
        return None

    def close(self) -> None:
        """Leaves the screen in order."""
        if self._writing is not None:
            self._writing.stop()
        self._writing, self._text = None, ""

    def _show_event(self, seq: int, event: FcmpEvent) -> None:
        self.close()
        data = DATA_MODELS[event.type].model_validate(event.data)
        self._console.print(_row(self._offset(event.ts), str(seq), event.type.value, gist(data)))

    def _show_status(self, status: StatusView) -> None:
        """Between the events: no part of the log, and so without a number."""
        what = Text(f"{status.status.value} ({status.reason.value})", style=STATUS_STYLES[status.status])
        self._console.print(_row(self._offset(status.timestamp), "", "status", what))

    def _offset(self, instant: str) -> str:
        return _offset(max(seconds_between(self._started_at, instant), 0))

    def _show_text(self, text: str) -> None:
        """The message being written grows in place; in a pipe it comes once, complete."""
        if not self._console.is_terminal:
            return
        self._text = text
        row = _row("", "…", "being written", Text(clean(text)))
        if self._writing is None:
            self._writing = Live(row, console=self._console, auto_refresh=False, transient=True)
            self._writing.start(refresh=True)
        else:
            self._writing.update(row, refresh=True)


def _offset(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.2f}s"
    minutes = int(seconds) // 60
    if minutes < 60:
        return f"{minutes}m{int(seconds) % 60:02}s"
    hours = minutes // 60
    return f"{hours}h{minutes % 60:02}m" if hours < 100 else f"{hours // 24}d{hours % 24:02}h"


def _row(offset: str, seq: str, kind: str, what: Text) -> Table:
    row = Table.grid(padding=(0, 2, 0, 0), expand=False)
    row.add_column(width=OFFSET_WIDTH, justify="right", style="quiet", no_wrap=True)
    row.add_column(width=SEQ_WIDTH, justify="right", style="quiet", no_wrap=True)
    row.add_column(min_width=TYPE_WIDTH, no_wrap=True)
    row.add_column(overflow="fold")
    row.add_row(offset, seq, Text(kind), what)
    return row

"""Where the person writes. Enter sends; Shift+Enter, or Ctrl+J where a terminal cannot tell it, begins a new line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea


class Composer(TextArea):
    DEFAULT_CSS = """
    Composer {
        height: auto;
        min-height: 3;
        max-height: 8;
        border: round $surface-lighten-2;
        background: transparent;
        padding: 0 1;
        margin: 0 1;
    }
    Composer:focus { border: round $primary; }
    Composer:disabled { opacity: 60%; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "send", "Send")]

    @dataclass
    class Sent(Message):
        text: str

    def __init__(self) -> None:
        super().__init__(highlight_cursor_line=False, show_line_numbers=False)

    def draft(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)

    def _on_key(self, event: events.Key) -> None:  # type: ignore[override]
        """The text area's own handler comes next, unless it is told not to."""
        if event.key in KEYS:
            event.prevent_default().stop()
            KEYS[event.key](self)

    def action_send(self) -> None:
        if self.text.strip():
            self.post_message(self.Sent(self.text))

    def action_new_line(self) -> None:
        self.insert("\n")


KEYS: dict[str, Callable[[Composer], None]] = {
    "enter": Composer.action_send,
    "shift+enter": Composer.action_new_line,
    "ctrl+j": Composer.action_new_line,
}

"""A conversation on a screen: text as it is written, lines between, and what the person is asked to type."""

from rich.console import Console
from rich.text import Text

from turnwise.fcmp.events import MessageFinal, OutputStatus
from turnwise.wording.texts import clean


class Screen:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._message_id: str | None = None
        self._written = 0
        """How much of that message is on the screen."""
        self._line_is_open = False
        self._is_prompting = False

    def print(self, what: Text) -> None:
        """Never behind what stands on the line already: text being written, or a prompt that waits for the person."""
        self._end_line()
        self._console.print(what, soft_wrap=True)

    def blank(self) -> None:
        self._end_line()
        self._console.print()

    def write(self, message_id: str, offset: int, text: str) -> None:
        """Only what is not on the screen yet."""
        if message_id != self._message_id:
            self.blank()
            self._message_id, self._written = message_id, 0
        new = text[self._written - offset :] if offset <= self._written else text
        self._written = max(self._written, offset + len(text))
        if new:
            if self._is_prompting:
                self._end_line()
            self._out(clean(new))

    def finish(self, message: MessageFinal) -> None:
        self.write(message.message_id, 0, message.text)
        if message.status is OutputStatus.INTERRUPTED:
            self._out(" …")
        self._end_line()
        self._message_id, self._written = None, 0

    def prompt(self, words: str) -> None:
        """What the person is asked to type; it waits at the end of the screen."""
        self._end_line()
        self._out(clean(words), "ask")
        self._is_prompting = True

    def entered(self) -> None:
        """The person has pressed Enter, which ended the line."""
        self._line_is_open = self._is_prompting = False

    def disturbed(self) -> None:
        """The terminal itself has put something on the line, as it does with ^C."""
        self._line_is_open = True

    def _out(self, text: str, style: str | None = None) -> None:
        self._console.out(text, end="", style=style, highlight=False)
        self._console.file.flush()
        self._line_is_open = True

    def _end_line(self) -> None:
        if self._line_is_open:
            self._console.print()
        self._line_is_open = self._is_prompting = False

"""Where to fork: a list of what the user has said."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer, Label, OptionList
from textual.widgets.option_list import Option

from turnwise.sessions import ForkableMessage
from turnwise.wording.texts import one_line

TEXT_LENGTH = 100


class ForkScreen(ModalScreen[ForkableMessage | None]):
    """Gives the message before which the fork begins; None when the person thought better of it."""

    DEFAULT_CSS = """
    ForkScreen { align: center middle; }
    ForkScreen > Vertical {
        width: 80%; max-width: 90; height: auto; max-height: 80%;
        border: round $primary; background: $surface; padding: 1 2;
    }
    ForkScreen OptionList { height: auto; max-height: 16; border: none; background: transparent; margin: 1 0 0 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Not now")]

    def __init__(self, messages: list[ForkableMessage]) -> None:
        super().__init__()
        self._messages = messages

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label("Say it differently: a new session begins before …")
            options = [Option(one_line(message.text, TEXT_LENGTH)) for message in reversed(self._messages)]
            yield OptionList(*options, markup=False)
        yield Footer()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._messages[-1 - event.option_index])

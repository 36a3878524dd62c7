"""What was said: by the user, by the agent, and notes between."""

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Markdown, Static

from turnwise.fcmp.events import MessageFinal, OutputStatus
from turnwise.wording.texts import clean


class UserMessage(Static):
    DEFAULT_CSS = """
    UserMessage {
        border-left: outer $primary;
        background: $boost;
        padding: 0 1;
        margin: 1 0 0 0;
    }
    """

    def __init__(self, text: str) -> None:
        super().__init__(clean(text), markup=False)
        self.text = text


class AgentMessage(Vertical):
    """Grows while it is being written, as plain text; read as Markdown when it is complete."""

    DEFAULT_CSS = """
    AgentMessage { height: auto; padding: 0 2; margin: 1 0 0 0; }
    AgentMessage Markdown { background: transparent; padding: 0; margin: 0; }
    AgentMessage MarkdownBlock:last-child { margin-bottom: 0; }
    AgentMessage MarkdownHeader { margin: 0 0 1 0; content-align: left middle; }
    """

    def __init__(self, text: str | None = None) -> None:
        """With a text it is complete."""
        super().__init__()
        self.text = text or ""
        self._is_complete = text is not None

    def compose(self) -> ComposeResult:
        if self._is_complete:
            yield Markdown(clean(self.text), parser_factory=_parser, open_links=False)
        else:
            yield Static(clean(self.text), markup=False)

    def write(self, offset: int, text: str) -> None:
        self.text = self.text[:offset] + text
        for written in self.query(Static):
            written.update(clean(self.text))

    def finish(self, message: MessageFinal) -> None:
        self.text = message.text + (" …" if message.status is OutputStatus.INTERRUPTED else "")
        self._is_complete = True
        if self.is_attached:  # not only when it is mounted: what it is made of stands before that
            self.refresh(recompose=True)


class Note(Static):
    """How a run ended, a warning, where a fork came from."""

    DEFAULT_CSS = """
    Note { padding: 0 2; color: $text-muted; margin: 1 0 0 0; }
    Note.-bad { color: $text-error; }
    Note.-warn { color: $text-warning; }
    """

    def __init__(self, text: str, classes: str = "") -> None:
        super().__init__(clean(text), markup=False, classes=classes)
        self.text = text


def _parser() -> MarkdownIt:
    """HTML is text like any other, and a line stays a line."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.core.ruler.push("lines", _keep_lines)
    return parser


def _keep_lines(state: StateCore) -> None:
    for token in state.tokens:
        for part in token.children or []:
            if part.type == "softbreak":
                part.type = "hardbreak"

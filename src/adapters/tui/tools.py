"""A call of a tool and its result, folded until somebody wants to see them."""

from pydantic import JsonValue
from rich.markup import escape
from textual.widgets import Collapsible, Static

from turnwise.fcmp.events import ToolCall, ToolResult, ToolStatus
from turnwise.fcmp.jsonvalue import JsonObject
from turnwise.wording.answers import as_text
from turnwise.wording.texts import arguments, clean, one_line

TITLE_LENGTH = 60


class ToolUse(Collapsible):
    DEFAULT_CSS = """
    ToolUse {
        margin: 1 0 0 1;
        background: transparent;
        border-top: none;
        padding: 0;
    }
    ToolUse.-following { margin: 0 0 0 1; }
    ToolUse CollapsibleTitle { color: $text-muted; }
    ToolUse.-failed CollapsibleTitle { color: $text-error; }
    ToolUse Contents { padding: 0 0 0 3; }
    """

    def __init__(self, name: str, values: JsonObject) -> None:
        called = one_line(f"{clean(name)}({arguments(values)})", TITLE_LENGTH)
        self._called = called
        self._details = Static(_pretty("Arguments", values), markup=False)
        super().__init__(self._details, title=escape(f"{called} …"))

    @classmethod
    def of(cls, call: ToolCall) -> "ToolUse":
        return cls(call.name, call.arguments)

    def finish(self, result: ToolResult) -> None:
        self.end(result.status, result.result)

    def end(self, status: ToolStatus, result: JsonValue) -> None:
        failed = status is ToolStatus.FAILED
        self.set_class(failed, "-failed")
        self.title = escape(f"{self._called} {'✗ failed' if failed else '✓'}")
        self._details.update(f"{self._details.content}\n{_pretty('Result', result)}")


def _pretty(name: str, value: JsonValue) -> str:
    return f"{name}: {clean(as_text(value))}"

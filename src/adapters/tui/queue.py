"""The messages that wait until the agent is done with the present one."""

from textual.widgets import Static

from turnwise.sessions import PendingItem
from turnwise.wording.texts import one_line

SHOWN = 4
TEXT_LENGTH = 200


class Queue(Static):
    DEFAULT_CSS = """
    Queue {
        height: auto;
        padding: 0 3;
        color: $text-muted;
        display: none;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    Queue.-waiting { display: block; }
    """

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self.items: list[PendingItem] = []

    def show(self, items: list[PendingItem]) -> None:
        self.items = items
        self.set_class(bool(items), "-waiting")
        lines = ["1 message waits" if len(items) == 1 else f"{len(items)} messages wait"]
        lines += [f"  › {one_line(item.text_preview, TEXT_LENGTH)}" for item in items[:SHOWN]]
        if len(items) > SHOWN:
            lines.append(f"  … and {len(items) - SHOWN} more")
        self.update("\n".join(lines))

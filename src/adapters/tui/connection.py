"""One line that is there only while Temporal or the database is away."""

from textual.widgets import Static

from turnwise.wording.texts import clean, sentence


class ConnectionLine(Static):
    DEFAULT_CSS = """
    ConnectionLine { display: none; height: auto; padding: 0 3; background: $warning-muted; color: $text-warning; }
    ConnectionLine.-lost { display: block; }
    """

    def __init__(self) -> None:
        super().__init__("", markup=False)

    def lost(self, message: str) -> None:
        self.add_class("-lost")
        self.update(f"▲ {clean(sentence(message))} Trying again …")

    def found(self) -> None:
        self.remove_class("-lost")

"""The terminal UI: sessions and runs, the conversation, its questions as forms, and the truthful status."""

from turnwise.adapters.tui.app import TerminalUi

__all__ = ["TerminalUi"]

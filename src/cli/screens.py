"""`turnwise tui`."""

import sys

from turnwise.cli.execution import ExitCode
from turnwise.cli.keyboard import is_terminal
from turnwise.cli.targets import Target
from turnwise.errors import SetupError


async def tui(target: Target, conversation_id: str | None) -> ExitCode:
    from turnwise.adapters.tui import TerminalUi

    if not is_terminal():
        raise SetupError("The terminal UI needs a terminal.")
    async with target.connect() as turnwise:
        screen = TerminalUi(turnwise, conversation_id)
        await screen.run_async()
    if screen.pane.conversation is not None:
        sys.stderr.write(f"Come back: {target.command('tui', screen.pane.conversation.id)}\n")
    return ExitCode(screen.return_code or 0)

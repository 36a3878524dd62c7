"""Lines typed on a terminal, without ever blocking: while a person thinks, the run is still being watched."""

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import Callable
from dataclasses import dataclass

READ_SIZE = 65536


@dataclass(frozen=True, slots=True)
class Typed:
    line: str | None
    """None when the person closed the input (Ctrl-D)."""


class Keyboard:
    def __init__(self, deliver: Callable[[Typed], None]) -> None:
        self._deliver = deliver
        self._descriptor = sys.stdin.fileno()

    def listen(self) -> None:
        asyncio.get_running_loop().add_reader(self._descriptor, self._read)

    def stop(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)

    def forget(self) -> None:
        """Drops what was typed and not read, half a line included."""
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    def _read(self) -> None:
        """A terminal hands over one line at a time, when it is complete."""
        try:
            line = os.read(self._descriptor, READ_SIZE)
        except OSError:  # the terminal is gone
            line = b""
        if not line:
            self.stop()
        self._deliver(Typed(line.decode(errors="replace").rstrip("\n") if line else None))


def is_terminal() -> bool:
    """Whether a person can both see a question and answer it."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()

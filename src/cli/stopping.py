"""Ctrl-C and SIGTERM for a process that serves: the first stops it in order, the second at once."""

import asyncio
import os
import signal
import sys

from turnwise.cli.execution import ExitCode


class Stop:
    def __init__(self, waits_for: str) -> None:
        self._waits_for = waits_for
        self._requested = asyncio.Event()
        self._starting = asyncio.current_task()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._signalled)

    @property
    def requested(self) -> bool:
        return self._requested.is_set()

    async def wait(self) -> None:
        """To be called when everything runs: from here on, nothing is broken off."""
        self._starting = None
        await self._requested.wait()

    def _signalled(self) -> None:
        if self.requested:
            os._exit(ExitCode.CANCELED)  # the embedded server, our child, goes with us
        sys.stderr.write(f"\nStopping: {self._waits_for} … (Ctrl-C again to stop at once)\n")
        self._requested.set()
        if self._starting is not None:
            self._starting.cancel()

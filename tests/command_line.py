"""The command line in tests: real processes, and a real terminal."""

import asyncio
import contextlib
import fcntl
import os
import pty
import re
import signal
import sysconfig
import termios
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

TURNWISE = str(Path(sysconfig.get_path("scripts")) / "turnwise")
PATIENCE_SEC = 60.0
STYLING = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


def environment(**settings: str) -> dict[str, str]:
    """Ours without any setting of Turnwise, Temporal or the terminal, but for those that are given."""
    ours = ("TURNWISE_", "TEMPORAL_", "PYTHON", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "TERM": "xterm", **settings}


async def turnwise(*arguments: str, env: dict[str, str], cwd: Path | None = None) -> Result:
    process = await asyncio.create_subprocess_exec(
        TURNWISE,
        *arguments,
        env=env,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE_SEC):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Result(process.returncode, out.decode(), err.decode())


class Terminal:
    """A terminal with the command on it: what is on the screen can be waited for, and answered."""

    def __init__(self, process: asyncio.subprocess.Process, keyboard: int) -> None:
        self._process = process
        self._keyboard = keyboard
        self._news = asyncio.Event()
        self._position = 0
        self.screen = ""
        asyncio.get_running_loop().add_reader(keyboard, self._read)

    async def until(self, text: str) -> None:
        """Returns when the text has appeared after all that was waited for before."""
        async with asyncio.timeout(PATIENCE_SEC):
            while (found := self.screen.find(text, self._position)) < 0:
                self._news.clear()
                await self._news.wait()
        self._position = found + len(text)

    def type(self, keys: str) -> None:
        os.write(self._keyboard, keys.encode())

    async def exit_code(self) -> int:
        async with asyncio.timeout(PATIENCE_SEC):
            return await self._process.wait()

    async def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._keyboard)
        os.close(self._keyboard)
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    def _read(self) -> None:
        try:
            new = os.read(self._keyboard, 65536).decode(errors="replace")
        except OSError:  # the command has ended
            asyncio.get_running_loop().remove_reader(self._keyboard)
            new = ""
        self.screen += STYLING.sub("", new)
        self._news.set()


@contextlib.asynccontextmanager
async def terminal(*arguments: str, env: dict[str, str]) -> AsyncIterator[Terminal]:
    keyboard, screen = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        TURNWISE,
        *arguments,
        env=env,
        stdin=screen,
        stdout=screen,
        stderr=screen,
        start_new_session=True,
        preexec_fn=_at_a_terminal,
    )
    os.close(screen)
    opened = Terminal(process, keyboard)
    try:
        yield opened
    finally:
        await opened.close()


def _at_a_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    # As a shell leaves it to what it starts there: we ourselves may run in the background, where Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

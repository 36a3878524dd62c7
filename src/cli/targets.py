"""Which Turnwise a command works on, and how to name the same one in another command."""

import contextlib
import shlex
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from turnwise.cli.options import CLIENT, Flags
from turnwise.errors import SetupError

if TYPE_CHECKING:  # a bad flag is told before anything heavy is loaded
    from pydantic import ValidationError

    from turnwise.client import Turnwise
    from turnwise.settings import Settings


class FlagInvalid(SetupError):
    """It is the command line, and not the environment, that is wrong."""


@dataclass(frozen=True, slots=True)
class Target:
    settings: "Settings"
    flags: Flags

    @classmethod
    def of(cls, flags: Flags) -> "Target":
        """The environment, and what the flags override."""
        from pydantic import ValidationError

        from turnwise.settings import Settings

        try:
            return cls(Settings.model_validate(flags), flags)
        except ValidationError as error:
            raise _refusal(error, flags) from error

    def command(self, name: str, *arguments: str) -> str:
        """A line to type that works on the same Turnwise."""
        words = [program(), name, *arguments]
        for flag in CLIENT:
            if flag in self.flags:
                # A database URL may hold a password, which is not for the screen.
                words += [_option(flag), "URL" if flag == "database_url" else str(self.flags[flag])]
        return shlex.join(words)

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator["Turnwise"]:
        """The client that commands on runs work with."""
        from turnwise.client import connect
        from turnwise.runtime.logs import configure_logs

        # Only what goes wrong, and not into the output.
        configure_logs("warning")
        self._require_store()
        async with connect(self.settings) as turnwise:
            yield turnwise

    def _require_store(self) -> None:
        """A command that looks at runs must not make an empty database beside the real one."""
        settings = self.settings
        if settings.database_url is None and not (settings.data_dir / "turnwise.db").exists():
            raise SetupError(
                f"There is no Turnwise in {settings.data_dir.resolve()}: start one with `{self.command('up')}`, "
                "or name the folder of one that runs with --data-dir."
            )


def program() -> str:
    """How this program is called here: `turnwise` when that is what the shell would find."""
    called = Path(sys.argv[0])
    found = shutil.which("turnwise")
    if called.name != "turnwise" or (found and Path(found).resolve() == called.resolve()):
        return "turnwise"
    try:
        return str(called.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(called.absolute())


def _refusal(error: "ValidationError", flags: Flags) -> SetupError:
    first = error.errors(include_url=False, include_context=False)[0]
    field = str(first["loc"][0])
    reason = first["msg"].partition(", unable to parse")[0]
    fault = f"cannot be '{first['input']}': {reason[:1].lower()}{reason[1:]}."
    if field in flags:
        return FlagInvalid(f"{_option(field)} {fault}")
    return SetupError(f"TURNWISE_{field.upper()} {fault}")


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"

"""`turnwise up`, `worker` and `api`: processes that run until they are stopped.

The web framework is imported by those that serve: a worker starts sooner without it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from rich.console import Console
from rich.table import Table
from rich.text import Text

from turnwise.cli.consoles import console
from turnwise.cli.execution import ExitCode
from turnwise.cli.places import api_url, database_place, temporal_address
from turnwise.cli.stopping import Stop
from turnwise.cli.targets import Target
from turnwise.runtime.logs import configure_logs
from turnwise.runtime.metrics_server import metrics_shown
from turnwise.runtime.processes import Parts, connected, working
from turnwise.settings import Settings

EXAMPLE = "Shall we have tea or coffee?"

Addresses = dict[str, str]
Announcement = Callable[[Parts], Addresses]


async def up(target: Target) -> ExitCode:
    from turnwise.runtime.whole import whole

    settings = target.settings

    def addresses(parts: Parts) -> Addresses:
        return {**_api(settings), **_temporal(parts), **_state(settings)}

    footer = Text("Try it in another terminal:\n  ").append(target.command("run", EXAMPLE), style="ask")
    footer.append("\n\nCtrl-C stops; runs are kept.", style="quiet")
    return await _hold(whole(settings), settings, "Turnwise", addresses, footer)


async def worker(target: Target) -> ExitCode:
    settings = target.settings

    @contextlib.asynccontextmanager
    async def parts() -> AsyncIterator[Parts]:
        async with connected(settings) as parts, working(parts):
            with metrics_shown(settings, parts.metrics):
                yield parts

    def addresses(parts: Parts) -> Addresses:
        return {**_temporal(parts), "Task queue": settings.task_queue, **_state(settings)}

    return await _hold(parts(), settings, "The worker", addresses, _STOPS)


async def api(target: Target) -> ExitCode:
    from turnwise.runtime.serving import serving

    settings = target.settings

    @contextlib.asynccontextmanager
    async def parts() -> AsyncIterator[Parts]:
        async with connected(settings) as parts, serving(parts):
            yield parts

    def addresses(parts: Parts) -> Addresses:
        return {**_api(settings), **_temporal(parts), **_state(settings)}

    return await _hold(parts(), settings, "The API", addresses, _STOPS)


_STOPS = Text("Ctrl-C stops.", style="quiet")


async def _hold(
    starting: AbstractAsyncContextManager[Parts],
    settings: Settings,
    name: str,
    addresses: Announcement,
    footer: Text,
) -> ExitCode:
    """Starts the parts, says where they are, and takes them apart in order when told to stop."""
    configure_logs(settings.log_level)
    screen = console()
    stop = Stop()
    try:
        async with AsyncExitStack() as stack:
            with screen.status(f"{name} is starting …"):
                parts = await stack.enter_async_context(starting)
            _announce(screen, name, addresses(parts), footer)
            await stop.wait()
    except asyncio.CancelledError:
        if not stop.requested:
            raise
    screen.print(Text(f"{name} has stopped.", style="good"))
    return ExitCode.OK


def _announce(screen: Console, name: str, addresses: Addresses, footer: Text) -> None:
    table = Table.grid(padding=(0, 2))
    for what, where in addresses.items():
        table.add_row(f"  {what}", Text(where, style="name"))
    screen.print(Text(f"✓ {name} is ready.", style="good"), "", table, "", footer, sep="\n", soft_wrap=True)


def _api(settings: Settings) -> Addresses:
    return {"Page": f"{api_url(settings)}/", "API": api_url(settings), "API docs": f"{api_url(settings)}/docs"}


def _temporal(parts: Parts) -> Addresses:
    ui = parts.settings.ui_url
    return ({"Temporal UI": ui} if ui else {}) | {"Temporal": temporal_address(parts)}


def _state(settings: Settings) -> Addresses:
    if settings.database_url is None:
        return {"Data folder": str(settings.data_dir.resolve())}
    embedded = {} if settings.external_temporal else {"Data folder": str(settings.data_dir.resolve())}
    return {"Database": database_place(settings.store_url), **embedded}

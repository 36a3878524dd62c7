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
from turnwise.cli.services import Service
from turnwise.cli.stopping import Stop
from turnwise.cli.targets import Target
from turnwise.runtime.logs import configure_logs
from turnwise.runtime.metrics_server import metrics_shown
from turnwise.runtime.processes import Parts, connected, working
from turnwise.settings import Settings

EXAMPLE = "Shall we have tea or coffee?"

Addresses = dict[str, str]
Announcement = Callable[[Parts], Addresses]


async def serve(target: Target, service: Service) -> ExitCode:
    match service:
        case Service.UP:
            return await _up(target)
        case Service.WORKER:
            return await _worker(target)
        case Service.API:
            return await _api(target)


async def _up(target: Target) -> ExitCode:
    from turnwise.runtime.whole import whole

    settings = target.settings

    def addresses(parts: Parts) -> Addresses:
        return {**_pages(settings), **_temporal(parts), **_state(settings)}

    footer = Text("Try it in another terminal:\n  ").append(target.command("run", EXAMPLE), style="ask")
    footer.append("\n\nCtrl-C stops; runs are kept.", style="quiet")
    return await _hold(whole(settings), settings, Service.UP, addresses, footer)


async def _worker(target: Target) -> ExitCode:
    settings = target.settings

    @contextlib.asynccontextmanager
    async def parts() -> AsyncIterator[Parts]:
        async with connected(settings) as parts, working(parts):
            with metrics_shown(settings, parts.metrics):
                yield parts

    def addresses(parts: Parts) -> Addresses:
        return {**_temporal(parts), "Task queue": settings.task_queue, **_state(settings)}

    return await _hold(parts(), settings, Service.WORKER, addresses, _STOPS)


async def _api(target: Target) -> ExitCode:
    from turnwise.runtime.serving import serving

    settings = target.settings

    @contextlib.asynccontextmanager
    async def parts() -> AsyncIterator[Parts]:
        async with connected(settings) as parts, serving(parts):
            yield parts

    def addresses(parts: Parts) -> Addresses:
        return {**_pages(settings), **_temporal(parts), **_state(settings)}

    return await _hold(parts(), settings, Service.API, addresses, _STOPS)


_STOPS = Text("Ctrl-C stops.", style="quiet")


async def _hold(
    starting: AbstractAsyncContextManager[Parts],
    settings: Settings,
    service: Service,
    addresses: Announcement,
    footer: Text,
) -> ExitCode:
    """Starts the parts, says where they are, and takes them apart in order when told to stop."""
    configure_logs(settings.log_level)
    screen = console()
    stop = Stop(_farewell(service, settings))
    try:
        async with AsyncExitStack() as stack:
            parts = await stack.enter_async_context(starting)
            _announce(screen, service, addresses(parts), footer)
            await stop.wait()
    except asyncio.CancelledError:
        if not stop.requested:
            raise
    screen.print(Text(f"{service.value} has stopped.", style="good"))
    return ExitCode.OK


def _farewell(service: Service, settings: Settings) -> str:
    """What is waited for at the end."""
    if service is Service.API:
        return "open connections are closed"
    return f"turns that are under way have {settings.grace_sec:g} s to end"


def _announce(screen: Console, service: Service, addresses: Addresses, footer: Text) -> None:
    table = Table.grid(padding=(0, 2))
    for what, where in addresses.items():
        table.add_row(f"  {what}", Text(where, style="name"))
    screen.print(Text(f"✓ {service.value} is ready.", style="good"), "", table, "", footer, sep="\n", soft_wrap=True)


def _pages(settings: Settings) -> Addresses:
    return {"Page": f"{api_url(settings)}/", "API": api_url(settings), "API docs": f"{api_url(settings)}/docs"}


def _temporal(parts: Parts) -> Addresses:
    ui = parts.settings.ui_url
    return ({"Temporal UI": ui} if ui else {}) | {"Temporal": temporal_address(parts)}


def _state(settings: Settings) -> Addresses:
    if settings.database_url is None:
        return {"Data folder": str(settings.data_dir.resolve())}
    embedded = {} if settings.external_temporal else {"Data folder": str(settings.data_dir.resolve())}
    return {"Database": database_place(settings.store_url), **embedded}

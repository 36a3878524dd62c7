"""What `turnwise up` runs: all the parts, put together and taken apart in order."""

import contextlib
import fcntl
from collections.abc import AsyncIterator, Iterator

from turnwise.errors import SetupError
from turnwise.runtime.ports import require_free_port
from turnwise.runtime.processes import Parts, connected, make_data_dir, working
from turnwise.runtime.serving import serving
from turnwise.runtime.temporal_server import ServerOptions, embedded_temporal
from turnwise.settings import Settings


@contextlib.asynccontextmanager
async def whole(settings: Settings) -> AsyncIterator[Parts]:
    """Everything in one process: embedded Temporal unless somebody else runs one, a worker, the API."""
    _require_port_of_its_own(settings)
    require_free_port(settings.api_host, settings.api_port, "TURNWISE_API_PORT")
    async with contextlib.AsyncExitStack() as stack:
        if not settings.external_temporal:
            stack.enter_context(_own_data_dir(settings))
            options = ServerOptions(settings.temporal_port, settings.temporal_ui_port, settings.data_dir)
            await stack.enter_async_context(embedded_temporal(options))
        parts = await stack.enter_async_context(connected(settings))
        await stack.enter_async_context(working(parts))
        await stack.enter_async_context(serving(parts))
        yield parts


def _require_port_of_its_own(settings: Settings) -> None:
    """For the API. Later it would find its port taken, and not know that we ourselves took it."""
    if settings.external_temporal:
        return
    for port, setting in (
        (settings.temporal_port, "TURNWISE_TEMPORAL_PORT"),
        (settings.temporal_ui_port, "TURNWISE_TEMPORAL_UI_PORT"),
    ):
        if port == settings.api_port:
            raise SetupError(f"TURNWISE_API_PORT and {setting} are both {port}; they must differ.")


@contextlib.contextmanager
def _own_data_dir(settings: Settings) -> Iterator[None]:
    """Two servers on the same files would destroy them."""
    make_data_dir(settings)
    try:
        lock = (settings.data_dir / "lock").open("w")
    except OSError as error:
        raise SetupError(f"The data folder {settings.data_dir} cannot be written: {error.strerror}.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SetupError(f"Another `turnwise up` is using {settings.data_dir}; set TURNWISE_DATA_DIR.") from error
        yield

"""A plain function in an asynchronous program."""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable

from turnwise.tools.outcomes import failure_of


def on_a_thread(call: Callable[[], object]) -> asyncio.Future[object]:
    """On a thread of its own, not of a pool: one that never returns must not take a place from others, nor hold up the
    end of the process."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[object] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            result = context.run(call)
        except BaseException as error:  # whatever it is, it must not be lost with the thread
            settle(future.set_exception, failure_of(error))
        else:
            settle(future.set_result, result)

    def settle(how: Callable[..., None], what: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has closed: nobody waits any more
            loop.call_soon_threadsafe(settle_on_loop, how, what)

    def settle_on_loop(how: Callable[..., None], what: object) -> None:
        if not future.done():
            how(what)

    threading.Thread(target=work, name="turnwise-tool", daemon=True).start()
    return future

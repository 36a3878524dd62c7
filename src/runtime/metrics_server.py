"""The metrics of a worker that is alone in its process: it has no API to show them."""

import contextlib
from collections.abc import Iterator

from prometheus_client import start_http_server

from turnwise.metrics import Metrics
from turnwise.runtime.ports import require_free_port
from turnwise.settings import Settings


@contextlib.contextmanager
def metrics_shown(settings: Settings, metrics: Metrics) -> Iterator[None]:
    """At `TURNWISE_METRICS_PORT`, if it is set, until the block ends."""
    if settings.metrics_port is None:
        yield
        return
    require_free_port(settings.metrics_host, settings.metrics_port, "TURNWISE_METRICS_PORT")
    server, thread = start_http_server(settings.metrics_port, settings.metrics_host, metrics.registry)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
